// SPDX-License-Identifier: MIT
// fp8 two or four at a time: in hardware where this pass's machine has the format, else without branches.
#pragma once

#include "kvloom/core/convert_half.hpp"
#include "kvloom/core/fp8.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Whether the machine of this pass converts fp8 type T in hardware.
template <class T>
inline constexpr bool native_fp8 = is_same_v<T, fp8_e4m3> ? KVLOOM_NATIVE_FP8_OCP : KVLOOM_NATIVE_FP8_FNUZ;

/// |x|, as an operand modifier wherever there is one. Subnormal values may become 0, as they will in fp8.
KVLOOM_FN float fp8_size(float x)
{
#if KVLOOM_ON_CUDA
    return fabsf(x);
#else
    return magnitude(x);
#endif
}

/// Whether |x| is NaN or would round beyond the largest value.
template <class T>
KVLOOM_FN bool leaves_fp8(float x)
{
    return !(fp8_size(x) < bit_cast<float>(codec<T>::traits::overflow));
}

/// x as a conversion must get it that makes NaN of whatever lies out of range: at most the largest value, NaN still
/// NaN (of numbers nobody asks).
template <class T, values Of>
KVLOOM_FN float within_fp8(float x)
{
    if constexpr (Of == values::in_range) {
        return x;
    }
#if KVLOOM_ON_AMD && defined(__gfx950__)
    if constexpr (Of == values::any) {
        return __builtin_elementwise_maximum(__builtin_elementwise_minimum(x, numeric<T>::largest),
                                             -numeric<T>::largest);
    }
#endif
    float const clamped = between(x, -numeric<T>::largest, numeric<T>::largest); // of NaN a bound
    return Of == values::any && is_unordered(x) ? x : clamped;
}

#if KVLOOM_NATIVE_FP8

/// x as the hardware conversion must get it, so that the result follows the policy.
template <class T, class Overflow, values Of>
KVLOOM_FN float prepare_fp8(float x)
{
    if constexpr (is_same_v<Overflow, to_nan>) {
        return leaves_fp8<T>(x) ? quiet_nan : x;
    } else if constexpr (KVLOOM_ON_AMD) {
        return within_fp8<T, Of>(x);
    } else {
        return x;
    }
}

/// Two fp8 values. Bits 16 to 31 of the result mean nothing.
template <class T, class Overflow, values Of>
KVLOOM_FN u32 narrow_to_native_fp8s(float x0, float x1)
{
    float const low  = prepare_fp8<T, Overflow, Of>(x0);
    float const high = prepare_fp8<T, Overflow, Of>(x1);
#if KVLOOM_ON_CUDA
    u16 pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
    return pair;
#else
    // The third argument keeps its upper half: any register will do, and this one is at hand.
    return static_cast<u32>(__builtin_amdgcn_cvt_pk_fp8_f32(low, high, bit_cast<int>(low), false));
#endif
}

template <class T, class Overflow, values Of>
KVLOOM_FN u32 narrow_to_native_fp8s(float x0, float x1, float x2, float x3)
{
    float const low  = prepare_fp8<T, Overflow, Of>(x2);
    float const high = prepare_fp8<T, Overflow, Of>(x3);
#if KVLOOM_ON_CUDA
    u32 word;
    asm("{\n\t.reg .b16 low, high;\n\tcvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n\t"
        "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n\tmov.b32 %0, {low, high};\n\t}"
        : "=r"(word)
        : "f"(prepare_fp8<T, Overflow, Of>(x0)), "f"(prepare_fp8<T, Overflow, Of>(x1)), "f"(low), "f"(high));
    return word;
#else
    u32 const first = narrow_to_native_fp8s<T, Overflow, Of>(x0, x1);
    return static_cast<u32>(__builtin_amdgcn_cvt_pk_fp8_f32(low, high, static_cast<int>(first), true));
#endif
}

template <bool High>
KVLOOM_FN float_pair widen_native_fp8s(u32 word)
{
#if KVLOOM_ON_CUDA
    u32 halves;
    if constexpr (High) {
        asm("{\n\t.reg .b16 low, high;\n\tmov.b32 {low, high}, %1;\n\tcvt.rn.f16x2.e4m3x2 %0, high;\n\t}"
            : "=r"(halves)
            : "r"(word));
    } else {
        asm("{\n\t.reg .b16 low, high;\n\tmov.b32 {low, high}, %1;\n\tcvt.rn.f16x2.e4m3x2 %0, low;\n\t}"
            : "=r"(halves)
            : "r"(word));
    }
    return widen_halves(halves);
#else
    amd_float2 const x = __builtin_amdgcn_cvt_pk_f32_fp8(static_cast<int>(word), High);
    return {x.x, x.y};
#endif
}

#endif

/// The code of |x| in the low byte. Bits 8 to 31 of the result mean nothing.
template <class T, class Overflow, values Of>
KVLOOM_FN u32 fp8_magnitude(float x)
{
    using traits = typename codec<T>::traits;

    float size = fp8_size(x);
    if constexpr (is_same_v<Overflow, saturate> && Of != values::in_range) {
#if KVLOOM_ON_AMD
        size = __builtin_amdgcn_fmed3f(size, 0.0f, numeric<T>::largest);
#elif KVLOOM_ON_CUDA
        size = fminf(size, numeric<T>::largest);
#else
        size = size < numeric<T>::largest ? size : numeric<T>::largest;
#endif
    }

    // Added to 2^20 times its power of two (at least that of the smallest normal value), a number is rounded
    // to its first four bits, and these are the lowest of the sum.
    constexpr u32 smallest = (128u - traits::bias) << 23;
    u32 const bits         = bit_cast<u32>(size);
    u32 const power        = (bits > smallest ? bits : smallest) & 0x7f800000u;
#if KVLOOM_ON_CUDA || KVLOOM_ON_AMD
    float const sum = fma(bit_cast<float>(power), 0x1p20f, size);
#else
    float const sum = bit_cast<float>(power + (20u << 23)) + size;
#endif
    u32 const code = bit_cast<u32>(sum) + (power >> 20) - (smallest >> 20);

    bool const asked = Of == values::any || (Of == values::numbers && !is_same_v<Overflow, saturate>);
    bool const none  = asked && (is_same_v<Overflow, saturate> ? is_unordered(x) : leaves_fp8<T>(x));
    return none ? traits::nan : code;
}

/// Codes of magnitudes and the bytes that hold their signs, put together.
template <class T>
KVLOOM_FN u32 sign_fp8s(u32 codes, u32 signs)
{
    if constexpr (!codec<T>::traits::negative_zero) {
        signs &= codes + 0x7f7f7f7fu; // the top bit of each byte is set where the code is not 0
    }
    return codes | (signs & 0x80808080u);
}

/// Two fp8 values. Bits 16 to 31 of the result mean nothing.
template <class T, class Overflow, values Of = values::any>
KVLOOM_FN u32 narrow_to_fp8s(float x0, float x1)
{
#if KVLOOM_NATIVE_FP8
    if constexpr (native_fp8<T>) {
        return narrow_to_native_fp8s<T, Overflow, Of>(x0, x1);
    } else
#endif
    {
        u32 const codes =
            permute_bytes<0x4040>(fp8_magnitude<T, Overflow, Of>(x0), fp8_magnitude<T, Overflow, Of>(x1));
        return sign_fp8s<T>(codes, permute_bytes<0x7373>(bit_cast<u32>(x0), bit_cast<u32>(x1)));
    }
}

/// Four fp8 values, the first in the lowest byte.
template <class T, class Overflow, values Of = values::any>
KVLOOM_FN u32 narrow_to_fp8s(float x0, float x1, float x2, float x3)
{
#if KVLOOM_NATIVE_FP8
    if constexpr (native_fp8<T>) {
        return narrow_to_native_fp8s<T, Overflow, Of>(x0, x1, x2, x3);
    } else
#endif
    {
        u32 const low =
            permute_bytes<0x4040>(fp8_magnitude<T, Overflow, Of>(x0), fp8_magnitude<T, Overflow, Of>(x1));
        u32 const high =
            permute_bytes<0x4040>(fp8_magnitude<T, Overflow, Of>(x2), fp8_magnitude<T, Overflow, Of>(x3));
        u32 const signs = interleave_low(permute_bytes<0x7373>(bit_cast<u32>(x0), bit_cast<u32>(x1)),
                                         permute_bytes<0x7373>(bit_cast<u32>(x2), bit_cast<u32>(x3)));
        return sign_fp8s<T>(interleave_low(low, high), signs);
    }
}

/// Two fp8 values, through fp16: a code seven bits higher is an fp16 that is too small by a power of two.
template <class T, bool High>
KVLOOM_FN float_pair widen_fp8s_as_halves(u32 word)
{
    u32 const bytes  = permute_bytes < High ? 0x3424 : 0x1404 > (word, 0u);
    u32 const signs  = bytes & 0x80008000u;
    u32 const halves = bytes >> 1 & 0x3f803f80u;
    if constexpr (is_same_v<T, fp8_e4m3>) {
        u32 const nan = (halves + 0x00800080u) & 0x40004000u; // a code of 0x7f alone carries into this bit
        float_pair const x = widen_halves(halves | nan | signs);
        return {x.low * 0x1p8f, x.high * 0x1p8f};
    } else {
        float_pair const x = widen_halves(halves | signs);
        float const low    = bit_cast<u32>(x.low) == 0x80000000u ? quiet_nan : x.low;
        float const high   = bit_cast<u32>(x.high) == 0x80000000u ? quiet_nan : x.high;
        return {low * 0x1p7f, high * 0x1p7f};
    }
}

/// Two fp8 values from the low or the high half of a word.
template <class T, bool High>
KVLOOM_FN float_pair widen_fp8s(u32 word)
{
#if KVLOOM_NATIVE_FP8
    if constexpr (native_fp8<T>) {
        return widen_native_fp8s<High>(word);
    } else
#endif
    {
#if KVLOOM_ON_CUDA || KVLOOM_ON_AMD
        return widen_fp8s_as_halves<T, High>(word);
#else
        u32 const pair = High ? word >> 16 : word;
        return {codec<T>::decode({static_cast<u8>(pair)}), codec<T>::decode({static_cast<u8>(pair >> 8)})};
#endif
    }
}

/// Two fp8 values from the low or the high half of a word as two fp16, exactly: e4m3 of either kind fits.
template <class T, bool High>
KVLOOM_FN u32 fp8s_to_halves(u32 word)
{
#if KVLOOM_ON_CUDA && KVLOOM_NATIVE_FP8
    if constexpr (native_fp8<T>) {
        u32 halves;
        u16 const pair = static_cast<u16>(High ? word >> 16 : word);
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
        return halves;
    } else
#endif
    {
        float_pair const wide = widen_fp8s<T, High>(word);
        return narrow_to_halves(wide.low, wide.high);
    }
}

} // namespace detail
} // namespace v0
} // namespace kvloom
