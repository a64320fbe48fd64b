// SPDX-License-Identifier: MIT
// Arithmetic with the same bits on every backend: nothing is contracted, root and division round correctly.
#pragma once

#include "kvloom/core/types.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// Hides from a host compiler for a machine with fma that `x` is a product, so that no addition takes it in.
KVLOOM_FN float rounded(float x)
{
#if !KVLOOM_ON_CUDA && !KVLOOM_ON_AMD && defined(__GNUC__)
#if defined(__FMA__) || defined(__FMA4__)
    asm("" : "+x"(x));
#elif defined(__aarch64__)
    asm("" : "+w"(x));
#elif !defined(__x86_64__) && !defined(__i386__)
    asm("" : "+m"(x));
#endif
#endif
    return x;
}

} // namespace detail

/// a * b + c, rounded once.
KVLOOM_FN float fma(float a, float b, float c)
{
#if KVLOOM_ON_CUDA
    return __fmaf_rn(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

/// Two values that are worked on together.
struct float_pair
{
    float low;
    float high;
};

namespace detail {

#if KVLOOM_ON_AMD
typedef float amd_float2 __attribute__((ext_vector_type(2)));
#endif

} // namespace detail

/// a * b + c of both values, each rounded once.
///
/// @cost one instruction on CDNA, else two; two with clang 16 and older, if it does not find the pair itself
KVLOOM_FN float_pair fma(float_pair a, float_pair b, float_pair c)
{
#if KVLOOM_NATIVE_PAIR_FMA
    using detail::amd_float2;
    amd_float2 const x = __builtin_elementwise_fma(amd_float2{a.low, a.high}, amd_float2{b.low, b.high},
                                                   amd_float2{c.low, c.high});
    return {x.x, x.y};
#else
    return {fma(a.low, b.low, c.low), fma(a.high, b.high, c.high)};
#endif
}

/// a * b, never fused with an addition that uses it.
KVLOOM_FN float multiply(float a, float b)
{
#if KVLOOM_ON_CUDA
    return __fmul_rn(a, b);
#else
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
    return detail::rounded(a * b);
#endif
}

/// a + b, never fused with a product that it uses.
KVLOOM_FN float add(float a, float b)
{
#if KVLOOM_ON_CUDA
    return __fadd_rn(a, b);
#else
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
    return a + b;
#endif
}

/// Products of two pairs, never fused with an addition.
///
/// @cost one instruction on CDNA, else two
KVLOOM_FN float_pair multiply(float_pair a, float_pair b)
{
#if KVLOOM_ON_AMD
#pragma clang fp contract(off)
    detail::amd_float2 const x = detail::amd_float2{a.low, a.high} * detail::amd_float2{b.low, b.high};
    return {x.x, x.y};
#else
    return {multiply(a.low, b.low), multiply(a.high, b.high)};
#endif
}

/// The square root, correctly rounded.
KVLOOM_FN float square_root(float x)
{
#if KVLOOM_ON_CUDA
    float root;
    asm("sqrt.rn.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
#else
    return __builtin_sqrtf(x);
#endif
}

/// 1 / x, correctly rounded.
KVLOOM_FN float reciprocal(float x)
{
#if KVLOOM_ON_CUDA
    float inverse;
    asm("rcp.rn.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
#else
    return 1.0f / x;
#endif
}

/// a / b, correctly rounded.
KVLOOM_FN float divide(float a, float b)
{
#if KVLOOM_ON_CUDA
    float ratio;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(ratio) : "f"(a), "f"(b));
    return ratio;
#else
    return a / b;
#endif
}

/// An integer test, which no compiler flag removes.
KVLOOM_FN constexpr bool is_nan(float x)
{
    return (bit_cast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

namespace detail {

/// `is_nan` in one instruction: a comparison, good where NaN is kept. config.hpp refuses flags that do not.
KVLOOM_FN bool is_unordered(float x)
{
#if KVLOOM_ON_CUDA
    return x != x;
#elif KVLOOM_ON_AMD
    return __builtin_isunordered(x, x);
#else
    return is_nan(x);
#endif
}

} // namespace detail

/// |x|, of NaN too.
KVLOOM_FN constexpr float magnitude(float x)
{
    return bit_cast<float>(bit_cast<u32>(x) & 0x7fffffffu);
}

/// The larger of two values; of a number and a NaN, the number; of two zeros, either.
KVLOOM_FN float larger(float a, float b)
{
#if KVLOOM_ON_CUDA
    return fmaxf(a, b);
#elif KVLOOM_ON_AMD
    return __builtin_fmaxf(a, b);
#else
    return a < b || is_nan(a) ? b : a;
#endif
}

/// The larger of two values that are neither negative nor NaN.
KVLOOM_FN float larger_size(float a, float b)
{
#if KVLOOM_ON_AMD
    // Their bits have the same order, and a maximum of integers takes another lane's value as an operand; that of
    // floats would first quiet it.
    return bit_cast<float>(__builtin_elementwise_max(bit_cast<u32>(a), bit_cast<u32>(b)));
#else
    return larger(a, b);
#endif
}

/// x where it lies between two bounds, else the nearer bound; of NaN, either bound.
///
/// @cost one instruction on AMD, two on NVIDIA
KVLOOM_FN float between(float x, float lower, float upper)
{
#if KVLOOM_ON_CUDA
    return fminf(fmaxf(x, lower), upper);
#elif KVLOOM_ON_AMD
    return __builtin_amdgcn_fmed3f(x, lower, upper);
#else
    return x < lower || is_nan(x) ? lower : x > upper ? upper : x;
#endif
}

/// Zeros below the lowest set bit of x; x is not 0.
KVLOOM_FN int count_trailing_zeros(u32 x)
{
#if KVLOOM_ON_CUDA
    return __clz(static_cast<int>(__brev(x)));
#else
    return __builtin_ctz(x);
#endif
}

/// Four bytes picked from eight: hexadecimal digit i of Selector, from the right, names what becomes byte i,
/// 0 to 3 being the bytes of a and 4 to 7 those of b.
///
/// @cost one instruction on AMD and NVIDIA
template <u32 Selector>
KVLOOM_FN u32 permute_bytes(u32 a, u32 b)
{
    static_assert((Selector & 0xffff8888u) == 0, "permute_bytes: Selector must be four digits from 0 to 7");
#if KVLOOM_ON_CUDA
    return __byte_perm(a, b, Selector);
#elif KVLOOM_ON_AMD
    constexpr u32 low_digits  = (Selector & 0xfu) | (Selector & 0xf0u) << 4;
    constexpr u32 high_digits = (Selector & 0xf00u) << 8 | (Selector & 0xf000u) << 12;
    return __builtin_amdgcn_perm(b, a, low_digits | high_digits);
#else
    u64 const bytes = static_cast<u64>(b) << 32 | a;
    u32 result      = 0;
    for (int i = 0; i < 4; ++i) {
        result |= static_cast<u32>(bytes >> (Selector >> 4 * i & 7u) * 8 & 0xffu) << 8 * i;
    }
    return result;
#endif
}

/// The low halves of two words: a's below b's.
KVLOOM_FN u32 interleave_low(u32 a, u32 b)
{
#if KVLOOM_ON_CUDA || KVLOOM_ON_AMD
    return permute_bytes<0x5410>(a, b);
#else
    return (a & 0xffffu) | b << 16;
#endif
}

/// The high halves of two words: a's below b's.
KVLOOM_FN u32 interleave_high(u32 a, u32 b)
{
#if KVLOOM_ON_CUDA || KVLOOM_ON_AMD
    return permute_bytes<0x7632>(a, b);
#else
    return a >> 16 | (b & 0xffff0000u);
#endif
}

/// A divisor prepared on the host, so that dividing by it is a multiply-high and two shifts.
struct divider
{
    u32 divisor    = 1;
    u32 multiplier = 0x80000001u;
    u32 shift      = 0;
};

/// For divisors from 1 to 2^31.
KVLOOM_FN constexpr divider make_divider(u32 divisor)
{
    // With 2^(s-1) < divisor <= 2^s, the multiplier floor(2^(31+s) / divisor) + 1 is below 2^32, and n *
    // multiplier exceeds n * 2^(31+s) / divisor by at most n < 2^31: too little to reach the next quotient.
    u32 shift = 0;
    while ((static_cast<u64>(1) << shift) < divisor) {
        ++shift;
    }
    u64 const multiplier = (static_cast<u64>(1) << (31 + shift)) / divisor + 1;
    return {divisor, static_cast<u32>(multiplier), shift};
}

/// n / d.divisor, for 0 <= n < 2^31.
KVLOOM_FN constexpr u32 quotient(u32 n, divider d)
{
    return static_cast<u32>(static_cast<u64>(n << 1) * d.multiplier >> 32) >> d.shift;
}

/// n / d.divisor, for n >= 0.
KVLOOM_FN constexpr int quotient(int n, divider d)
{
    return static_cast<int>(quotient(static_cast<u32>(n), d));
}

} // namespace v0
} // namespace kvloom
