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
        i64 nodes[bounds.threads];
        i64 tokens[bounds.threads];
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
        auto& memory        = block.template shared<shared>();
        sum_units(block, work, first, last, memory);
        // Whether each node can have a block of its own.
        auto const kind =
            memory.nodes[bounds.threads - 1] <= work.sizes.blocks ? unit_kind::node : unit_kind::tokens;
        i64 const* const sums = kind == unit_kind::node ? memory.nodes : memory.tokens;
        write_sums(wave, work, first, last, kind, block.thread() > 0 ? sums[block.thread() - 1] : 0);
        if (block.thread() == bounds.threads - 1) {
            wave.store(work.sections.before + sequences, u64(sums[block.thread()]));
        }
        block.barrier();
        find_nodes(block, work, kind);
    }

private:
    using unit_kind = detail::unit_kind;

    template <class Wave>
    KVLOOM_FN static i64 units_of(Wave wave, detail::decode_work<Problem> const& work, int sequence,
                                  unit_kind kind)
    {
        auto const extent = detail::extent_of<Wave, Problem, false>(wave, work, sequence);
        return detail::units_of(work, extent, detail::node_units::of(extent, kind));
    }

    /// Units of either kind of the sequences of all threads up to each one. Every thread of the block calls, with its
    /// sequences [first, last).
    template <class Block>
    KVLOOM_FN static void sum_units(Block const& block, detail::decode_work<Problem> const& work, int first,
                                    int last, shared& sums)
    {
        int const thread = block.thread();
        i64 nodes        = 0;
        i64 tokens       = 0;
        for (int i = first; i < last; ++i) {
            nodes += units_of(block.wave(), work, i, unit_kind::node);
            tokens += units_of(block.wave(), work, i, unit_kind::tokens);
        }
        sums.nodes[thread]  = nodes;
        sums.tokens[thread] = tokens;
        for (int distance = 1; distance < bounds.threads; distance *= 2) {
            bool const adds = thread >= distance;
            block.barrier();
            i64 const more_nodes  = adds ? sums.nodes[thread - distance] : 0;
            i64 const more_tokens = adds ? sums.tokens[thread - distance] : 0;
            block.barrier();
            sums.nodes[thread] += more_nodes;
            sums.tokens[thread] += more_tokens;
        }
        block.barrier();
    }

    template <class Wave>
    KVLOOM_FN static void write_sums(Wave wave, detail::decode_work<Problem> const& work, int first, int last,
                                     unit_kind kind, i64 before)
    {
        for (int i = first; i < last; ++i) {
            wave.store(work.sections.before + i, u64(before));
            before += units_of(wave, work, i, kind);
        }
    }

    /// What this kernel has written.
    template <class Wave>
    KVLOOM_FN static i64 read_sum(Wave wave, i64 const* from)
    {
        return i64(wave.template load<u64>(from));
    }

    /// The node with which each block of the grid begins.
    template <class Block>
    KVLOOM_FN static void find_nodes(Block const& block, detail::decode_work<Problem> const& work,
                                     unit_kind kind)
    {
        auto const wave     = block.wave();
        auto const& to      = work.sections;
        int const sequences = work.sizes.sequences;
        auto const cut      = detail::decode_cut::of(read_sum(wave, to.before + sequences), kind, work.grid);
        if (block.thread() == 0) {
            wave.store(to.cut, u64(cut.each));
            wave.store(to.cut + 1, u64(cut.rest));
            wave.store(to.cut + 2, u64(kind));
        }
        for (int b = block.thread(); b <= work.sizes.blocks; b += bounds.threads) {
            if (b >= cut.blocks()) { // it has none
                wave.store(to.first + b, u64(cut.units()));
                continue;
            }
            int const sequence = find_sequence(wave, work, cut.first(b));
            i64 const before   = read_sum(wave, to.before + sequence);
            u32 const inside   = first_node(wave, work, sequence, u32(cut.first(b) - before), kind);
            wave.store(to.first + b, u64(before + inside));
            wave.store(to.first_sequence + b, u32(sequence));
            wave.store(to.first_inside + b, inside);
        }
    }

    /// The sequence that has a unit: the last that does not begin behind it.
    template <class Wave>
    KVLOOM_FN static int find_sequence(Wave wave, detail::decode_work<Problem> const& work, i64 unit)
    {
        int low  = 0;
        int high = work.sizes.sequences - 1;
        while (low < high) {
            int const middle = (low + high + 1) / 2;
            if (read_sum(wave, work.sections.before + middle) <= unit) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    /// Where the first node begins that does not begin before unit `inside` of its sequence; that may be behind its end.
    template <class Wave>
    KVLOOM_FN static u32 first_node(Wave wave, detail::decode_work<Problem> const& work, int sequence,
                                    u32 inside, unit_kind kind)
    {
        auto const extent = detail::extent_of<Wave, Problem, false>(wave, work, sequence);
        auto const units  = detail::node_units::of(extent, kind);
        int const behind  = int(inside - u32(units.pair_of(inside)) * u32(units.pair));
        int const node    = (behind + (1 << units.shift) - 1) >> units.shift;
        return inside - u32(behind) + u32(node < extent.nodes() ? node << units.shift : units.pair);
    }
};

} // namespace v0
} // namespace kvloom
