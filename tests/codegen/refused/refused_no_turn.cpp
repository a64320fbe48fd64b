// SPDX-License-Identifier: MIT
// The loop that a rule is about is not there.
// breaks: turn
#include <hip/hip_runtime.h>

__global__ void no_turn(float const* __restrict__ from, float* __restrict__ to)
{
    to[threadIdx.x] = from[threadIdx.x];
}
