// SPDX-License-Identifier: MIT
// A detour over shared memory.
// breaks: lds_bytes ds
#include <hip/hip_runtime.h>

__global__ void over_lds(float const* from, float* to)
{
    __shared__ float x[256];
    x[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = x[threadIdx.x ^ 1];
}
