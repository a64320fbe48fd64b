// SPDX-License-Identifier: MIT
// A product whose operands are worked out between load and use and go through shared memory, with page ids that each lane
// loads for itself.
// breaks: computed_products ds readlane load4 scalar_load loaded_products lds_bytes
#include <hip/hip_runtime.h>

typedef short short4_t __attribute__((ext_vector_type(4)));
typedef float float4_t __attribute__((ext_vector_type(4)));

__global__ void widened(short4_t const* __restrict__ pages, int const* ids, float4_t* __restrict__ to,
                        int count)
{
    __shared__ short4_t moved[64];
    float4_t sum = {};
    for (int i = 0; i < count; ++i) {
        int const id       = __builtin_amdgcn_readfirstlane(ids[i + threadIdx.x]);
        moved[threadIdx.x] = pages[id * 64 + threadIdx.x] + static_cast<short>(1);
        __syncthreads();
        short4_t const a = moved[threadIdx.x ^ 1];
        sum              = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, a, sum, 0, 0, 0);
        __syncthreads();
    }
    to[threadIdx.x] = sum;
}
