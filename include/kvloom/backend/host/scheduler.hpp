// SPDX-License-Identifier: MIT
// How the threads of one block take turns on one CPU thread: wave operations and barriers.
#pragma once

#include "kvloom/backend/host/fault.hpp"
#include "kvloom/backend/host/fiber.hpp"
#include "kvloom/backend/host/state.hpp"
#include "kvloom/core/types.hpp"

#include <cstddef>

namespace kvloom {
inline namespace v0 {
namespace host {
namespace detail {

inline int lowest_lane(u64 lanes)
{
    return __builtin_ctzll(lanes);
}

inline u64 lane_bit(int lane)
{
    return u64(1) << lane;
}

inline u64 first_lanes(int count)
{
    return count == most_lanes ? ~u64(0) : lane_bit(count) - 1;
}

/// The thread of lane `lane` in the same wave.
inline gpu_thread& neighbour(gpu_thread& self, int lane)
{
    return (&self)[lane - self.lane];
}

/// Lanes at a wave operation.
inline u64 waiting_lanes(wave_state const& wave)
{
    return wave.alive & ~wave.ready & ~wave.at_barrier;
}

/// Some lane of the wave that may run, the next after this one if there is one.
inline gpu_thread& next_in_wave(gpu_thread& self, u64 ready)
{
    u64 const later = ready & (~u64(1) << self.lane);
    return neighbour(self, lowest_lane(later != 0 ? later : ready));
}

/// The first lane that may run of the next wave that has one, in a circle; of this wave if no other has.
inline gpu_thread& next_behind_wave(worker const& w, gpu_thread const& self)
{
    wave_state const* wave = self.wave;
    do {
        ++wave;
        if (wave == w.waves.get() + w.block_waves) {
            wave = w.waves.get();
        }
    } while (wave->ready == 0);
    return w.threads[std::size_t(wave->first + lowest_lane(wave->ready))];
}

/// Some thread of the block that may run, of the same wave if there is one.
inline gpu_thread& next_in_block(worker const& w, gpu_thread& self)
{
    return self.wave->ready != 0 ? next_in_wave(self, self.wave->ready) : next_behind_wave(w, self);
}

/// The next thread of the block that may run, in a circle; this one if it is the only one.
inline gpu_thread& next_in_turn(gpu_thread& self)
{
    hidden_from_thread_sanitizer const hidden;
    u64 const later = self.wave->ready & (~u64(1) << self.lane);
    return later != 0 ? neighbour(self, lowest_lane(later)) : next_behind_wave(*self.home, self);
}

/// Every lane of the wave that has not returned has arrived.
inline void complete_operation(wave_state& wave)
{
    wave.present[wave.turn] = wave.alive;
    wave.ready              = wave.alive;
    wave.turn ^= 1;
}

/// Every thread of the block that has not returned has arrived.
inline void open_barrier(worker& w)
{
    for (int i = 0; i < w.block_waves; ++i) {
        w.waves[std::size_t(i)].ready      = w.waves[std::size_t(i)].at_barrier;
        w.waves[std::size_t(i)].at_barrier = 0;
    }
    w.arrived = 0;
    w.turn ^= 1;
}

/// Hands in a value at a wave operation. Gives the thread to switch to, since other lanes of the wave have
/// not come yet, or null.
inline gpu_thread* arrive_at_operation(gpu_thread& self, u64 value, meeting here)
{
    hidden_from_thread_sanitizer const hidden;
    wave_state& wave = *self.wave;
    int const turn   = wave.turn;

    self.last = here;
    self.turn = turn;
    if (wave.at_barrier != 0) {
        fail_apart(neighbour(self, lowest_lane(wave.at_barrier)), self);
    }
    if (wave.ready == wave.alive) {
        wave.opener = &self;
        wave.here   = here;
    } else if (!is_same_meeting(wave.here, here)) {
        fail_apart(*wave.opener, self);
    }
    wave.value[turn][self.lane] = value;
    wave.ready &= ~lane_bit(self.lane);

    publish(&wave.order[turn]);
    if (wave.ready == 0) {
        complete_operation(wave);
        return nullptr;
    }
    return &next_in_wave(self, wave.ready);
}

/// The same for a barrier.
inline gpu_thread* arrive_at_barrier(gpu_thread& self, site at)
{
    hidden_from_thread_sanitizer const hidden;
    worker& w        = *self.home;
    wave_state& wave = *self.wave;

    self.last = {at, operation::barrier};
    self.turn = w.turn;
    if (waiting_lanes(wave) != 0) {
        fail_apart(*wave.opener, self);
    }
    if (w.arrived == 0) {
        w.opener = &self;
    } else if (!is_same_meeting(w.opener->last, self.last)) {
        fail_apart(*w.opener, self);
    }
    wave.at_barrier |= lane_bit(self.lane);
    wave.ready &= ~lane_bit(self.lane);
    ++w.arrived;

    publish(&w.order[self.turn]);
    if (w.arrived == w.alive) {
        open_barrier(w);
        return nullptr;
    }
    return &next_in_block(w, self);
}

/// What lane `source` handed in at the operation where this thread is.
inline u64 value_of(gpu_thread const& self, int source)
{
    if (source < 0 || source >= most_lanes || (self.wave->present[self.turn] >> source & 1) == 0) {
        fail_absent(self, source);
    }
    return self.wave->value[self.turn][source];
}

/// Lets every other thread of the block that may run have its turn before this one goes on.
__attribute__((always_inline)) inline void give_way(gpu_thread& self)
{
    gpu_thread& next = next_in_turn(self);
    if (&next != &self) {
        switch_fiber(self, next);
    }
}

/// Waits at a wave operation for the other lanes of the wave that have not returned.
///
/// The lane that comes last goes on without a switch. Calls before and after the switch return normally;
/// between them everything is inlined (see `switch_fiber`).
__attribute__((always_inline)) inline void meet_wave(gpu_thread& self, u64 value, meeting here)
{
    if (gpu_thread* const next = arrive_at_operation(self, value, here)) {
        switch_fiber(self, *next);
    }
}

/// Waits at a barrier for the other threads of the block that have not returned.
__attribute__((always_inline)) inline void meet_block(gpu_thread& self, site at)
{
    if (gpu_thread* const next = arrive_at_barrier(self, at)) {
        switch_fiber(self, *next);
    }
    observe(&self.home->order[self.turn]);
}

/// The kernel has returned in this thread. Gives who runs next: it may be the last that the others waited
/// for.
inline fiber& leave_block(gpu_thread& self)
{
    hidden_from_thread_sanitizer const hidden;
    worker& w        = *self.home;
    wave_state& wave = *self.wave;

    if (w.stacks.has_overflowed(self.index)) {
        fail_stack(self);
    }
    wave.alive &= ~lane_bit(self.lane);
    wave.ready &= ~lane_bit(self.lane);
    --w.alive;
    publish(&w.end_order);
    if (wave.ready == 0 && waiting_lanes(wave) != 0) {
        complete_operation(wave);
    }
    if (w.alive == 0) {
        return w.home;
    }
    if (w.arrived == w.alive) {
        open_barrier(w);
    }
    return next_in_block(w, self);
}

/// The life of a fiber: a thread of one block after another.
inline void live(fiber& f)
{
    gpu_thread& self = static_cast<gpu_thread&>(f);
    for (;;) {
        observe(&self.home->start_order);
        if (self.home->closing) {
            break;
        }
        self.last = {};
        self.home->run(self);
        switch_fiber(self, leave_block(self));
    }
    fiber& home = self.home->home;
    publish(&self.home->end_order);
    switch_fiber<true>(self, home); // for good
}

inline worker::worker(int lanes, int most_threads)
    : wave_size(lanes), capacity(most_threads), stacks(capacity),
      threads(new gpu_thread[std::size_t(capacity)]),
      waves(new wave_state[std::size_t((capacity + wave_size - 1) / wave_size)])
{
    for (int i = 0; i < capacity; ++i) {
        gpu_thread& thread = threads[std::size_t(i)];
        thread.home        = this;
        thread.wave        = &waves[std::size_t(i / wave_size)];
        thread.wave->first = i / wave_size * wave_size;
        thread.lane        = i % wave_size;
        thread.index       = i;
        start_fiber(thread, stacks, i, &live);
    }
}

inline worker::~worker()
{
    closing = true;
    adopt_thread(home);
    publish(&start_order);
    for (int i = 0; i < capacity; ++i) {
        switch_fiber(home, threads[std::size_t(i)]);
    }
    observe(&end_order);
}

/// Runs block number `block` of the worker's launch to its end.
inline void run_block(worker& w, int block)
{
    {
        hidden_from_thread_sanitizer const hidden;
        w.block   = block;
        w.alive   = w.block_threads;
        w.arrived = 0;
        w.shared.spoil();
        for (int i = 0; i < w.block_waves; ++i) {
            wave_state& wave = w.waves[std::size_t(i)];
            int const rest   = w.block_threads - wave.first;
            wave.alive       = first_lanes(rest < w.wave_size ? rest : w.wave_size);
            wave.ready       = wave.alive;
            wave.at_barrier  = 0;
        }
        publish(&w.start_order);
    }
    switch_fiber(w.home, w.threads[0]);
    observe(&w.end_order);
}

} // namespace detail
} // namespace host
} // namespace v0
} // namespace kvloom
