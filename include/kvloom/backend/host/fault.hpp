// SPDX-License-Identifier: MIT
// What the host backend says before it aborts a kernel that breaks a rule.
#pragma once

#include "kvloom/backend/host/state.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace kvloom {
inline namespace v0 {
namespace host {
namespace detail {

inline char const* name_of(operation what)
{
    switch (what) {
    case operation::none:
        return "nothing";
    case operation::exchange:
        return "exchange";
    case operation::shift:
        return "shift";
    case operation::rotate:
        return "rotate";
    case operation::broadcast_row:
        return "broadcast_row";
    case operation::shuffle:
        return "shuffle";
    case operation::from_lane:
        return "from_lane";
    case operation::previous:
        return "previous";
    case operation::ballot:
        return "ballot";
    case operation::transpose8:
        return "transpose8";
    case operation::together:
        return "together";
    case operation::meet:
        return "meet";
    case operation::barrier:
        return "barrier";
    }
    return "unknown";
}

inline bool has_parameter(operation what)
{
    return what == operation::exchange || what == operation::shift || what == operation::rotate
           || what == operation::broadcast_row || what == operation::from_lane;
}

inline void print_meeting(meeting m)
{
    std::fprintf(stderr, "%s:%d %s", m.file, m.line, name_of(m.what));
    if (has_parameter(m.what)) {
        std::fprintf(stderr, "<%d>", m.parameter);
    }
}

inline void print_thread(gpu_thread const& thread)
{
    std::fprintf(stderr, " (block %d, thread %d, lane %d)", thread.home->block, thread.index, thread.lane);
}

[[noreturn]] inline void end_message()
{
    std::fprintf(stderr, "\n");
    std::fflush(stderr);
    std::abort();
}

/// Two threads that must meet are at different collectives.
[[noreturn]] inline void fail_apart(gpu_thread const& a, gpu_thread const& b)
{
    bool const barriers = a.last.what == operation::barrier && b.last.what == operation::barrier;
    std::fprintf(stderr, "kvloom: host: %s: ",
                 barriers && a.wave != b.wave ? "threads of one block meet at different barriers"
                                              : "lanes of one wave meet at different collectives");
    print_meeting(a.last);
    print_thread(a);
    std::fprintf(stderr, " and ");
    print_meeting(b.last);
    print_thread(b);
    end_message();
}

/// A lane reads what a lane should have handed in that was not there.
[[noreturn]] inline void fail_absent(gpu_thread const& reader, int source)
{
    worker const& w = *reader.home;
    std::fprintf(stderr, "kvloom: host: ");
    print_meeting(reader.last);
    print_thread(reader);
    std::fprintf(stderr, " reads lane %d", source);
    if (source < 0 || source >= w.wave_size) {
        std::fprintf(stderr, " of a wave of %d lanes", w.wave_size);
    } else if (reader.wave->first + source >= w.block_threads) {
        std::fprintf(stderr, ", which a block of %d threads does not have", w.block_threads);
    } else {
        gpu_thread const& gone = w.threads[std::size_t(reader.wave->first + source)];
        std::fprintf(stderr, ", which has returned from the kernel ");
        if (gone.last.what == operation::none) {
            std::fprintf(stderr, "without reaching any collective");
        } else {
            std::fprintf(stderr, "after ");
            print_meeting(gone.last);
        }
        print_thread(gone);
    }
    end_message();
}

/// An access that hardware would punish.
[[noreturn]] inline void fail_access(char const* what, void const* address, std::size_t bytes)
{
    std::fprintf(stderr, "kvloom: host: %s of %zu bytes at %p, which is %s", what, bytes, address,
                 address == nullptr ? "null" : "not a multiple of its width");
    int const thread =
        active_worker == nullptr ? -1 : active_worker->stacks.owner(__builtin_frame_address(0));
    if (thread >= 0) {
        print_thread(active_worker->threads[std::size_t(thread)]);
    }
    end_message();
}

/// A thread's calls and local variables took more than its stack holds.
[[noreturn]] inline void fail_stack(gpu_thread const& thread)
{
    std::fprintf(stderr, "kvloom: host: the kernel has overflowed a stack of %zu bytes", stack_set::bytes);
    print_thread(thread);
    end_message();
}

/// A thread waits for a barrier of bulk copies that nobody completes.
[[noreturn]] inline void fail_waiting(gpu_thread const& thread, site at)
{
    std::fprintf(stderr, "kvloom: host: nobody completes the barrier of bulk copies awaited at %s:%d",
                 at.file, at.line);
    print_thread(thread);
    end_message();
}

/// A kernel asks for another struct than it declared.
[[noreturn]] inline void fail_shared(gpu_thread const& thread, std::size_t bytes)
{
    std::fprintf(stderr, "kvloom: host: shared() asks for %zu bytes, the kernel's struct shared has %zu",
                 bytes, thread.home->shared.bytes());
    print_thread(thread);
    end_message();
}

} // namespace detail
} // namespace host
} // namespace v0
} // namespace kvloom
