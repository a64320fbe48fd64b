// SPDX-License-Identifier: MIT
// The storage type fp16 (5 exponent bits, 10 mantissa bits) and its exact software conversion.
#pragma once

#include "kvloom/core/numeric.hpp"

namespace kvloom {
inline namespace v0 {

/// IEEE binary16.
struct fp16
{
    u16 bits;
};

/// Compares bits: NaN equals the same NaN, -0 differs from +0.
KVLOOM_FN constexpr bool operator==(fp16 a, fp16 b)
{
    return a.bits == b.bits;
}

KVLOOM_FN constexpr bool operator!=(fp16 a, fp16 b)
{
    return a.bits != b.bits;
}

template <>
struct numeric<fp16>
{
    static constexpr float largest    = 65504.0f;
    static constexpr int bytes        = 2;
    static constexpr char const* name = "fp16";
};

namespace detail {

template <>
struct codec<fp16>
{
    KVLOOM_FN static constexpr float decode(fp16 x)
    {
        u32 const sign     = (x.bits & 0x8000u) << 16;
        u32 const exponent = x.bits >> 10 & 0x1fu;
        u32 const mantissa = x.bits & 0x3ffu;
        if (exponent == 0x1fu) {
            return bit_cast<float>(sign | infinity_bits | mantissa << 13 | (mantissa != 0 ? 0x400000u : 0u));
        }
        if (exponent == 0) {
            float const value = static_cast<float>(mantissa) * 0x1p-24f;
            return bit_cast<float>(sign | bit_cast<u32>(value));
        }
        return bit_cast<float>(sign | (exponent + 112u) << 23 | mantissa << 13);
    }

    template <class Overflow>
    KVLOOM_FN static constexpr fp16 encode(float x)
    {
        u32 const word      = bit_cast<u32>(x);
        u32 const sign      = word >> 16 & 0x8000u;
        u32 const magnitude = word & 0x7fffffffu;
        if (magnitude > infinity_bits) {
            return {static_cast<u16>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu))};
        }
        if (magnitude >= 0x477ff000u) { // 65520 lies halfway between the largest value and 2^16
            return {static_cast<u16>(sign | 0x7c00u)};
        }
        if (magnitude < 0x38800000u) { // below 2^-14: steps of 2^-24
            return {static_cast<u16>(sign | round_to_units(magnitude, 0.5f))};
        }
        return {static_cast<u16>(sign | (round_off<13>(magnitude) - (112u << 10)))};
    }
};

} // namespace detail

} // namespace v0
} // namespace kvloom
