// SPDX-License-Identifier: MIT
// What every number format says about itself, and the overflow policies of conversions.
#pragma once

#include "kvloom/core/types.hpp"

namespace kvloom {
inline namespace v0 {

/// Overflow policy of fp8: what would round beyond the largest value, infinity too, becomes that value.
struct saturate
{};

/// Overflow policy of fp8: what would round beyond the largest value, infinity too, becomes NaN, whose sign
/// is the machine's.
struct to_nan
{};

/// Facts of a number format: `largest` (finite value), `bytes`, `name`.
///
/// Defined for float, bf16, fp16, fp8_e4m3 and fp8_e4m3_fnuz.
template <class T>
struct numeric;

template <>
struct numeric<float>
{
    static constexpr float largest    = 3.402823466e+38f;
    static constexpr int bytes        = 4;
    static constexpr char const* name = "float";
};

namespace detail {

/// Exact software conversion of one value: `decode(T)` and `encode<Overflow>(float)`, both constexpr.
template <class T>
struct codec;

template <>
struct codec<float>
{
    KVLOOM_FN static constexpr float decode(float x) { return x; }

    template <class Overflow>
    KVLOOM_FN static constexpr float encode(float x)
    {
        return x;
    }
};

/// A positive float, given by its bits, in whole units, ties to even. `base` is 2^23 units, so that its last
/// bit is one, and larger than the float.
KVLOOM_FN constexpr u32 round_to_units(u32 magnitude, float base)
{
    return bit_cast<u32>(bit_cast<float>(magnitude) + base) - bit_cast<u32>(base);
}

/// Float bits without sign, rounded to nearest even at bit `Dropped` and shifted there.
template <int Dropped>
KVLOOM_FN constexpr u32 round_off(u32 magnitude)
{
    return (magnitude + ((1u << (Dropped - 1)) - 1u) + (magnitude >> Dropped & 1u)) >> Dropped;
}

inline constexpr u32 infinity_bits = 0x7f800000u;
inline constexpr float quiet_nan   = bit_cast<float>(0x7fc00000u);

} // namespace detail

} // namespace v0
} // namespace kvloom
