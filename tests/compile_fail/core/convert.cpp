// SPDX-License-Identifier: MIT
// What core/convert.hpp refuses.
#include "kvloom/core/convert.hpp"

using namespace kvloom;

float_pair widen_both(u32 pair)
{
    // refuses: widen_pair: T must be a 16-bit or 8-bit type
    // wrong: return widen_pair<float>(pair);
    return widen_pair<bf16>(pair);
}

auto narrow_both(float low, float high)
{
    // refuses: narrow_pair: T must be a 16-bit or 8-bit type
    // wrong: return narrow_pair<float>(low, high);
    return narrow_pair<fp8_e4m3>(low, high);
}

u32 largest(u32 a, u32 b)
{
    // refuses: larger_magnitudes: T must be bf16 or fp16
    // wrong: return larger_magnitudes<fp8_e4m3>(a, b);
    return larger_magnitudes<fp16>(a, b);
}
