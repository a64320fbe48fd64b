// SPDX-License-Identifier: MIT
// Segments go from the one wave of a block that walks through them to the waves that work on them.
#pragma once

#include "kvloom/kernel/decode_work.hpp"
#include "kvloom/op/ring_pages.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Shared memory of a queue from one wave to `Readers` others.
template <int Slots, int Readers>
struct segment_queue
{
    static constexpr int slots = Slots;

    decode_segment segment[Slots]; ///< one without nodes is the end
    u64 full[Slots];
    u64 empty[Slots]; ///< all readers are through with it

    /// Makes the barriers ready. Threads from 0 to `Slots` - 1 call, and all of the block meet before the first use.
    template <class Copies>
    KVLOOM_FN void prepare(int thread)
    {
        Copies::prepare(&full[thread], 1);
        Copies::prepare(&empty[thread], Readers);
    }
};

/// The wave that walks. Every lane calls.
template <class Wave, class Queue>
class segment_writer
{
    using copies = typename Wave::copies;

public:
    KVLOOM_FN segment_writer(Wave on, Queue& to) : wave(on), queue(to) {}

    KVLOOM_FN void put(decode_segment const& segment)
    {
        copies::wait(wave, &queue.empty[place.stage], place.parity ^ 1);
        if (wave.lane() == 0) {
            queue.segment[place.stage] = segment;
            copies::arrive(&queue.full[place.stage]);
        }
        place.advance();
    }

    /// Behind the last segment.
    KVLOOM_FN void end() { put({}); }

private:
    Wave wave;
    Queue& queue;
    ring_place<Queue::slots> place;
};

/// A wave that works on segments. Every lane calls.
template <class Wave, class Queue>
class segment_reader
{
    using copies = typename Wave::copies;

public:
    KVLOOM_FN segment_reader(Wave on, Queue& from) : wave(on), queue(from) {}

    /// Waits for the next segment; whether there is one.
    KVLOOM_FN bool wait() const
    {
        copies::wait(wave, &queue.full[place.stage], place.parity);
        return segment().last > segment().first;
    }

    /// It stays in shared memory until it is released: a wave has no registers for what it seldom looks at.
    KVLOOM_FN decode_segment const& segment() const { return queue.segment[place.stage]; }

    KVLOOM_FN void release()
    {
        wave.meet();
        if (wave.lane() == 0) {
            copies::arrive(&queue.empty[place.stage]);
        }
        place.advance();
    }

private:
    Wave wave;
    Queue& queue;
    ring_place<Queue::slots> place;
};

} // namespace detail
} // namespace v0
} // namespace kvloom
