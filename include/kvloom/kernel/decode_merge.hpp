// SPDX-License-Identifier: MIT
// The parallel merge: a kernel that folds the partial results of every pair that several blocks have worked on.
#pragma once

#include "kvloom/group/launch_bounds.hpp"
#include "kvloom/kernel/decode_partials.hpp"

namespace kvloom {
inline namespace v0 {

/// The kernel: a tile of lanes has a row of a pair, four dims a lane. Pairs that one block has worked on are done.
template <class Problem>
struct decode_merger
{
    static constexpr launch_bounds bounds = {128, 4, 2, true};
    struct shared
    {};

    static constexpr int dims  = decode_types<Problem>::value_dim;
    static constexpr int lanes = dims / 4 < 32 ? dims / 4 : 32; ///< of a row
    static constexpr int ahead = 8;                             ///< partial results on their way at once
    static constexpr int rows  = bounds.threads / lanes;        ///< of a block

    /// How the grid has the rows of pairs: several blocks a pair, or several pairs a block.
    struct layout
    {
        int parts;    ///< blocks that share the rows of a pair; the grid has a multiple of them
        int together; ///< pairs side by side in a block

        KVLOOM_FN static constexpr layout of(int rows_of_pair)
        {
            int const together = rows / rows_of_pair;
            return {(rows_of_pair + rows - 1) / rows, together > 1 ? together : 1};
        }

        /// Blocks that have all of `pairs` at once.
        KVLOOM_FN constexpr i64 blocks(i64 pairs) const { return (pairs + together - 1) / together * parts; }
    };

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, detail::decode_work<Problem> const& work) const
    {
        auto const wave     = block.wave();
        auto const by       = layout::of(work.sizes.rows);
        int const group     = block.index() / by.parts;
        int const slot      = block.thread() / lanes;
        int const neighbour = slot / work.sizes.rows; // 0 where blocks share a pair
        int const row       = (block.index() - group * by.parts) * rows + slot - neighbour * work.sizes.rows;
        i64 const step      = i64(block.count() / by.parts) * by.together;
        wave.release_dependents();
        wave.dependency();
        if (neighbour >= by.together) {
            return;
        }
        for (i64 pair = i64(group) * by.together + neighbour; pair < work.sizes.pairs(); pair += step) {
            merge_row(wave, work, int(pair), row, block.thread() % lanes * 4);
        }
    }

private:
    template <class Wave>
    KVLOOM_FN static void merge_row(Wave wave, detail::decode_work<Problem> const& work, int pair, int row,
                                    int first_dim)
    {
        detail::decode_segment segment;
        segment.sequence = quotient(pair, work.pairs);
        // Read together: what one read must wait for costs more than the merge itself.
        auto const cut   = detail::read_cut(wave, work);
        i64 const before = detail::load_count<false>(wave, work.sections.before + segment.sequence);
        segment.extent   = detail::extent_of<Wave, Problem, false>(wave, work, segment.sequence);
        detail::set_pair(work, segment, pair - segment.sequence * int(work.pairs.divisor));
        if (row >= detail::rows_of(work, segment)) {
            return;
        }
        auto const span = detail::span_of(work, segment, cut, before);
        if (span.blocks(cut) == 1) {
            return;
        }
        KVLOOM_UNROLL
        for (int dim = first_dim; dim < dims; dim += 4 * lanes) {
            softmax_partial<4> all[1];
            detail::partial_walk<Problem::folding::by_nodes> walk(cut, span);
            detail::merge_all<ahead>(walk, all, [&](int, detail::partial_place from) {
                return detail::load_partial(wave, work, from, row, dim);
            });
            detail::write_columns(wave, work, segment, row, dim, all[0]);
        }
    }
};

} // namespace v0
} // namespace kvloom
