// SPDX-License-Identifier: MIT
// The AMD backend: blocks, the one kernel entry, and launches on a HIP stream.
#pragma once

#include <hip/hip_runtime.h>

#include "kvloom/backend/hip/wave.hpp"
#include "kvloom/core/status.hpp"
#include "kvloom/group/launch_bounds.hpp"

namespace kvloom {
inline namespace v0 {
namespace hip {

/// A block of `Threads` threads.
template <int Threads>
struct block
{
    using wave_type              = hip::wave;
    static constexpr int threads = Threads;
    static constexpr int waves   = Threads / wave_type::size;

    KVLOOM_DEVICE int index() const { return int(blockIdx.x); }
    KVLOOM_DEVICE int count() const { return int(gridDim.x); }
    KVLOOM_DEVICE int thread() const { return int(threadIdx.x); }
    KVLOOM_DEVICE int wave_index() const { return wave().uniform(int(threadIdx.x) / wave_type::size); }
    KVLOOM_DEVICE wave_type wave() const { return {}; }
    KVLOOM_DEVICE void barrier(site = site::here()) const { __syncthreads(); }

    /// The block's shared memory: the kernel's `struct shared`.
    template <class S>
    KVLOOM_DEVICE S& shared() const
    {
        __shared__ S memory;
        return memory;
    }
};

/// The one kernel: a functor over a block of this backend.
template <class Kernel, class Args>
__global__ void __launch_bounds__(Kernel::bounds.threads, Kernel::bounds.waves_a_simd) entry(Args const args)
{
    Kernel{}(block<Kernel::bounds.threads>{}, args);
}

/// A HIP stream of the calling thread's current device.
struct stream
{
    static constexpr bool has_transpose = hip::wave::has_transpose;
    static constexpr int wave_size      = 64; ///< of the machines with matrix units that kvloom knows
    static constexpr bool may_be_narrow =
        true; ///< whether waves of some of its machines have half as many lanes
    static constexpr bool has_copies = false; ///< of whole spans to shared memory, as rings of pages need

    hipStream_t handle = nullptr;
};

/// The architecture of a processor name such as "gfx942:sramecc+:xnack-".
inline arch_id arch_named(char const* name)
{
    auto const begins = [name](char const* prefix) {
        int i = 0;
        while (prefix[i] != 0 && name[i] == prefix[i]) {
            ++i;
        }
        return prefix[i] == 0;
    };
    if (begins("gfx90a")) {
        return arch_id::gfx90a;
    }
    if (begins("gfx950")) {
        return arch_id::gfx950;
    }
    if (begins("gfx10") || begins("gfx11")) {
        return arch_id::gfx11;
    }
    return begins("gfx12") ? arch_id::gfx12 : arch_id::gfx942;
}

/// The architecture to tune for, from the name of the current device.
inline arch_id arch_of(stream const&)
{
    int device                 = 0;
    hipDeviceProp_t properties = {};
    if (hipGetDevice(&device) != hipSuccess || hipGetDeviceProperties(&properties, device) != hipSuccess) {
        return arch_id::gfx942;
    }
    return arch_named(properties.gcnArchName);
}

/// Compute units of the current device.
inline int multiprocessors_of(stream const&)
{
    int device                 = 0;
    hipDeviceProp_t properties = {};
    if (hipGetDevice(&device) != hipSuccess || hipGetDeviceProperties(&properties, device) != hipSuccess) {
        return 1;
    }
    return properties.multiProcessorCount;
}

/// Starts `blocks` blocks; zero blocks succeed without a launch. Allocates nothing and does not synchronise.
template <class Kernel, class Args>
status launch(stream const& on, Kernel, Args const& args, i64 blocks)
{
    static_assert(is_kernel_v<Kernel>, "launch: a kernel declares bounds and struct shared");
    if (blocks == 0) {
        return {};
    }
    if (blocks < 0 || blocks * Kernel::bounds.threads > 0xffffffffLL) {
        return {fault::out_of_range, "blocks", blocks, 0xffffffffLL / Kernel::bounds.threads + 1};
    }
    entry<Kernel, Args><<<dim3(unsigned(blocks)), dim3(Kernel::bounds.threads), 0, on.handle>>>(args);
    hipError_t const error = hipGetLastError();
    if (error != hipSuccess) {
        return {fault::launch_failed, hipGetErrorString(error), error, 0};
    }
    return {};
}

} // namespace hip
} // namespace v0
} // namespace kvloom
