// SPDX-License-Identifier: MIT
// The NVIDIA backend: blocks, the one kernel entry, and launches on a CUDA stream.
#pragma once

#include <cuda_runtime.h>

#include "kvloom/backend/cuda/wave.hpp"
#include "kvloom/core/status.hpp"
#include "kvloom/group/launch_bounds.hpp"

namespace kvloom {
inline namespace v0 {
namespace cuda {

namespace detail {

/// Shared memory that a kernel may have without being asked for it at the launch.
inline constexpr usize most_static_shared = 48 * 1024;

} // namespace detail

/// A block of `Threads` threads.
template <int Threads>
struct block
{
    using wave_type              = cuda::wave;
    static constexpr int threads = Threads;
    static constexpr int waves   = Threads / wave_type::size;

    KVLOOM_DEVICE int index() const { return int(blockIdx.x); }
    KVLOOM_DEVICE int count() const { return int(gridDim.x); }
    KVLOOM_DEVICE int thread() const { return int(threadIdx.x); }
    /// From lane 0, so that the compiler knows it to be the same for all lanes: uniform registers and branches.
    KVLOOM_DEVICE int wave_index() const { return __shfl_sync(~0U, int(threadIdx.x) / wave_type::size, 0); }
    KVLOOM_DEVICE wave_type wave() const { return {}; }
    KVLOOM_DEVICE void barrier(site = site::here()) const { __syncthreads(); }

    /// The block's shared memory: the kernel's `struct shared`.
    template <class S>
    KVLOOM_DEVICE S& shared() const
    {
        if constexpr (sizeof(S) > detail::most_static_shared) {
            extern __shared__ uint4 dynamic_memory[];
            return *reinterpret_cast<S*>(dynamic_memory);
        } else {
            __shared__ S memory;
            return memory;
        }
    }
};

/// The one kernel: a functor over a block of this backend.
template <class Kernel, class Args>
__global__ void __launch_bounds__(Kernel::bounds.threads, Kernel::bounds.blocks_a_multiprocessor)
    entry(__grid_constant__ Args const args)
{
    Kernel{}(block<Kernel::bounds.threads>{}, args);
}

/// A CUDA stream of the calling thread's current device.
struct stream
{
    static constexpr bool has_transpose = cuda::wave::has_transpose;
    static constexpr int wave_size      = cuda::wave::size;
    static constexpr bool may_be_narrow =
        false; ///< whether waves of some of its machines have half as many lanes
    static constexpr bool has_copies = true; ///< of whole spans to shared memory, as rings of pages need

    cudaStream_t handle = nullptr;
    /// Let kernels whose bounds say `dependent` start before their predecessor has finished, up to dependency().
    bool dependent_launch = true;
};

/// The architecture to tune for: what entry() was compiled for on the current device, by compute capability.
inline arch_id arch_of(stream const&)
{
    int device = 0;
    int major  = 9;
    if (cudaGetDevice(&device) != cudaSuccess
        || cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) {
        return arch_id::sm_90;
    }
    return major >= 9 ? arch_id::sm_90 : arch_id::sm_80;
}

/// Multiprocessors of the current device.
inline int multiprocessors_of(stream const&)
{
    int device = 0;
    int count  = 1;
    if (cudaGetDevice(&device) == cudaSuccess) {
        (void)cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    }
    return count;
}

/// Starts `blocks` blocks; zero blocks succeed without a launch. Allocates nothing and does not synchronise.
template <class Kernel, class Args>
status launch(stream const& on, Kernel, Args const& args, i64 blocks)
{
    static_assert(is_kernel_v<Kernel>, "launch: a kernel declares bounds and struct shared");
    if (blocks == 0) {
        return {};
    }
    if (blocks < 0 || blocks > 0x7fffffff) {
        return {fault::out_of_range, "blocks", blocks, 0x7fffffff};
    }
    cudaLaunchAttribute attribute                        = {};
    attribute.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config                            = {};
    config.gridDim                                       = dim3(unsigned(blocks));
    config.blockDim                                      = dim3(Kernel::bounds.threads);
    config.stream                                        = on.handle;
    config.attrs                                         = &attribute;
    bool const dependent = Kernel::bounds.dependent && on.dependent_launch && arch_of(on) == arch_id::sm_90;
    config.numAttrs      = dependent ? 1 : 0;
    cudaError_t error    = cudaSuccess;
    if constexpr (sizeof(typename Kernel::shared) > detail::most_static_shared) {
        config.dynamicSmemBytes = sizeof(typename Kernel::shared);
        error = cudaFuncSetAttribute(entry<Kernel, Args>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     int(config.dynamicSmemBytes));
    }
    if (error == cudaSuccess) {
        error = cudaLaunchKernelEx(&config, entry<Kernel, Args>, args);
    }
    if (error != cudaSuccess) {
        (void)cudaGetLastError(); // reported here, so not again at the next call
        return {fault::launch_failed, cudaGetErrorString(error), error, 0};
    }
    return {};
}

} // namespace cuda
} // namespace v0
} // namespace kvloom
