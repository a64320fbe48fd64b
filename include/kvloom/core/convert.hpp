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

namespace detail {

#if KVLOOM_ON_AMD
typedef u16 amd_ushort2 __attribute__((ext_vector_type(2)));
#endif

/// What is added to twice a magnitude's bits to make a key: NaN wraps to keys below that of zero, which is this.
template <class T>
inline constexpr u32 key_of_zero = 0xfffeu - 2 * (is_same_v<T, bf16> ? 0x7f80u : 0x7c00u);

/// Keys of a pair of T (bf16 or fp16), which are ordered as the magnitudes are, NaN below all.
///
/// @cost one instruction on AMD
template <class T>
KVLOOM_FN u32 magnitude_keys(u32 pair)
{
#if KVLOOM_ON_AMD
    constexpr amd_ushort2 zero{u16(key_of_zero<T>), u16(key_of_zero<T>)};
    // A factor that the compiler knows to be two would become a shift, and that an instruction more.
    u32 twos = 0x00020002u;
    asm("" : "+s"(twos));
    return bit_cast<u32>(amd_ushort2(bit_cast<amd_ushort2>(pair) * bit_cast<amd_ushort2>(twos) + zero));
#else
    u32 const low  = 0xffffu & ((pair << 1) + key_of_zero<T>);
    u32 const high = 0xffffu & ((pair >> 15 & 0xfffeu) + key_of_zero<T>);
    return high << 16 | low;
#endif
}

/// The larger of each of two pairs of keys.
KVLOOM_FN u32 larger_keys(u32 a, u32 b)
{
#if KVLOOM_ON_AMD
    return bit_cast<u32>(__builtin_elementwise_max(bit_cast<amd_ushort2>(a), bit_cast<amd_ushort2>(b)));
#else
    u32 const low  = (a & 0xffffu) > (b & 0xffffu) ? a & 0xffffu : b & 0xffffu;
    u32 const high = a >> 16 > b >> 16 ? a >> 16 : b >> 16;
    return high << 16 | low;
#endif
}

/// The larger of the two magnitudes of which `keys` are the keys; NaN counts as zero.
template <class T>
KVLOOM_FN float larger_of_keys(u32 keys)
{
    u32 const key = larger_keys(larger_keys(keys, keys >> 16), key_of_zero<T>) & 0xffffu;
    return widen_pair<T>((key - key_of_zero<T>) >> 1).low;
}

} // namespace detail

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
