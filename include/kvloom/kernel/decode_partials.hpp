// SPDX-License-Identifier: MIT
// The partial results of a pair of sequence and head: which blocks have them, where they lie, and their merge.
#pragma once

#include "kvloom/kernel/decode_rows.hpp"
#include "kvloom/kernel/decode_work.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Where the nodes of a pair of sequence and head lie among all units.
struct node_span
{
    i64 begin = 0;
    node_units units;
    int nodes = 0;

    /// The block of a node.
    KVLOOM_FN int block_of(int node, decode_cut const& cut) const
    {
        return cut.block_of(begin + (i64(node) << units.shift));
    }

    /// Nodes that begin before unit `end`.
    KVLOOM_FN int nodes_before(i64 end) const
    {
        i64 const before = (end - begin + (i64(1) << units.shift) - 1) >> units.shift;
        return before < nodes ? int(before) : nodes;
    }

    /// Blocks that have nodes of the pair. Where shares are smaller than a node each has one at most.
    KVLOOM_FN int blocks(decode_cut const& cut) const
    {
        return cut.each >> units.shift == 0 ? nodes : block_of(nodes - 1, cut) - block_of(0, cut) + 1;
    }
};

/// That of a segment's pair; `before`: units of the sequences before.
template <class Problem>
KVLOOM_FN node_span span_of(decode_work<Problem> const& work, decode_segment const& segment,
                            decode_cut const& cut, i64 before)
{
    i64 const pair   = i64(segment.tile) * work.sizes.heads + segment.head;
    auto const units = node_units::of(segment.extent, cut.counted);
    return {before + pair * units.pair, units, segment.extent.nodes()};
}
template <class Wave, class Problem>
KVLOOM_FN node_span span_of(Wave wave, decode_work<Problem> const& work, decode_segment const& segment,
                            decode_cut const& cut)
{
    return span_of(work, segment, cut, i64(wave.template load<u64>(work.sections.before + segment.sequence)));
}

/// Where a partial result lies: in a block's first area those of a segment that begins inside its pair, node by node; in
/// the second that of a segment that begins with its pair.
struct partial_place
{
    int block = 0;
    int area  = 0;
    int level = 0;
};

/// The first area of a block has a level for each node, the second has one behind them.
template <class Problem>
KVLOOM_FN i64 level_row(decode_work<Problem> const& work, partial_place place, int row)
{
    i64 const level =
        i64(place.block) * work.sizes.depth() + (place.area == 0 ? place.level : work.sizes.nodes);
    return level * work.sizes.rows + row;
}
template <class Problem>
KVLOOM_FN row_mark* mark_at(decode_work<Problem> const& work, partial_place place, int row)
{
    return work.sections.marks + level_row(work, place, row);
}
template <class Problem>
KVLOOM_FN vec<float, 4>* columns_at(decode_work<Problem> const& work, partial_place place, int row, int dim)
{
    return work.sections.out + level_row(work, place, row) * (decode_types<Problem>::value_dim / 4) + dim / 4;
}

/// Four dims of a row of a partial result.
template <class Wave, class Problem>
KVLOOM_FN softmax_partial<4> load_partial(Wave wave, decode_work<Problem> const& work, partial_place from,
                                          int row, int dim)
{
    auto const mark = bit_cast<row_mark>(wave.template load<vec<u32, 2>>(mark_at(work, from, row)));
    softmax_partial<4> p;
    p.top = mark[0];
    p.sum = mark[1];
    p.out = bit_cast<vec<float, 4>>(wave.template load<vec<u32, 4>>(columns_at(work, from, row, dim)));
    return p;
}

/// The partial results of a pair in the order of their tokens: one of the block that has the pair's first node, of each
/// later block one for every node, or one of each block.
template <bool ByNodes>
class partial_walk
{
public:
    KVLOOM_FN partial_walk(decode_cut const& of, node_span const& s)
        : cut(of), span(s), block(s.block_of(0, of)), after(s.nodes_before(of.first(block + 1)))
    {}

    KVLOOM_FN bool done() const { return node >= span.nodes; }

    KVLOOM_FN partial_place take()
    {
        bool const begins = first == 0;
        partial_place const place{block, begins ? 1 : 0, node - first};
        node = ByNodes && !begins ? node + 1 : after;
        if (node == after && !done()) {
            first = node;
            do { // rarely more than once: where a node is longer than a share, the next have none. No division
                ++block;
                after = span.nodes_before(cut.first(block + 1));
            } while (after == node);
        }
        return place;
    }

private:
    decode_cut const& cut;
    node_span span;
    int block;
    int node  = 0; ///< the next one
    int first = 0; ///< nodes [first, after) are the block's
    int after;
};

/// Merges the partial results of a walk in its order, for some rows at once, `Ahead` results on their way at any time.
/// `load(i, place)` reads that of row i.
template <int Ahead, int Rows, class Walk, class Load>
KVLOOM_FN void merge_all(Walk& walk, softmax_partial<4> (&all)[Rows], Load const& load)
{
    while (!walk.done()) {
        softmax_partial<4> own[Ahead][Rows];
        KVLOOM_UNROLL
        for (int k = 0; k < Ahead; ++k) {
            bool const more = !walk.done();
            auto const from = more ? walk.take() : partial_place{};
            KVLOOM_UNROLL
            for (int i = 0; i < Rows; ++i) {
                own[k][i] = {};
                if (more) {
                    own[k][i] = load(i, from);
                }
            }
        }
        KVLOOM_UNROLL
        for (int k = 0; k < Ahead; ++k) {
            KVLOOM_UNROLL
            for (int i = 0; i < Rows; ++i) {
                all[i] = merge(all[i], own[k][i]); // with nothing: no change
            }
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace kvloom
