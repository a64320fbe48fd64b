// SPDX-License-Identifier: MIT
// The plan of a step: how many units the sequences before each one have, and where each block begins. One block, on the
// device, from lengths that only the device knows.
#pragma once

#include "kvloom/group/launch_bounds.hpp"
#include "kvloom/kernel/decode_work.hpp"

namespace kvloom {
inline namespace v0 {

/// The kernel. One plan serves all layers of a step that share lengths, heads and workspace.
template <class Problem>
struct decode_planner
{
    static constexpr launch_bounds bounds = {256, 1, 1, true};
    struct shared
    {
        i64 sums[bounds.threads];
    };

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, detail::decode_work<Problem> const& work) const
    {
        auto const wave = block.wave();
        wave.release_dependents();
        wave.dependency();
        int const sequences = work.sizes.sequences;
        int const each      = (sequences + bounds.threads - 1) / bounds.threads;
        int const first     = block.thread() * each;
        int const last      = first + each < sequences ? first + each : sequences;
        i64 own             = 0;
        for (int i = first; i < last; ++i) {
            own += detail::units_of(work, detail::extent_of(wave, work, i));
        }
        i64 const before = sum_of_earlier(block, own);
        write_sums(wave, work, first, last, before);
        if (block.thread() == bounds.threads - 1) {
            wave.store(work.sections.before + sequences, u64(before + own));
        }
        block.barrier();
        find_sequences(block, work);
    }

private:
    /// The sum of the values of all threads before this one. Every thread of the block calls.
    template <class Block>
    KVLOOM_FN static i64 sum_of_earlier(Block const& block, i64 own)
    {
        i64* const sums  = block.template shared<shared>().sums;
        int const thread = block.thread();
        sums[thread]     = own;
        for (int distance = 1; distance < bounds.threads; distance *= 2) {
            block.barrier();
            i64 const more = thread >= distance ? sums[thread - distance] : 0;
            block.barrier();
            sums[thread] += more;
        }
        return sums[thread] - own;
    }

    template <class Wave>
    KVLOOM_FN static void write_sums(Wave wave, detail::decode_work<Problem> const& work, int first, int last,
                                     i64 before)
    {
        for (int i = first; i < last; ++i) {
            wave.store(work.sections.before + i, u64(before));
            before += detail::units_of(work, detail::extent_of(wave, work, i));
        }
    }

    /// What this kernel has written.
    template <class Wave>
    KVLOOM_FN static i64 read_sum(Wave wave, i64 const* from)
    {
        return i64(wave.template load<u64>(from));
    }

    /// The sequence in which each block of the grid begins.
    template <class Block>
    KVLOOM_FN static void find_sequences(Block const& block, detail::decode_work<Problem> const& work)
    {
        auto const wave     = block.wave();
        auto const& before  = work.sections.before;
        int const sequences = work.sizes.sequences;
        auto const cut      = detail::decode_cut::of(read_sum(wave, before + sequences), work.grid);
        if (block.thread() == 0) {
            wave.store(work.sections.cut, u64(cut.each));
            wave.store(work.sections.cut + 1, u64(cut.rest));
        }
        for (int b = block.thread(); b < cut.blocks(); b += bounds.threads) {
            i64 const unit = cut.first(b);
            int low        = 0;
            int high       = sequences - 1;
            while (low < high) { // the last sequence that does not begin behind the unit
                int const middle = (low + high + 1) / 2;
                if (read_sum(wave, before + middle) <= unit) {
                    low = middle;
                } else {
                    high = middle - 1;
                }
            }
            wave.store(work.sections.first_sequence + b, u32(low));
        }
    }
};

} // namespace v0
} // namespace kvloom
