// SPDX-License-Identifier: MIT
// An array indexed at run time lies in scratch memory.
// breaks: scratch_bytes
#include <hip/hip_runtime.h>

__global__ void scratch_array(float const* from, float* to, int at)
{
    float x[64];
    for (int i = 0; i < 64; ++i) {
        x[(i * 7) & 63] = from[i * 64 + threadIdx.x];
    }
    for (int i = 0; i < 64; ++i) {
        to[i] = x[(at + i * i) & 63];
    }
}
