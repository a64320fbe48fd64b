// SPDX-License-Identifier: MIT
// More values are live at once than a thread has registers: they spill to scratch memory.
// breaks: scratch_bytes vgpr_spill
#include <hip/hip_runtime.h>

__global__ void __launch_bounds__(1024) spills(float const* __restrict__ from, float* __restrict__ to)
{
    float x[160];
#pragma unroll
    for (int i = 0; i < 160; ++i) {
        x[i] = from[i * 1024 + threadIdx.x];
    }
    asm volatile("" ::: "memory");
#pragma unroll
    for (int i = 0; i < 160; ++i) {
        to[i * 1024 + threadIdx.x] = x[i] * x[159 - i];
    }
}
