// SPDX-License-Identifier: MIT
// The model of bulk copies to shared memory and of the barriers that count their bytes. A copy is done when it is asked
// for; who reads before the barrier says so is ThreadSanitizer's to see.
#pragma once

#include "kvloom/backend/host/scheduler.hpp"
#include "kvloom/core/types.hpp"
#include "kvloom/core/vec.hpp"

#include <cstdint>
#include <cstring>

namespace kvloom {
inline namespace v0 {
namespace host {
namespace detail {

/// The eight bytes of a barrier.
struct copy_barrier
{
    u32 arrivals : 12; ///< of a phase
    u32 pending : 12;  ///< of these, yet to come
    u32 phase : 1;
    std::int32_t bytes; ///< announced, yet to come
};

inline copy_barrier load_barrier(u64 const* barrier)
{
    copy_barrier state;
    std::memcpy(&state, barrier, sizeof(state));
    return state;
}

inline void prepare_barrier(u64* barrier, int arrivals)
{
    hidden_from_thread_sanitizer const hidden;
    copy_barrier state{};
    state.arrivals = state.pending = u32(arrivals);
    std::memcpy(barrier, &state, sizeof(state));
}

/// `arrivals` come, and bytes that are announced (positive) or have been copied (negative). With the last of both the
/// phase ends.
inline void change_barrier(u64* barrier, int arrivals, int bytes)
{
    hidden_from_thread_sanitizer const hidden;
    copy_barrier state = load_barrier(barrier);
    state.pending -= u32(arrivals);
    state.bytes += bytes;
    if (state.pending == 0 && state.bytes == 0) {
        state.pending = state.arrivals;
        state.phase ^= 1U;
    }
    publish(barrier);
    std::memcpy(barrier, &state, sizeof(state));
}

inline bool is_in_phase(u64 const* barrier, u32 parity)
{
    hidden_from_thread_sanitizer const hidden;
    return load_barrier(barrier).phase == parity;
}

/// What hardware would punish.
inline void check_bulk(void const* to, void const* from, int bytes)
{
    for (void const* const address : {to, from}) {
        if (address == nullptr || reinterpret_cast<std::uintptr_t>(address) % 16 != 0 || bytes % 16 != 0) {
            fail_access("bulk copy", address, 16);
        }
    }
}

} // namespace detail

// Kernels that run on a device as well call these members from functions for host and device.
#if KVLOOM_CUDA
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20011, 20014
#endif

/// As cuda::bulk_copies.
struct bulk_copies
{
    KVLOOM_FN static void prepare(u64* barrier, int arrivals) { detail::prepare_barrier(barrier, arrivals); }
    KVLOOM_FN static void publish() {}
    KVLOOM_FN static void order() {}

    KVLOOM_FN static void expect(u64* barrier, int bytes) { detail::change_barrier(barrier, 1, bytes); }
    KVLOOM_FN static void arrive(u64* barrier) { detail::change_barrier(barrier, 1, 0); }

    /// Aborts with the place where nobody else can complete the phase.
    template <class Wave>
    KVLOOM_FN static void wait(Wave wave, u64* barrier, u32 parity, site at = site::here())
    {
        constexpr int patience =
            1 << 18; // turns of the block's threads; those that wait longest have some thousand
        for (int turn = 0; detail::is_in_phase(barrier, parity); ++turn) {
            if (turn == patience) {
                detail::fail_waiting(*wave.self, at);
            }
            detail::give_way(*wave.self);
        }
        detail::observe(barrier);
    }

    KVLOOM_FN static void copy(void* to, void const* from, int bytes, u64* barrier)
    {
        detail::check_bulk(to, from, bytes);
        std::memcpy(to, from, std::size_t(bytes));
        detail::change_barrier(barrier, 0, -bytes);
    }

    template <class Wave>
    KVLOOM_FN static vec<u32, 4> read_matrices(Wave wave, void const* row, site at = site::here())
    {
        vec<u32, 4> words;
        for (int m = 0; m < 4; ++m) {
            u64 const of = wave.shuffle(reinterpret_cast<u64>(row), m * 8 + wave.lane() / 4, at);
            words[m]     = wave.template load<u32>(reinterpret_cast<u32 const*>(of) + wave.lane() % 4);
        }
        return words;
    }
};

#if KVLOOM_CUDA
#pragma nv_diagnostic pop
#endif

} // namespace host
} // namespace v0
} // namespace kvloom
