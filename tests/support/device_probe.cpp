// SPDX-License-Identifier: MIT
// Whether the device that a test program was built for is there; compiled once for each backend.
#include "device_probe.hpp"

#if KVLOOM_TEST_BACKEND_CUDA
#include <cuda_runtime.h>
#elif KVLOOM_TEST_BACKEND_HIP
#include <hip/hip_runtime.h>
#endif

namespace kvloom_test {

device_state probe_device()
{
#if KVLOOM_TEST_BACKEND_CUDA
    int count              = 0;
    cudaError_t const code = cudaGetDeviceCount(&count);
    return {code == cudaSuccess && count > 0, "CUDA", cudaGetErrorString(code)};
#elif KVLOOM_TEST_BACKEND_HIP
    int count             = 0;
    hipError_t const code = hipGetDeviceCount(&count);
    return {code == hipSuccess && count > 0, "HIP", hipGetErrorString(code)};
#else
    return {true, "host", ""};
#endif
}

} // namespace kvloom_test
