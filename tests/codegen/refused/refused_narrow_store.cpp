// SPDX-License-Identifier: MIT
// Eight stores of two bytes where one of sixteen was promised.
// breaks: store2 vgpr_total load16 store16 occupancy
#include <hip/hip_runtime.h>

__global__ void narrow_store(float const* __restrict__ from, short* __restrict__ to)
{
    for (int i = 0; i < 8; ++i) {
        to[threadIdx.x + 64 * i] = static_cast<short>(from[threadIdx.x + 64 * i]);
    }
}
