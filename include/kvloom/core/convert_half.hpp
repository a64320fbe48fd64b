// SPDX-License-Identifier: MIT
// bf16 and fp16 two at a time, as the machine of this compile pass converts them best.
#pragma once

#include "kvloom/core/bf16.hpp"
#include "kvloom/core/fp16.hpp"
#include "kvloom/core/math.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

#if KVLOOM_ON_AMD
typedef _Float16 amd_half2 __attribute__((ext_vector_type(2)));
#if KVLOOM_NATIVE_BF16
typedef __bf16 amd_bf162 __attribute__((ext_vector_type(2)));
#endif
#endif

/// float(x) of both halves of a word.
KVLOOM_FN float_pair widen_halves(u32 word)
{
#if KVLOOM_ON_CUDA
    float_pair x;
    asm("{\n\t.reg .f16 low, high;\n\tmov.b32 {low, high}, %2;\n\tcvt.f32.f16 %0, low;\n\tcvt.f32.f16 %1, "
        "high;\n\t}"
        : "=f"(x.low), "=f"(x.high)
        : "r"(word));
    return x;
#elif KVLOOM_ON_AMD
    amd_float2 const x = __builtin_convertvector(bit_cast<amd_half2>(word), amd_float2);
    return {x.x, x.y};
#else
    return {codec<fp16>::decode({static_cast<u16>(word)}),
            codec<fp16>::decode({static_cast<u16>(word >> 16)})};
#endif
}

KVLOOM_FN u32 narrow_to_halves(float low, float high)
{
#if KVLOOM_ON_CUDA
    u32 word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#elif KVLOOM_ON_AMD
    return bit_cast<u32>(__builtin_convertvector((amd_float2{low, high}), amd_half2));
#else
    return codec<fp16>::encode<saturate>(low).bits
           | static_cast<u32>(codec<fp16>::encode<saturate>(high).bits) << 16;
#endif
}

/// What a conversion knows of its values. To ask each of them whether it is NaN is a third to a half of the work
/// where no instruction converts; of numbers nobody asks, and those in range round to the largest value at most.
enum class values { any, numbers, in_range };

#if KVLOOM_ON_AMD && !KVLOOM_NATIVE_BF16
/// The bf16 nearest to x in the upper half, garbage in the lower.
template <values Of>
KVLOOM_FN u32 round_to_upper_half(float x)
{
    u32 const word    = bit_cast<u32>(x);
    u32 const rounded = word + 0x7fffu + (word >> 16 & 1u);
    return Of == values::any && is_unordered(x) ? 0x7fff0000u : rounded;
}
#endif

template <values Of = values::any>
KVLOOM_FN u32 narrow_to_bf16s(float low, float high)
{
#if KVLOOM_ON_CUDA
    u32 word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#elif KVLOOM_NATIVE_BF16
    return bit_cast<u32>(__builtin_convertvector((amd_float2{low, high}), amd_bf162));
#elif KVLOOM_ON_AMD
    return interleave_high(round_to_upper_half<Of>(low), round_to_upper_half<Of>(high));
#else
    return codec<bf16>::encode<saturate>(low).bits
           | static_cast<u32>(codec<bf16>::encode<saturate>(high).bits) << 16;
#endif
}

} // namespace detail

} // namespace v0
} // namespace kvloom
