// SPDX-License-Identifier: MIT
// Conversions between float and the storage types: in software, and where there is hardware, the same bits.
#pragma once

#include "kvloom/core/convert_fp8.hpp"
#include "kvloom/core/convert_half.hpp"

namespace kvloom {
inline namespace v0 {

/// Whether caches hold T.
template <class T>
inline constexpr bool is_cache_element_v =
    is_same_v<T, bf16> || is_same_v<T, fp16> || is_same_v<T, fp8_e4m3> || is_same_v<T, fp8_e4m3_fnuz>;

/// The word that holds two values of T, the first in its low half: u32 for 16-bit types, u16 for fp8.
template <class T>
using packed_pair_t = conditional_t<numeric<T>::bytes == 2, u32, u16>;

/// The value of x, exactly; NaN gives NaN. Software, usable in constant expressions.
template <class T>
KVLOOM_FN constexpr float decode(T x)
{
    return detail::codec<T>::decode(x);
}

/// The T nearest to x, ties to even; NaN stays NaN. Software, usable in constant expressions.
///
/// fp8 overflows as the policy says; bf16 and fp16 overflow to infinity under either. FNUZ has no -0: that
/// gives 0x00.
template <class T, class Overflow = saturate>
KVLOOM_FN constexpr T encode(float x)
{
    return detail::codec<T>::template encode<Overflow>(x);
}

/// Two values from one word.
///
/// @cost bf16: 2 instructions; fp16: 2; fp8 in the machine's own format: 1 on AMD, 3 on NVIDIA
template <class T>
KVLOOM_FN float_pair widen_pair(packed_pair_t<T> pair)
{
    static_assert(numeric<T>::bytes <= 2, "widen_pair: T must be a 16-bit or 8-bit type");
    if constexpr (is_same_v<T, bf16>) {
        return {bit_cast<float>(pair << 16), bit_cast<float>(pair & 0xffff0000u)};
    } else if constexpr (is_same_v<T, fp16>) {
        return detail::widen_halves(pair);
    } else {
        return detail::widen_fp8s<T, false>(pair);
    }
}

/// Two values in one word, each as `encode` gives it (any NaN encoding equals any other).
template <class T, class Overflow = saturate>
KVLOOM_FN packed_pair_t<T> narrow_pair(float low, float high)
{
    static_assert(numeric<T>::bytes <= 2, "narrow_pair: T must be a 16-bit or 8-bit type");
    if constexpr (is_same_v<T, bf16>) {
        return detail::narrow_to_bf16s(low, high);
    } else if constexpr (is_same_v<T, fp16>) {
        return detail::narrow_to_halves(low, high);
    } else {
        return static_cast<u16>(detail::narrow_to_fp8s<T, Overflow>(low, high));
    }
}

/// Of each of two pairs of T (bf16 or fp16) the one of larger magnitude, a number rather than NaN. Its sign means
/// nothing.
///
/// @cost one instruction on NVIDIA
template <class T>
KVLOOM_FN u32 larger_magnitudes(u32 a, u32 b)
{
    static_assert(is_same_v<T, bf16> || is_same_v<T, fp16>, "larger_magnitudes: T must be bf16 or fp16");
#if KVLOOM_ON_CUDA && __CUDA_ARCH__ >= 860
    u32 pair;
    if constexpr (is_same_v<T, bf16>) {
        asm("max.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
    } else {
        asm("max.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
    }
    return pair;
#else
    float_pair const x = widen_pair<T>(a & 0x7fff7fffu);
    float_pair const y = widen_pair<T>(b & 0x7fff7fffu);
    return narrow_pair<T>(larger(x.low, y.low), larger(x.high, y.high));
#endif
}

/// The value of x: `decode` in hardware where there is any.
template <class T>
KVLOOM_FN float widen(T x)
{
    if constexpr (is_same_v<T, float>) {
        return x;
    } else {
        return widen_pair<T>(static_cast<packed_pair_t<T>>(x.bits)).low;
    }
}

/// The T nearest to x: `encode` in hardware where there is any (any NaN encoding equals any other).
///
/// @cost as much as a pair; prefer `narrow_pair` or the vector form
template <class T, class Overflow = saturate>
KVLOOM_FN T narrow(float x)
{
    if constexpr (is_same_v<T, float>) {
        return x;
    } else {
        return {static_cast<decltype(T::bits)>(narrow_pair<T, Overflow>(x, 0.0f))};
    }
}

} // namespace v0
} // namespace kvloom
