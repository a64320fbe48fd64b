// SPDX-License-Identifier: MIT
// A wave of an AMD GPU: DPP lane primitives, memory accesses of a stated width.
#pragma once

#include <hip/hip_runtime.h>

#include "kvloom/core/types.hpp"
#include "kvloom/core/vec.hpp"
#include "kvloom/group/arch.hpp"

namespace kvloom {
inline namespace v0 {
namespace hip {

namespace detail {

/// The architecture of this compile pass; the host pass has none and takes a CDNA one, whose waves have the
/// same shape.
KVLOOM_FN constexpr arch_id current_arch()
{
#if defined(__gfx90a__)
    return arch_id::gfx90a;
#elif defined(__gfx950__)
    return arch_id::gfx950;
#elif defined(__GFX10__) || defined(__GFX11__)
    return arch_id::gfx11;
#elif defined(__GFX12__)
    return arch_id::gfx12;
#else
    return arch_id::gfx942;
#endif
}

KVLOOM_FN constexpr bool has_quad_rows(arch_id arch)
{
    return arch == arch_id::gfx90a || arch == arch_id::gfx942 || arch == arch_id::gfx950;
}

/// A move across lanes by a DPP control; every lane is active, and lanes beyond the row give 0.
template <int Control, class T>
KVLOOM_DEVICE T dpp(T x)
{
    static_assert(sizeof(T) == 4, "dpp: values of 4 bytes");
    return bit_cast<T>(__builtin_amdgcn_update_dpp(0, bit_cast<int>(x), Control, 0xf, 0xf, true));
}

inline constexpr int quad_perm(int a, int b, int c, int d)
{
    return a | b << 2 | c << 4 | d << 6;
}
inline constexpr int row_left    = 0x100; ///< + k: lane + k
inline constexpr int row_right   = 0x110; ///< + k: lane - k
inline constexpr int row_rotate  = 0x120; ///< + k: lane - k, around the row
inline constexpr int wave_right  = 0x138; ///< lane - 1, over the whole wave
inline constexpr int row_mirror  = 0x140; ///< 15 - lane
inline constexpr int half_mirror = 0x141; ///< 7 - lane in the half row
inline constexpr int row_take    = 0x150; ///< + k: lane k of the row

typedef u32 words4 __attribute__((ext_vector_type(4)));
typedef u32 words2 __attribute__((ext_vector_type(2)));

/// The register type of one access of V.
template <class V>
using access_t =
    conditional_t<is_same_v<V, vec<u32, 4>>, words4, conditional_t<is_same_v<V, vec<u32, 2>>, words2, V>>;

} // namespace detail

/// The calling thread's wave. All lanes take part in every collective.
struct wave
{
    static constexpr arch_id arch       = detail::current_arch();
    static constexpr bool quad_rows     = detail::has_quad_rows(arch);
    static constexpr bool has_transpose = false;
    static constexpr bool is_model      = false;
    static constexpr int size           = quad_rows ? 64 : 32;

    KVLOOM_DEVICE int lane() const { return int(threadIdx.x) & (size - 1); }

    template <int Mask, class T>
    KVLOOM_DEVICE T exchange(T x, site at) const
    {
        using namespace detail;
        if constexpr (Mask < 4) {
            return dpp<quad_perm(Mask, 1 ^ Mask, 2 ^ Mask, 3 ^ Mask)>(x);
        } else if constexpr (Mask == 7) {
            return dpp<half_mirror>(x);
        } else if constexpr (Mask == 15) {
            return dpp<row_mirror>(x);
        } else if constexpr (Mask == 8) {
            return dpp<row_rotate + 8>(x);
        } else if constexpr (Mask < 8) { // lane ^ 4 is the half mirror with its quads turned back
            return dpp<quad_perm(3 ^ (Mask & 3), 2 ^ (Mask & 3), 1 ^ (Mask & 3), Mask & 3)>(
                dpp<half_mirror>(x));
        } else if constexpr (Mask < 16) {
            return exchange<Mask & 7>(dpp<row_rotate + 8>(x), at);
        } else if constexpr (Mask < 32) {
            return bit_cast<T>(__builtin_amdgcn_ds_swizzle(bit_cast<int>(x), Mask << 10 | 0x1f));
        } else {
            return shuffle(x, lane() ^ Mask, at);
        }
    }

    template <int Distance, class T>
    KVLOOM_DEVICE T shift(T x, site) const
    {
        static_assert(Distance > -16 && Distance < 16 && Distance != 0, "shift: within a row of 16 lanes");
        if constexpr (Distance > 0) {
            return detail::dpp<detail::row_left + Distance>(x);
        } else {
            return detail::dpp<detail::row_right - Distance>(x);
        }
    }

    template <int Distance, class T>
    KVLOOM_DEVICE T rotate(T x, site) const
    {
        static_assert(Distance > 0 && Distance < 16, "rotate: within a row of 16 lanes");
        return detail::dpp<detail::row_rotate + Distance>(x);
    }

    template <int Lane, class T>
    KVLOOM_DEVICE T broadcast_row(T x, site) const
    {
        static_assert(Lane >= 0 && Lane < 16, "broadcast_row: within a row of 16 lanes");
        return detail::dpp<detail::row_take + Lane>(x);
    }

    template <class T>
    KVLOOM_DEVICE T shuffle(T x, int source, site at) const
    {
        if constexpr (sizeof(T) == 8) {
            auto words = bit_cast<vec<u32, 2>>(x);
            words[0]   = shuffle(words[0], source, at);
            words[1]   = shuffle(words[1], source, at);
            return bit_cast<T>(words);
        } else {
            return bit_cast<T>(__builtin_amdgcn_ds_bpermute(source * 4, bit_cast<int>(x)));
        }
    }

    /// The value of one lane, the same for all: a scalar register.
    template <class T>
    KVLOOM_DEVICE T from_lane(T x, int source, site at) const
    {
        if constexpr (sizeof(T) == 8) {
            auto words = bit_cast<vec<u32, 2>>(x);
            words[0]   = from_lane(words[0], source, at);
            words[1]   = from_lane(words[1], source, at);
            return bit_cast<T>(words);
        } else {
            return bit_cast<T>(__builtin_amdgcn_readlane(bit_cast<int>(x), source));
        }
    }

    /// The value of the lane before; unspecified in lane 0.
    template <class T>
    KVLOOM_DEVICE T previous(T x, site at) const
    {
        if constexpr (!quad_rows) {
            return shuffle(x, (lane() + size - 1) & (size - 1), at);
        } else if constexpr (sizeof(T) == 8) {
            auto words = bit_cast<vec<u32, 2>>(x);
            words[0]   = previous(words[0], at);
            words[1]   = previous(words[1], at);
            return bit_cast<T>(words);
        } else {
            return detail::dpp<detail::wave_right>(x);
        }
    }

    KVLOOM_DEVICE u64 ballot(bool predicate, site) const
    {
        if constexpr (size == 64) {
            return __builtin_amdgcn_ballot_w64(predicate);
        } else {
            return __builtin_amdgcn_ballot_w32(predicate);
        }
    }

    /// The value of the first lane, in a scalar register; the same in every lane.
    template <class T>
    KVLOOM_DEVICE T uniform(T x) const
    {
        if constexpr (sizeof(T) == 8) {
            auto words = bit_cast<vec<u32, 2>>(x);
            words[0]   = uniform(words[0]);
            words[1]   = uniform(words[1]);
            return bit_cast<T>(words);
        } else {
            return bit_cast<T>(__builtin_amdgcn_readfirstlane(bit_cast<int>(x)));
        }
    }

    /// The compiler may not use what it knows of x; nothing here, where registers suffice and instructions
    /// count.
    KVLOOM_DEVICE void forget(u32&) const {}

    /// x is worked out here: the compiler may not put that off and keep alive what x is made of.
    KVLOOM_DEVICE void hold(u32& x) const { asm volatile("" : "+v"(x)); }

    /// x, worked out by all lanes here and not below a branch that follows: then a value of another lane that it is
    /// made of is an operand and takes no move.
    KVLOOM_DEVICE float worked_out(float x) const
    {
        asm("" : "+v"(x));
        return x;
    }

    /// The compiler may not move instructions across: loads before here are issued before the products after.
    KVLOOM_DEVICE void keep_order() const { __builtin_amdgcn_sched_barrier(0); }

    /// One access of sizeof(V) bytes to global memory.
    template <class V>
    KVLOOM_DEVICE V load(void const* from) const
    {
        using access = detail::access_t<V>;
        using global = access const __attribute__((address_space(1)))*;
        return bit_cast<V>(access(*(global)(from)));
    }

    template <class V>
    KVLOOM_DEVICE V load_constant(void const* from) const
    {
        return load<V>(from);
    }

    /// Of what nothing writes while the kernel runs, for all lanes from one address: a scalar load.
    template <class V>
    KVLOOM_DEVICE V load_uniform(void const* from) const
    {
        using constant = V const __attribute__((address_space(4)))*;
        return *(constant)(reinterpret_cast<u64>(from));
    }

    template <class V>
    KVLOOM_DEVICE V load_early(void const* from) const
    {
        return load<V>(from);
    }

    template <class Index>
    KVLOOM_DEVICE Index load_hint(Index const* from) const
    {
        return load<Index>(from);
    }

    template <class V>
    KVLOOM_DEVICE void store(void* to, V const& x) const
    {
        using access  = detail::access_t<V>;
        using global  = access __attribute__((address_space(1)))*;
        *(global)(to) = bit_cast<access>(x);
    }

    /// Adds one, atomically on the device.
    KVLOOM_DEVICE void increment(u32* counter) const
    {
        using global = u32 __attribute__((address_space(1)))*;
        __hip_atomic_fetch_add((global)(counter), 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }

    /// Counts an arrival and gives how many came before; the last of `of` sets the count back to zero. What a block wrote
    /// before a barrier and this call is seen by whom the count shows to be last. Chiplets do not share their L2: the
    /// release writes this one's back, the acquire drops what it may hold of the others'.
    KVLOOM_DEVICE u32 arrive(u32* counter, u32 of) const
    {
        using global = u32 __attribute__((address_space(1)))*;
        u32 const before =
            __hip_atomic_fetch_add((global)(counter), 1U, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        if (before + 1 == of) {
            __hip_atomic_store((global)(counter), 0U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        }
        return before;
    }

    /// Arguments arrive by scalar loads, which the compiler batches.
    template <class Args>
    KVLOOM_DEVICE void touch_arguments(Args const&) const
    {}

    /// Kernels of one stream run one after the other: nothing to wait for, nothing to release.
    KVLOOM_DEVICE void dependency() const {}
    KVLOOM_DEVICE void release_dependents() const {}
};

} // namespace hip
} // namespace v0
} // namespace kvloom
