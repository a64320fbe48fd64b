// SPDX-License-Identifier: MIT
// A pointer read from memory by way of an integer: the compiler cannot tell which memory it points into.
// breaks: flat
#include <hip/hip_runtime.h>

__global__ void flat_access(unsigned long long const* addresses)
{
    *reinterpret_cast<float*>(addresses[threadIdx.x]) = 1.0f;
}
