// SPDX-License-Identifier: MIT
// The two 8-bit storage types with 4 exponent and 3 mantissa bits, and their exact software conversion.
#pragma once

#include "kvloom/core/numeric.hpp"

namespace kvloom {
inline namespace v0 {

/// OCP E4M3 ("fn"): bias 7, largest 448 (0x7e), NaN 0x7f and 0xff, has -0, no infinity.
struct fp8_e4m3
{
    u8 bits;
};

/// E4M3 FNUZ (gfx942): bias 8, largest 240 (0x7f), the only NaN is 0x80, no -0, no infinity.
struct fp8_e4m3_fnuz
{
    u8 bits;
};

/// Compares bits: NaN equals the same NaN, -0 differs from +0.
KVLOOM_FN constexpr bool operator==(fp8_e4m3 a, fp8_e4m3 b)
{
    return a.bits == b.bits;
}

KVLOOM_FN constexpr bool operator!=(fp8_e4m3 a, fp8_e4m3 b)
{
    return a.bits != b.bits;
}

KVLOOM_FN constexpr bool operator==(fp8_e4m3_fnuz a, fp8_e4m3_fnuz b)
{
    return a.bits == b.bits;
}

KVLOOM_FN constexpr bool operator!=(fp8_e4m3_fnuz a, fp8_e4m3_fnuz b)
{
    return a.bits != b.bits;
}

template <>
struct numeric<fp8_e4m3>
{
    static constexpr float largest    = 448.0f;
    static constexpr int bytes        = 1;
    static constexpr char const* name = "fp8_e4m3";
};

template <>
struct numeric<fp8_e4m3_fnuz>
{
    static constexpr float largest    = 240.0f;
    static constexpr int bytes        = 1;
    static constexpr char const* name = "fp8_e4m3_fnuz";
};

namespace detail {

/// What differs between the two formats; all code is shared.
struct fp8_e4m3_traits
{
    static constexpr u32 bias           = 7;
    static constexpr u32 nan            = 0x7f;
    static constexpr u32 largest        = 0x7e;
    static constexpr u32 overflow       = 0x43e80001u; // the float after 464, which still rounds to 448
    static constexpr float step         = 0x1p-9f;     // between subnormal values
    static constexpr float base         = 0x1p14f;     // 2^23 steps
    static constexpr bool negative_zero = true;
};

struct fp8_e4m3_fnuz_traits
{
    static constexpr u32 bias           = 8;
    static constexpr u32 nan            = 0x80;
    static constexpr u32 largest        = 0x7f;
    static constexpr u32 overflow       = 0x43780000u; // 248, which no longer rounds to 240
    static constexpr float step         = 0x1p-10f;
    static constexpr float base         = 0x1p13f;
    static constexpr bool negative_zero = false;
};

template <class T, class Traits>
struct fp8_codec
{
    using traits = Traits;

    KVLOOM_FN static constexpr float decode(T x)
    {
        u32 const code      = x.bits;
        u32 const magnitude = code & 0x7fu;
        u32 const sign      = (code & 0x80u) << 24;
        if (Traits::negative_zero ? magnitude == Traits::nan : code == Traits::nan) {
            return bit_cast<float>(sign | 0x7fc00000u);
        }
        if (magnitude < 8) {
            return bit_cast<float>(sign | bit_cast<u32>(static_cast<float>(magnitude) * Traits::step));
        }
        return bit_cast<float>(sign | ((magnitude << 20) + ((127u - Traits::bias) << 23)));
    }

    template <class Overflow>
    KVLOOM_FN static constexpr T encode(float x)
    {
        static_assert(is_same_v<Overflow, saturate> || is_same_v<Overflow, to_nan>,
                      "encode: the overflow policy must be saturate or to_nan");

        u32 const word      = bit_cast<u32>(x);
        u32 const sign      = word >> 24 & 0x80u;
        u32 const magnitude = word & 0x7fffffffu;

        u32 code = 0;
        if (magnitude < (128u - Traits::bias) << 23) { // below the smallest normal value
            code = round_to_units(magnitude, Traits::base);
        } else {
            code = round_off<20>(magnitude) - ((127u - Traits::bias) << 3);
        }
        if (magnitude >= Traits::overflow) {
            code = is_same_v<Overflow, saturate> ? Traits::largest : Traits::nan;
        }
        if (magnitude > infinity_bits) {
            code = Traits::nan;
        }
        if (Traits::negative_zero || code != 0) {
            code |= sign;
        }
        return {static_cast<u8>(code)};
    }
};

template <>
struct codec<fp8_e4m3> : fp8_codec<fp8_e4m3, fp8_e4m3_traits>
{};

template <>
struct codec<fp8_e4m3_fnuz> : fp8_codec<fp8_e4m3_fnuz, fp8_e4m3_fnuz_traits>
{};

} // namespace detail

} // namespace v0
} // namespace kvloom
