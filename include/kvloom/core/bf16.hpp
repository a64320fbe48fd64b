// SPDX-License-Identifier: MIT
// The storage type bf16 (8 exponent bits, 7 mantissa bits) and its exact software conversion.
#pragma once

#include "kvloom/core/numeric.hpp"

namespace kvloom {
inline namespace v0 {

/// The upper half of a float.
struct bf16
{
    u16 bits;
};

/// Compares bits: NaN equals the same NaN, -0 differs from +0.
KVLOOM_FN constexpr bool operator==(bf16 a, bf16 b)
{
    return a.bits == b.bits;
}

KVLOOM_FN constexpr bool operator!=(bf16 a, bf16 b)
{
    return a.bits != b.bits;
}

template <>
struct numeric<bf16>
{
    static constexpr float largest    = 3.3895313892515355e38f;
    static constexpr int bytes        = 2;
    static constexpr char const* name = "bf16";
};

namespace detail {

template <>
struct codec<bf16>
{
    KVLOOM_FN static constexpr float decode(bf16 x)
    {
        return bit_cast<float>(static_cast<u32>(x.bits) << 16);
    }

    template <class Overflow>
    KVLOOM_FN static constexpr bf16 encode(float x)
    {
        u32 const word = bit_cast<u32>(x);
        if ((word & 0x7fffffffu) > infinity_bits) {
            return {static_cast<u16>(word >> 16 | 0x40u)};
        }
        return {static_cast<u16>(round_off<16>(word))};
    }
};

} // namespace detail

} // namespace v0
} // namespace kvloom
