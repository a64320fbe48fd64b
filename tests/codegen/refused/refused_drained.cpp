// SPDX-License-Identifier: MIT
// A product that waits for every load, with nothing on its way while it runs.
// breaks: pending_at_mfma
#include <hip/hip_runtime.h>

typedef short short4_t __attribute__((ext_vector_type(4)));
typedef float float4_t __attribute__((ext_vector_type(4)));

__global__ void drained(short4_t const* __restrict__ from, float4_t* __restrict__ to)
{
    short4_t const a = from[threadIdx.x];
    to[threadIdx.x]  = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, a, float4_t{}, 0, 0, 0);
}
