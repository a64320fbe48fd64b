// SPDX-License-Identifier: MIT
// Bulk copies to shared memory, the barriers that count their bytes, and matrices read from there (compute capability
// 9.0 and later; before it these functions do nothing and nothing calls them).
#pragma once

#include "kvloom/core/types.hpp"
#include "kvloom/core/vec.hpp"

namespace kvloom {
inline namespace v0 {
namespace cuda {

/// A barrier is 8 bytes of shared memory. A phase ends when all arrivals it was made for have come, and all bytes that
/// were announced for it; phases have parities 0, 1, 0, ...
struct bulk_copies
{
    KVLOOM_DEVICE static u32 address(void const* shared) { return u32(__cvta_generic_to_shared(shared)); }

    /// One thread, then publish(), then a barrier of the block.
    KVLOOM_DEVICE static void prepare(u64* barrier, int arrivals)
    {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(barrier)), "r"(arrivals)
                     : "memory");
    }

    /// Shows prepared barriers to the copy engine.
    KVLOOM_DEVICE static void publish()
    {
#if KVLOOM_ON_CUDA && __CUDA_ARCH__ >= 900
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
    }

    /// Arrives, and announces bytes that the phase must wait for.
    KVLOOM_DEVICE static void expect(u64* barrier, int bytes)
    {
#if KVLOOM_ON_CUDA && __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(barrier)),
                     "r"(bytes)
                     : "memory");
#endif
    }

    KVLOOM_DEVICE static void arrive(u64* barrier)
    {
#if KVLOOM_ON_CUDA && __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(barrier)) : "memory");
#endif
    }

    /// Waits for the end of the phase of this parity.
    template <class Wave>
    KVLOOM_DEVICE static void wait(Wave, u64* barrier, u32 parity)
    {
#if KVLOOM_ON_CUDA && __CUDA_ARCH__ >= 900
        asm volatile("{\n"
                     ".reg .pred ended;\n"
                     "again_%=:\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
                     "@!ended bra again_%=;\n"
                     "}" ::"r"(address(barrier)),
                     "r"(parity)
                     : "memory");
#endif
    }

    /// Copies a multiple of 16 bytes from global to shared memory, both aligned to 16; the barrier counts them.
    KVLOOM_DEVICE static void copy(void* to, void const* from, int bytes, u64* barrier)
    {
#if KVLOOM_ON_CUDA && __CUDA_ARCH__ >= 900
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                address(to)),
            "l"(from), "r"(bytes), "r"(address(barrier))
            : "memory");
#endif
    }

    /// What the calling thread has read or written in shared memory comes before what the copy engine does to it after
    /// an arrival that follows.
    KVLOOM_DEVICE static void order()
    {
#if KVLOOM_ON_CUDA && __CUDA_ARCH__ >= 900
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    }

    /// Four matrices of 8 rows of 16 bytes: lane l gives the address of row l % 8 of matrix l / 8 and gets, of each
    /// matrix, word l % 4 of row l / 4. Collective.
    template <class Wave>
    KVLOOM_DEVICE static vec<u32, 4> read_matrices(Wave, void const* row)
    {
        vec<u32, 4> words;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "r"(address(row))
                     : "memory");
        return words;
    }
};

} // namespace cuda
} // namespace v0
} // namespace kvloom
