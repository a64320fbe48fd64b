// SPDX-License-Identifier: MIT
// What the host backend keeps of a running block: its threads, its waves, its shared memory.
#pragma once

#include "kvloom/backend/host/fiber.hpp"
#include "kvloom/core/config.hpp"
#include "kvloom/core/types.hpp"

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace kvloom {
inline namespace v0 {
namespace host {
namespace detail {

enum class operation : short {
    none,
    exchange,
    shift,
    rotate,
    broadcast_row,
    shuffle,
    from_lane,
    previous,
    ballot,
    transpose8,
    together,
    meet,
    barrier
};

/// A collective: the place of the call, what is called, and its template argument. Small enough for two
/// registers.
struct meeting
{
    char const* file = "";
    int line         = 0;
    operation what   = operation::none;
    short parameter  = 0;

    constexpr meeting() = default;
    KVLOOM_FN constexpr meeting(site at, operation o, int argument = 0)
        : file(at.file), line(at.line), what(o), parameter(short(argument))
    {}
};

inline bool is_same_meeting(meeting a, meeting b)
{
    return a.line == b.line && a.what == b.what && a.parameter == b.parameter
           && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

struct worker;
struct wave_state;

/// One thread of the modelled GPU.
struct gpu_thread : fiber
{
    worker* home     = nullptr;
    wave_state* wave = nullptr;
    int lane         = 0; // in the wave
    int turn         = 0; // of the wave or block when the thread arrived at its collective
    int index        = 0; // in the block
    meeting last;         // the collective where it is or last was
};

inline constexpr int most_lanes = 64;

/// The lanes of one wave as bit masks, and what they hand each other.
///
/// Operations alternate between two sets of slots (`turn`): a lane can be one operation ahead of another,
/// never two.
struct wave_state
{
    u64 alive          = 0; // lanes that have not returned
    u64 ready          = 0; // lanes that may run
    u64 at_barrier     = 0; // the rest is at a wave operation
    int turn           = 0;
    int first          = 0;        // the index of lane 0 in the block
    gpu_thread* opener = nullptr;  // the first lane at the present operation
    meeting here;                  // which is this
    u64 present[2]           = {}; // lanes that took part
    u64 order[2]             = {}; // for ThreadSanitizer
    u64 value[2][most_lanes] = {};
};

/// Bytes of an object of exactly the size that a kernel declares: an overrun is AddressSanitizer's to see.
class shared_memory
{
public:
    shared_memory() = default;
    ~shared_memory() { reset(); }
    shared_memory(shared_memory const&)            = delete;
    shared_memory& operator=(shared_memory const&) = delete;

    /// Throws std::bad_alloc.
    void allocate(std::size_t bytes, std::size_t alignment)
    {
        reset();
        data_      = ::operator new(bytes, std::align_val_t(alignment));
        bytes_     = bytes;
        alignment_ = alignment;
    }
    void reset()
    {
        if (data_ != nullptr) {
            ::operator delete(data_, std::align_val_t(alignment_));
            data_ = nullptr;
        }
    }
    /// What a kernel reads before it has written shows.
    void spoil() { std::memset(data_, 0xa5, bytes_); }

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

private:
    void* data_            = nullptr;
    std::size_t bytes_     = 0;
    std::size_t alignment_ = 1;
};

/// Runs blocks, one at a time, on the CPU thread that calls `run_block`; keeps its fibers from block to block
/// and from launch to launch.
struct worker
{
    int const wave_size;
    int const capacity; // threads of the largest block
    fiber home;         // the CPU thread's own flow of control
    stack_set const stacks;
    std::unique_ptr<gpu_thread[]> const threads;
    std::unique_ptr<wave_state[]> const waves;
    shared_memory shared;
    bool closing = false;

    // The launch.
    void (*run)(gpu_thread&) noexcept = nullptr;
    void const* launch                = nullptr;
    int block_threads                 = 0;
    int block_waves                   = 0;
    int blocks                        = 0;

    // The block.
    int block          = 0;
    int alive          = 0; // threads that have not returned
    int arrived        = 0; // of these, at the barrier
    int turn           = 0;
    gpu_thread* opener = nullptr; // the first thread at the present barrier

    // For ThreadSanitizer.
    u64 order[2]    = {};
    u64 start_order = 0;
    u64 end_order   = 0;

    worker(int lanes, int most_threads);
    ~worker();
    worker(worker const&)            = delete;
    worker& operator=(worker const&) = delete;
};

/// The worker of this CPU thread while it runs a launch; only messages need it.
inline thread_local worker const* active_worker = nullptr;

} // namespace detail
} // namespace host
} // namespace v0
} // namespace kvloom
