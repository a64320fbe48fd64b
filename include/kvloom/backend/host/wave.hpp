// SPDX-License-Identifier: MIT
// The host backend's waves and their blocks.
#pragma once

#include "kvloom/backend/host/bulk_copies.hpp"
#include "kvloom/backend/host/machine.hpp"
#include "kvloom/backend/host/scheduler.hpp"
#include "kvloom/core/config.hpp"
#include "kvloom/core/types.hpp"
#include "kvloom/group/arch.hpp"

#include <cstdint>
#include <type_traits>

namespace kvloom {
inline namespace v0 {
namespace host {

/// What an operation gives where hardware gives no particular value: a quiet NaN.
inline constexpr u32 poison = 0x7ffadbad;

namespace detail {

template <class T>
u64 to_word(T x)
{
    static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                  "wave: what lanes exchange must be trivially copyable, of 4 or 8 bytes");
    u64 word = 0;
    __builtin_memcpy(&word, &x, sizeof(T));
    return word;
}

template <class T>
T from_word(u64 word)
{
    T x;
    __builtin_memcpy(&x, &word, sizeof(T));
    return x;
}

/// The source of a lane that gets poison.
inline constexpr int no_source = -0x7fffffff;

/// What lane `source` handed in.
inline u64 collect(gpu_thread& self, int source)
{
    hidden_from_thread_sanitizer const hidden;
    observe(&self.wave->order[self.turn]);
    return source == no_source ? u64(poison) << 32 | poison : value_of(self, source);
}

inline u64 collect_votes(gpu_thread& self)
{
    hidden_from_thread_sanitizer const hidden;
    observe(&self.wave->order[self.turn]);
    u64 votes = 0;
    for (u64 lanes = self.wave->present[self.turn]; lanes != 0; lanes &= lanes - 1) {
        int const lane = lowest_lane(lanes);
        votes |= self.wave->value[self.turn][lane] << lane;
    }
    return votes;
}

/// Of the 8x8 matrix handed in: column lane / 4 in the rows 2 * (lane % 4) and the next.
inline u32 collect_transposed(gpu_thread& self)
{
    hidden_from_thread_sanitizer const hidden;
    observe(&self.wave->order[self.turn]);
    int const source = 8 * (self.lane % 4) + self.lane / 8;
    int const half   = self.lane / 4 % 2 * 16;
    u32 const low    = u32(value_of(self, source)) >> half & 0xffff;
    u32 const high   = u32(value_of(self, source + 4)) >> half & 0xffff;
    return low | high << 16;
}

template <class T>
__attribute__((always_inline)) inline T trade(gpu_thread& self, T value, int source, meeting here)
{
    meet_wave(self, to_word(value), here);
    return from_word<T>(collect(self, source));
}

__attribute__((always_inline)) inline u64 vote(gpu_thread& self, bool predicate, meeting here)
{
    meet_wave(self, predicate ? 1 : 0, here);
    return collect_votes(self);
}

__attribute__((always_inline)) inline u32 transpose(gpu_thread& self, u32 pair, meeting here)
{
    meet_wave(self, pair, here);
    return collect_transposed(self);
}

/// Lane 0 works while the others wait.
template <class T>
__attribute__((always_inline)) inline void work_together(gpu_thread& self, T* mine, void (*work)(T* const*),
                                                         meeting here, int lanes)
{
    meet_wave(self, to_word(mine), here);
    if (self.lane == 0) {
        T* all[most_lanes] = {};
        for (int i = 0; i < lanes; ++i) {
            all[i] = from_word<T*>(collect(self, i));
        }
        work(all);
    }
    meet_wave(self, 0, here);
    (void)collect(self, self.lane);
}

template <class V>
void check_access(char const* what, void const* address)
{
    constexpr std::size_t bytes = sizeof(V);
    static_assert(std::is_trivially_copyable_v<V>, "access: the value must be trivially copyable");
    static_assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16,
                  "access: the value must have 1, 2, 4, 8 or 16 bytes");
    if (address == nullptr || reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
        fail_access(what, address, bytes);
    }
}

template <class V>
V read_once(char const* what, void const* from)
{
    check_access<V>(what, from);
    V value;
    __builtin_memcpy(&value, from, sizeof(V));
    return value;
}

template <class V>
void write_once(void* to, V const& value)
{
    check_access<V>("store", to);
    __builtin_memcpy(to, &value, sizeof(V));
}

template <class T>
T read_hint(T const* from)
{
    static_assert(std::is_signed_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                  "load_hint: a 32 or 64-bit signed integer");
    check_access<T>("load_hint", from);
    return __atomic_load_n(from, __ATOMIC_RELAXED);
}

inline void count_one(u32* counter)
{
    check_access<u32>("increment", counter);
    __atomic_fetch_add(counter, 1U, __ATOMIC_RELAXED);
}

inline u32 count_arrival(u32* counter, u32 of)
{
    check_access<u32>("arrive", counter);
    u32 const before = __atomic_fetch_add(counter, 1U, __ATOMIC_ACQ_REL);
    if (before + 1 == of) {
        __atomic_store_n(counter, 0U, __ATOMIC_RELAXED);
    }
    return before;
}

} // namespace detail

// Kernels that run on a device as well call these members from functions for host and device.
#if KVLOOM_CUDA
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20011, 20014
#endif

/// One wave (warp) of a block, as each of its lanes sees it.
///
/// The operations that take a `site` are collectives. All lanes of the wave that have not returned from the
/// kernel must come to the same call; a lane that is seen at another one (or at a barrier) aborts the
/// program, and the message names both places. A returned lane is waited for no longer; who reads its value
/// aborts. So does who reads a lane that the block does not have. Each costs about 15 ns per lane.
template <class Machine>
struct wave
{
    static constexpr int size       = Machine::wave_size;
    static constexpr bool quad_rows = Machine::quad_rows;
    static constexpr arch_id arch   = Machine::arch;

    static constexpr bool has_transpose = !Machine::quad_rows;
    static constexpr bool is_model      = true;

    static constexpr bool flushes_products = Machine::flushes;

    using copies = bulk_copies;

    detail::gpu_thread* self;

    /// The caller's number in the wave.
    KVLOOM_FN int lane() const { return self->lane; }

    /// The value of lane `lane() ^ Mask`. T has 4 bytes.
    template <int Mask, class T>
    KVLOOM_FN T exchange(T x, site at = site::here()) const
    {
        static_assert(sizeof(T) == 4, "exchange: the value must have 4 bytes");
        static_assert(Mask > 0 && Mask < size, "exchange: the mask must name another lane of the wave");
        return detail::trade(*self, x, self->lane ^ Mask, {at, detail::operation::exchange, Mask});
    }

    /// The value of lane `lane() + Distance` where that lies in the caller's row of 16 lanes, otherwise
    /// poison. T has 4 bytes.
    template <int Distance, class T>
    KVLOOM_FN T shift(T x, site at = site::here()) const
    {
        static_assert(sizeof(T) == 4, "shift: the value must have 4 bytes");
        static_assert(Distance >= -15 && Distance <= 15,
                      "shift: the distance must stay within a row of 16 lanes");
        int const source  = self->lane + Distance;
        bool const inside = source >= 0 && source / 16 == self->lane / 16;
        return detail::trade(*self, x, inside ? source : detail::no_source,
                             {at, detail::operation::shift, Distance});
    }

    /// The value of the lane `Distance` before the caller, going round in its row of 16 lanes. T has 4 bytes.
    template <int Distance, class T>
    KVLOOM_FN T rotate(T x, site at = site::here()) const
    {
        static_assert(sizeof(T) == 4, "rotate: the value must have 4 bytes");
        static_assert(Distance >= 1 && Distance <= 15, "rotate: the distance must be 1 to 15");
        int const source = (self->lane & ~15) + ((self->lane - Distance) & 15);
        return detail::trade(*self, x, source, {at, detail::operation::rotate, Distance});
    }

    /// The value of lane `Lane` of the caller's row of 16 lanes. T has 4 bytes.
    template <int Lane, class T>
    KVLOOM_FN T broadcast_row(T x, site at = site::here()) const
    {
        static_assert(sizeof(T) == 4, "broadcast_row: the value must have 4 bytes");
        static_assert(Lane >= 0 && Lane < 16, "broadcast_row: no such lane in a row of 16");
        return detail::trade(*self, x, (self->lane & ~15) + Lane,
                             {at, detail::operation::broadcast_row, Lane});
    }

    /// The value of lane `source` (0 to size - 1, each lane its own). T has 4 or 8 bytes.
    template <class T>
    KVLOOM_FN T shuffle(T x, int source, site at = site::here()) const
    {
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffle: the value must have 4 or 8 bytes");
        return detail::trade(*self, x, source, {at, detail::operation::shuffle});
    }

    /// The value of lane `source`, the same for all lanes: where they differ in it, they meet at different
    /// collectives. T has 4 or 8 bytes.
    template <class T>
    KVLOOM_FN T from_lane(T x, int source, site at = site::here()) const
    {
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, "from_lane: the value must have 4 or 8 bytes");
        return detail::trade(*self, x, source, {at, detail::operation::from_lane, source});
    }

    /// The value of the lane before; poison in lane 0. T has 4 or 8 bytes.
    template <class T>
    KVLOOM_FN T previous(T x, site at = site::here()) const
    {
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, "previous: the value must have 4 or 8 bytes");
        int const source = self->lane == 0 ? detail::no_source : self->lane - 1;
        return detail::trade(*self, x, source, {at, detail::operation::previous});
    }

    /// Bit l: the predicate of lane l; 0 for lanes that have returned or that the block does not have.
    KVLOOM_FN u64 ballot(bool predicate, site at = site::here()) const
    {
        return detail::vote(*self, predicate, {at, detail::operation::ballot});
    }

    /// Waits for all lanes; what one has written before is seen by all after.
    KVLOOM_FN void meet(site at = site::here()) const
    {
        detail::vote(*self, true, {at, detail::operation::meet});
    }

    /// Transposes an 8x8 matrix of 16-bit units: lane l passes row l / 4, columns 2 * (l % 4) (in the low
    /// half) and the next, and gets the same elements of the transpose. Warps of 32 lanes only.
    KVLOOM_FN u32 transpose8(u32 pair, site at = site::here()) const
    {
        static_assert(size == 32, "transpose8: only warps of 32 lanes have it");
        return detail::transpose(*self, pair, {at, detail::operation::transpose8});
    }

    /// Calls `work` once for all lanes of the wave, with what each lane hands in: the model of an instruction that
    /// works on the registers of a whole wave. Every lane of the wave must take part.
    template <class T>
    KVLOOM_FN void together(T* mine, void (*work)(T* const*), site at = site::here()) const
    {
        detail::work_together(*self, mine, work, {at, detail::operation::together}, size);
    }

    /// Hints for compilers of GPU code.
    KVLOOM_FN void forget(u32&) const {}
    KVLOOM_FN void hold(u32&) const {}
    KVLOOM_FN float worked_out(float x) const { return x; }
    KVLOOM_FN void keep_order() const {}

    /// x, which is the same in every lane of the wave.
    template <class T>
    KVLOOM_FN T uniform(T x) const
    {
        return x;
    }

    /// One access of V's 1, 2, 4, 8 or 16 bytes, aligned to as many.
    template <class V>
    KVLOOM_FN static V load(void const* from)
    {
        return detail::read_once<V>("load", from);
    }

    /// The same from memory that nothing writes while the kernel runs.
    template <class V>
    KVLOOM_FN static V load_constant(void const* from)
    {
        return detail::read_once<V>("load_constant", from);
    }

    /// The same for all lanes from one address: a scalar register on AMD.
    template <class V>
    KVLOOM_FN static V load_uniform(void const* from)
    {
        return detail::read_once<V>("load_uniform", from);
    }

    /// The same ahead of dependency().
    template <class V>
    KVLOOM_FN static V load_early(void const* from)
    {
        return detail::read_once<V>("load_early", from);
    }

    /// One access of V's 1, 2, 4, 8 or 16 bytes, aligned to as many.
    template <class V>
    KVLOOM_FN static void store(void* to, V const& value)
    {
        detail::write_once(to, value);
    }

    /// A value that may be stale: a hint where to look first.
    template <class T>
    KVLOOM_FN static T load_hint(T const* from)
    {
        return detail::read_hint(from);
    }

    /// Adds one, atomically.
    KVLOOM_FN static void increment(u32* counter) { detail::count_one(counter); }

    /// Counts an arrival and gives how many came before; the last of `of` sets the count back to zero. What a block wrote
    /// before a barrier and this call is seen by whom the count shows to be last.
    KVLOOM_FN static u32 arrive(u32* counter, u32 of) { return detail::count_arrival(counter, of); }

    /// A kernel's arguments are at hand.
    template <class Args>
    KVLOOM_FN static void touch_arguments(Args const&)
    {}

    /// Waits for the previous kernel of the stream, which here has always ended.
    KVLOOM_FN void dependency() const {}

    /// Lets the next kernel of the stream begin up to its `dependency`, which here it does when this one has
    /// ended.
    KVLOOM_FN void release_dependents() const {}
};

#if KVLOOM_CUDA
#pragma nv_diagnostic pop
#endif

} // namespace host
} // namespace v0
} // namespace kvloom
