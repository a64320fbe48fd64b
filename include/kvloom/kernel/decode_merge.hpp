// SPDX-License-Identifier: MIT
// The parallel merge: a kernel that folds the partial results of every pair that several blocks have worked on.
#pragma once

#include "kvloom/group/launch_bounds.hpp"
#include "kvloom/kernel/decode_fold.hpp"

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

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, detail::decode_work<Problem> const& work) const
    {
        auto const wave = block.wave();
        wave.release_dependents();
        wave.dependency();
        auto const cut  = detail::read_cut(wave, work);
        int const tiles = bounds.threads / lanes;
        i64 const rows  = work.sizes.pairs() * work.sizes.rows;
        i64 const step  = i64(block.count()) * tiles;
        for (i64 at = i64(block.index()) * tiles + block.thread() / lanes; at < rows; at += step) {
            int const pair = int(u64(at) / u32(work.sizes.rows));
            merge_row(wave, work, cut, pair, int(at - i64(pair) * work.sizes.rows),
                      block.thread() % lanes * 4);
        }
    }

private:
    template <class Wave>
    KVLOOM_FN static void merge_row(Wave wave, detail::decode_work<Problem> const& work,
                                    detail::decode_cut const& cut, int pair, int row, int first_dim)
    {
        detail::decode_segment segment;
        int const of_sequence = work.sizes.heads * work.sizes.tiles;
        segment.sequence      = pair / of_sequence;
        segment.extent        = detail::extent_of<Wave, Problem, false>(wave, work, segment.sequence);
        detail::set_pair(work, segment, pair - segment.sequence * of_sequence);
        if (row >= detail::rows_of(work, segment)) {
            return;
        }
        auto const span = detail::span_of(wave, work, segment, cut);
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
