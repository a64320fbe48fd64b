// SPDX-License-Identifier: MIT
// Powers and logarithms to base 2, as near as the machine's own instructions: not the same bits everywhere.
#pragma once

#include "kvloom/core/types.hpp"

namespace kvloom {
inline namespace v0 {

/// 2 to the power x, within 2 units in the last place; of 0 exactly 1, of -infinity 0. Results that would be
/// subnormal may be 0.
///
/// @cost one instruction on AMD and NVIDIA
KVLOOM_FN float approximate_exp2(float x)
{
#if KVLOOM_ON_CUDA
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
#elif KVLOOM_NATIVE_EXP2
    return __builtin_amdgcn_exp2f(x);
#else
    return __builtin_exp2f(x);
#endif
}

/// The logarithm to base 2 of a normal number: absolute error below 2^-21 near 1, relative error below 2^-21
/// elsewhere; of 0 -infinity.
KVLOOM_FN float approximate_log2(float x)
{
#if KVLOOM_ON_CUDA
    float logarithm;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(logarithm) : "f"(x));
    return logarithm;
#elif KVLOOM_NATIVE_EXP2
    return __builtin_amdgcn_logf(x);
#else
    return __builtin_log2f(x);
#endif
}

inline constexpr float log2_of_e    = 1.4426950408889634f;
inline constexpr float natural_of_2 = 0.6931471805599453f;

} // namespace v0
} // namespace kvloom
