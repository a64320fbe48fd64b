// SPDX-License-Identifier: MIT
// The number types of the backend's vendor, as far as its toolkit has them.
#pragma once

#if KVLOOM_TEST_BACKEND_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#elif KVLOOM_TEST_BACKEND_HIP
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#if __has_include(<hip/hip_bf16.h>)
#include <hip/hip_bf16.h>
#endif
#if __has_include(<hip/hip_fp8.h>)
#include <hip/hip_fp8.h>
#endif
#endif
