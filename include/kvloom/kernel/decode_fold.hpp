// SPDX-License-Identifier: MIT
// The fold: partial results of the waves become a node, nodes become the result of a pair of sequence and head.
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

/// That of a segment's pair.
template <class Wave, class Problem>
KVLOOM_FN node_span span_of(Wave wave, decode_work<Problem> const& work, decode_segment const& segment,
                            decode_cut const& cut)
{
    i64 const before = i64(wave.template load<u64>(work.sections.before + segment.sequence));
    i64 const pair   = i64(segment.tile) * work.sizes.heads + segment.head;
    auto const units = node_units::of(segment.extent, cut.counted);
    return {before + pair * units.pair, units, segment.extent.nodes()};
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
            block = span.block_of(node, cut);
            after = span.nodes_before(cut.first(block + 1));
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

/// What the waves of a block hand over, some dims at a time.
template <int Waves, int Rows, int Dims>
struct fold_scratch
{
    static constexpr int dims = Dims;

    float out[Waves][Rows][Dims];
    float top[Waves][Rows];
    float sum[Waves][Rows];

    /// Where a row keeps a dim: lanes that write neighbouring rows meet different banks.
    KVLOOM_FN static constexpr int place(int row, int dim) { return dim ^ (row & 3) << 3; }
};

/// Puts part `part` of what wave `number` has of a node where the fold takes it; with the first part the references and
/// the sums. Collective.
template <class Tile, class Wave, int Dim, class Scratch>
KVLOOM_FN void hand_over(Wave wave, int number, int part, softmax_fragment<Tile, Dim> const& softmax,
                         Scratch& scratch)
{
    constexpr int run    = Tile::run;
    constexpr int a_part = Scratch::dims / Tile::width;
    int const lane       = wave.lane();
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        int const row = Tile::row(lane, r);
        if (part == 0) {
            float const sum = combine_groups<Tile>(wave, softmax.sum[r], plus{});
            if (Tile::group(lane) == 0) {
                scratch.top[number][row] = softmax.top[r];
                scratch.sum[number][row] = sum;
            }
        }
        KVLOOM_UNROLL
        for (int i = 0; i < a_part; ++i) {
            vec<float, run> numbers;
            KVLOOM_UNROLL
            for (int e = 0; e < run; ++e) {
                numbers[e] = softmax.out[part * a_part + i][r * run + e];
            }
            int const dim                           = i * Tile::width + Tile::own_dim(lane, 0);
            auto* const to                          = &scratch.out[number][row][Scratch::place(row, dim)];
            *reinterpret_cast<vec<float, run>*>(to) = numbers;
        }
    }
}

/// The threads that fold, and their places. Of the waves that hand over `RowTiles` are side by side over query rows,
/// `TileRows` of them for each, the others over tokens.
template <class Team, class Problem, class Scratch, int Waves, int RowTiles, int TileRows>
class node_fold
{
    static constexpr int token_waves = Waves / RowTiles;
    static constexpr int dims        = decode_types<Problem>::value_dim;
    static constexpr int parts       = dims / Scratch::dims;
    static constexpr int a_row       = Scratch::dims / 4; ///< threads to a row
    static constexpr int turns       = (TileRows * RowTiles * a_row + Team::threads - 1) / Team::threads;
    static constexpr int flight      = turns < 4 ? turns : 4; ///< turns at once
    static constexpr bool keeps =
        parts * turns <= Team::most_kept; ///< the chain in registers, else in the workspace
    static constexpr int merge_ahead = 4;

    static_assert(Team::threads % a_row == 0, "node_fold: a turn must have whole rows");

    using partial = softmax_partial<4>;

public:
    KVLOOM_FN node_fold(Team const& of, decode_work<Problem> const& on, Scratch& in)
        : team(of), work(on), scratch(in)
    {}

    KVLOOM_FN void begin(decode_segment const& segment) { rows = rows_of(work, segment); }

    /// Takes part `part` of a node in: to the nodes before it, if the segment begins with the first, else by itself.
    /// Writes the result if the segment is whole and this its last node. Every thread of the team calls, with all
    /// waves' parts in place; behind it the scratch is free.
    KVLOOM_FN void take(decode_segment const& segment, int node, int part)
    {
        bool const chained = Problem::folding::by_nodes && segment.area() == 1 && node > segment.first;
        int const level    = Problem::folding::by_nodes && segment.area() == 0 ? node - segment.first : 0;
        partial_place const to{segment.share, segment.area(), level};
        if constexpr (keeps) {
            bool const last = segment.area() == 0 || node + 1 == segment.last;
            KVLOOM_UNROLL
            for (int turn = 0; turn < turns; ++turn) {
                partial const more = gather(row_of(turn));
                auto& own          = chain[part * turns + turn];
                own                = chained ? merge(own, more) : more;
                if (last) {
                    put(segment, node, to, turn, part, own);
                }
            }
            team.barrier();
        } else {
            take_through_memory(segment, node, to, chained, part);
        }
    }

    /// Folds the partial results of all blocks of a pair and writes the result. Every thread of the team calls.
    KVLOOM_FN void merge_pair(decode_segment const& segment, decode_cut const& cut) const
    {
        node_span const span = span_of(team.wave(), work, segment, cut);
        for (int part = 0; part < parts; ++part) {
            for (int turn = 0; turn < turns; turn += flight) {
                partial all[flight];
                partial_walk<Problem::folding::by_nodes> walk(cut, span);
                merge_all<merge_ahead>(walk, all, [&](int i, partial_place from) {
                    return load(from, row_of(turn + i), dim_of(part));
                });
                KVLOOM_UNROLL
                for (int i = 0; i < flight; ++i) {
                    if (exists(turn + i)) {
                        write_columns(team.wave(), work, segment, row_of(turn + i), dim_of(part), all[i]);
                    }
                }
            }
        }
    }

private:
    KVLOOM_FN int any_row(int turn) const { return (turn * Team::threads + team.thread()) / a_row; }
    KVLOOM_FN bool exists(int turn) const { return any_row(turn) < rows; }
    /// A thread whose row does not exist gathers the last one that does, and writes nothing.
    KVLOOM_FN int row_of(int turn) const { return exists(turn) ? any_row(turn) : rows - 1; }
    KVLOOM_FN int dim_of(int part) const { return part * Scratch::dims + team.thread() % a_row * 4; }

    /// Four dims of a row from all waves over tokens: one reference, and sums in the order of the waves.
    KVLOOM_FN partial gather(int row) const
    {
        int const of    = row % TileRows;
        int const first = row / TileRows;
        int const place = Scratch::place(of, team.thread() % a_row * 4);
        partial all;
        KVLOOM_UNROLL
        for (int i = 0; i < token_waves; ++i) {
            all.top = larger(all.top, scratch.top[i * RowTiles + first][of]);
        }
        KVLOOM_UNROLL
        for (int i = 0; i < token_waves; ++i) {
            int const wave     = i * RowTiles + first;
            float const weight = approximate_exp2(scratch.top[wave][of] - all.top);
            auto const out     = *reinterpret_cast<vec<float, 4> const*>(&scratch.out[wave][of][place]);
            all.sum            = fma(scratch.sum[wave][of], weight, all.sum);
            KVLOOM_UNROLL
            for (int k = 0; k < 4; ++k) {
                all.out[k] = fma(out[k], weight, all.out[k]);
            }
        }
        return all;
    }

    /// The same where the nodes before are in the workspace. A mark is read by all threads of its row before it is
    /// replaced.
    KVLOOM_FN void take_through_memory(decode_segment const& segment, int node, partial_place to,
                                       bool chained, int part) const
    {
        for (int turn = 0; turn < turns; turn += flight) {
            partial own[flight];
            KVLOOM_UNROLL
            for (int i = 0; i < flight; ++i) {
                if (chained && exists(turn + i)) {
                    own[i] = load(to, row_of(turn + i), dim_of(part));
                }
            }
            team.barrier();
            KVLOOM_UNROLL
            for (int i = 0; i < flight; ++i) {
                partial const more = gather(row_of(turn + i));
                put(segment, node, to, turn + i, part, chained ? merge(own[i], more) : more);
            }
        }
        team.barrier();
    }

    /// Writes the result, if the segment is whole and this its last node; else keeps it, with the last part its marks.
    KVLOOM_FN void put(decode_segment const& segment, int node, partial_place to, int turn, int part,
                       partial const& own) const
    {
        if (!exists(turn)) {
            return;
        }
        int const row = row_of(turn);
        if (segment.whole() && node + 1 == segment.last) {
            write_columns(team.wave(), work, segment, row, dim_of(part), own);
            return;
        }
        team.wave().store(columns_at(work, to, row, dim_of(part)), bit_cast<vec<u32, 4>>(own.out));
        if (part == parts - 1 && team.thread() % a_row == 0) {
            team.wave().store(mark_at(work, to, row), bit_cast<vec<u32, 2>>(row_mark{{own.top, own.sum}}));
        }
    }

    KVLOOM_FN partial load(partial_place from, int row, int dim) const
    {
        return load_partial(team.wave(), work, from, row, dim);
    }

    Team team;
    decode_work<Problem> const& work;
    Scratch& scratch;
    int rows = 0; ///< of the segment
    partial chain[keeps ? parts * turns : 1];
};

} // namespace detail
} // namespace v0
} // namespace kvloom
