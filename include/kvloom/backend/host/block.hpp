// SPDX-License-Identifier: MIT
// The host backend's blocks.
#pragma once

#include "kvloom/backend/host/wave.hpp"

#include <cstddef>
#include <type_traits>

namespace kvloom {
inline namespace v0 {
namespace host {

namespace detail {

inline void check_shared(gpu_thread const& self, std::size_t bytes)
{
    if (bytes != self.home->shared.bytes()) {
        fail_shared(self, bytes);
    }
}

} // namespace detail

// Kernels that run on a device as well call these members from functions for host and device.
#if KVLOOM_CUDA
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20011, 20014
#endif

/// A block of `Threads` threads, as each of them sees it. A last wave may be incomplete.
template <class Machine, int Threads>
struct block
{
    static_assert(Threads >= 1 && Threads <= 1024, "block: the number of threads must be 1 to 1024");

    using wave_type = host::wave<Machine>;

    static constexpr int threads = Threads;
    static constexpr int waves   = (Threads + Machine::wave_size - 1) / Machine::wave_size;

    detail::gpu_thread* self;

    /// The block's number in the grid.
    KVLOOM_FN int index() const { return self->home->block; }

    /// The number of blocks in the grid.
    KVLOOM_FN int count() const { return self->home->blocks; }

    /// The caller's number in the block.
    KVLOOM_FN int thread() const { return self->index; }

    /// The caller's wave.
    KVLOOM_FN wave_type wave() const { return {self}; }

    /// The number of the caller's wave in the block.
    KVLOOM_FN int wave_index() const { return self->index / Machine::wave_size; }

    /// Waits for the block's threads. All that have not returned from the kernel must come to the same call,
    /// or the program aborts and names both places; threads that have returned, single lanes or whole waves,
    /// are not waited for. What a thread wrote before is seen by all after.
    KVLOOM_FN void barrier(site at = site::here()) const { detail::meet_block(*self, at); }

    /// The block's shared memory: the kernel's `struct shared`, every byte 0xa5 when the block begins.
    template <class S>
    KVLOOM_FN S& shared() const
    {
        static_assert(std::is_trivially_destructible_v<S>, "shared: nothing destroys the struct");
        detail::check_shared(*self, sizeof(S));
        return *static_cast<S*>(self->home->shared.data());
    }
};

#if KVLOOM_CUDA
#pragma nv_diagnostic pop
#endif

} // namespace host
} // namespace v0
} // namespace kvloom
