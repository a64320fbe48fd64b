// SPDX-License-Identifier: MIT
// A loop with twice the instructions that a row may take: each value is divided by the instructions of an exact division.
// breaks: instructions_a_row clamp
#include <hip/hip_runtime.h>

__global__ void dear_turn(float const* __restrict__ from, float* __restrict__ to, int count, float by)
{
    for (int i = threadIdx.x; i < count; i += 64) {
        asm volatile("; turn of values");
        to[i] = from[i] / by;
    }
}
