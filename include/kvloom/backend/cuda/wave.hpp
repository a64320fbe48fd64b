// SPDX-License-Identifier: MIT
// A warp of an NVIDIA GPU: lane primitives, memory accesses of a stated width, and order between kernels.
#pragma once

#include <cuda_runtime.h>

#include "kvloom/backend/cuda/bulk_copies.hpp"
#include "kvloom/core/types.hpp"
#include "kvloom/core/vec.hpp"
#include "kvloom/group/arch.hpp"

namespace kvloom {
inline namespace v0 {
namespace cuda {

namespace detail {

/// The architecture of this compile pass.
KVLOOM_FN constexpr arch_id current_arch()
{
#if KVLOOM_ON_CUDA && __CUDA_ARCH__ < 900
    return arch_id::sm_80;
#else
    return arch_id::sm_90;
#endif
}

} // namespace detail

/// The calling thread's warp. Every collective names all 32 lanes.
struct wave
{
    static constexpr int size           = 32;
    static constexpr arch_id arch       = detail::current_arch();
    static constexpr bool quad_rows     = false;
    static constexpr bool has_transpose = true;
    static constexpr bool is_model      = false;

    using copies = bulk_copies;

    KVLOOM_DEVICE int lane() const { return int(threadIdx.x) & 31; }

    template <int Mask, class T>
    KVLOOM_DEVICE T exchange(T x, site) const
    {
        return __shfl_xor_sync(~0U, x, Mask);
    }

    template <int Distance, class T>
    KVLOOM_DEVICE T shift(T x, site) const
    {
        return Distance >= 0 ? __shfl_down_sync(~0U, x, Distance, 16) : __shfl_up_sync(~0U, x, -Distance, 16);
    }

    template <int Distance, class T>
    KVLOOM_DEVICE T rotate(T x, site) const
    {
        return __shfl_sync(~0U, x, (lane() - Distance) & 15, 16);
    }

    template <int Lane, class T>
    KVLOOM_DEVICE T broadcast_row(T x, site) const
    {
        return __shfl_sync(~0U, x, Lane, 16);
    }

    template <class T>
    KVLOOM_DEVICE T shuffle(T x, int source, site) const
    {
        return __shfl_sync(~0U, x, source);
    }

    /// The value of one lane, the same for all.
    template <class T>
    KVLOOM_DEVICE T from_lane(T x, int source, site) const
    {
        return __shfl_sync(~0U, x, source);
    }

    /// The value of the lane before; unspecified in lane 0.
    template <class T>
    KVLOOM_DEVICE T previous(T x, site) const
    {
        return __shfl_up_sync(~0U, x, 1);
    }

    /// Waits for all lanes; what one has written before is seen by all after.
    KVLOOM_DEVICE void meet(site = site::here()) const { __syncwarp(); }

    KVLOOM_DEVICE u64 ballot(bool predicate, site) const { return __ballot_sync(~0U, predicate); }

    /// Transposes an 8x8 matrix of 16-bit units, two neighbouring columns of row lane / 4 to a lane.
    KVLOOM_DEVICE u32 transpose8(u32 x, site) const
    {
        u32 turned;
        asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(x));
        return turned;
    }

    template <class T>
    KVLOOM_DEVICE T uniform(T x) const
    {
        return x;
    }

    /// The compiler may not use what it knows of x: registers are what a warp is short of.
    KVLOOM_DEVICE void forget(u32& x) const { asm("" : "+r"(x)); }

    /// Nothing to say on NVIDIA.
    KVLOOM_DEVICE float worked_out(float x) const { return x; }

    /// x is worked out here: the compiler may not put that off and keep alive what x is made of.
    KVLOOM_DEVICE void hold(u32& x) const { asm volatile("" : "+r"(x)); }

    /// Loads and products before here are issued before those after: nothing to say on NVIDIA.
    KVLOOM_DEVICE void keep_order() const {}

    /// One access of sizeof(V) bytes to global memory. Inline text, since the compiler splits vector accesses
    /// behind structs.
    template <class V>
    KVLOOM_DEVICE V load(void const* from) const
    {
        V got;
        if constexpr (sizeof(V) == 16) {
            asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(got[0]), "=r"(got[1]), "=r"(got[2]), "=r"(got[3])
                         : "l"(from));
        } else if constexpr (is_same_v<V, vec<u32, 2>>) {
            asm volatile("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(got[0]), "=r"(got[1]) : "l"(from));
        } else if constexpr (sizeof(V) == 8) {
            asm volatile("ld.global.b64 %0, [%1];" : "=l"(got) : "l"(from));
        } else if constexpr (sizeof(V) == 4) {
            asm volatile("ld.global.b32 %0, [%1];" : "=r"(got) : "l"(from));
        } else if constexpr (sizeof(V) == 2) {
            asm volatile("ld.global.b16 %0, [%1];" : "=h"(got) : "l"(from));
        } else {
            u16 wide;
            asm volatile("ld.global.u8 %0, [%1];" : "=h"(wide) : "l"(from));
            got = V(wide);
        }
        return got;
    }

    /// The same through the read-only path, for what nothing writes.
    template <class V>
    KVLOOM_DEVICE V load_constant(void const* from) const
    {
        V got;
        if constexpr (sizeof(V) == 16) {
            asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(got[0]), "=r"(got[1]), "=r"(got[2]), "=r"(got[3])
                         : "l"(from));
        } else if constexpr (sizeof(V) == 4) {
            asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(got) : "l"(from));
        } else if constexpr (sizeof(V) == 2) {
            asm volatile("ld.global.nc.b16 %0, [%1];" : "=h"(got) : "l"(from));
        } else {
            got = load<V>(from);
        }
        return got;
    }

    /// The same for all lanes from one address.
    template <class V>
    KVLOOM_DEVICE V load_uniform(void const* from) const
    {
        return load<V>(from);
    }

    /// Of what nothing writes, ahead of dependency(): the assembler moves other loads behind it. Not kept in L1.
    template <class V>
    KVLOOM_DEVICE V load_early(void const* from) const
    {
        V got;
        if constexpr (sizeof(V) == 16) {
            asm volatile("ld.relaxed.gpu.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(got[0]), "=r"(got[1]), "=r"(got[2]), "=r"(got[3])
                         : "l"(from));
        } else if constexpr (sizeof(V) == 4) {
            asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(got) : "l"(from));
        } else {
            got = load_constant<V>(from);
        }
        return got;
    }

    /// An index that the previous kernel may be about to write: to be checked after dependency().
    template <class Index>
    KVLOOM_DEVICE Index load_hint(Index const* from) const
    {
        Index got;
        if constexpr (sizeof(Index) == 8) {
            asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(got) : "l"(from));
        } else {
            asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(got) : "l"(from));
        }
        return got;
    }

    template <class V>
    KVLOOM_DEVICE void store(void* to, V const& x) const
    {
        if constexpr (sizeof(V) == 16) {
            asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x[0]), "r"(x[1]),
                         "r"(x[2]), "r"(x[3])
                         : "memory");
        } else if constexpr (is_same_v<V, vec<u32, 2>>) {
            asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(x[0]), "r"(x[1]) : "memory");
        } else if constexpr (sizeof(V) == 8) {
            asm volatile("st.global.b64 [%0], %1;" ::"l"(to), "l"(x) : "memory");
        } else if constexpr (sizeof(V) == 4) {
            asm volatile("st.global.b32 [%0], %1;" ::"l"(to), "r"(x) : "memory");
        } else if constexpr (sizeof(V) == 2) {
            asm volatile("st.global.b16 [%0], %1;" ::"l"(to), "h"(x) : "memory");
        } else {
            asm volatile("st.global.u8 [%0], %1;" ::"l"(to), "h"(u16(x)) : "memory");
        }
    }

    /// Adds one, atomically on the device.
    KVLOOM_DEVICE void increment(u32* counter) const
    {
        asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
    }

    /// Counts an arrival and gives how many came before; the last of `of` sets the count back to zero. What a block wrote
    /// before a barrier and this call is seen by whom the count shows to be last: the fences order the block's writes,
    /// which the barrier has ordered before this thread, with the count at the scope of the device.
    KVLOOM_DEVICE u32 arrive(u32* counter, u32 of) const
    {
        u32 before;
        asm volatile("fence.acq_rel.gpu;\n"
                     "atom.relaxed.gpu.global.add.u32 %0, [%1], 1;\n"
                     "fence.acq_rel.gpu;"
                     : "=r"(before)
                     : "l"(counter)
                     : "memory");
        if (before + 1 == of) {
            asm volatile("st.relaxed.gpu.global.u32 [%0], 0;" ::"l"(counter) : "memory");
        }
        return before;
    }

    /// Reads a word of each line of a kernel's arguments, all at once: the constant cache is cold when a kernel starts,
    /// and lines that are missed one after the other cost 0.13 us each (measured on an H200). The sleep that one value
    /// in 2^32 causes keeps the reads alive and has no other effect.
    template <class Args>
    KVLOOM_DEVICE void touch_arguments(Args const& args) const
    {
        constexpr int line = 16; // words
        auto const* words  = reinterpret_cast<u32 const*>(&args);
        u32 all            = words[sizeof(Args) / 4 - 1];
        KVLOOM_UNROLL
        for (int i = 0; i < int(sizeof(Args) / 4); i += line) {
            all ^= words[i];
        }
        asm volatile("{\n"
                     ".reg .pred never;\n"
                     "setp.eq.u32 never, %0, 0x9e3779b9;\n"
                     "@never nanosleep.u32 0;\n"
                     "}" ::"r"(all));
    }

    /// Waits until the previous kernel of the stream has finished and its writes are visible (programmatic
    /// dependent launch).
    KVLOOM_DEVICE void dependency() const
    {
#if KVLOOM_ON_CUDA && __CUDA_ARCH__ >= 900
        asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    }

    /// Lets the next kernel of the stream start up to its own dependency().
    KVLOOM_DEVICE void release_dependents() const
    {
#if KVLOOM_ON_CUDA && __CUDA_ARCH__ >= 900
        asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    }
};

} // namespace cuda
} // namespace v0
} // namespace kvloom
