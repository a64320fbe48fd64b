// SPDX-License-Identifier: MIT
// The fold of a block: what its waves have of a node becomes one partial result, and nodes a chain of them.
#pragma once

#include "kvloom/kernel/decode_partials.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Shared memory for a chain: `Turns` times four dims for each lane of one wave.
template <int Turns>
struct fold_chain
{
    vec<float, 4> chain[Turns][32];
};
template <>
struct fold_chain<0>
{};

/// What the waves of a block hand over, some dims at a time; and the chain, if it lies here.
template <int Waves, int Rows, int Dims, int ChainTurns = 0>
struct fold_scratch : fold_chain<ChainTurns>
{
    static constexpr int dims        = Dims;
    static constexpr int chain_turns = ChainTurns;

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
///
/// A thread keeps the chain of its own columns: in registers, those of the next turns in front; or in the scratch, the
/// references and sums of all rows in the lanes of its wave; or in the workspace, where the segment's result goes.
template <class Team, class Problem, class Scratch, int Waves, int RowTiles, int TileRows>
class node_fold
{
    static constexpr int token_waves = Waves / RowTiles;
    static constexpr int dims        = decode_types<Problem>::value_dim;
    static constexpr int parts       = dims / Scratch::dims;
    static constexpr int a_row       = Scratch::dims / 4; ///< threads to a row
    static constexpr int a_turn      = Team::threads < a_row ? 1 : Team::threads / a_row; ///< rows
    static constexpr int turns       = (TileRows * RowTiles + a_turn - 1) / a_turn;
    static constexpr int flight      = turns < 4 ? turns : 4; ///< turns at once
    static constexpr int merge_ahead = 4;

    static constexpr int columns       = parts * turns; ///< sets of four dims that a thread has of a node
    static constexpr bool in_registers = Scratch::chain_turns == 0 && columns <= Team::most_kept;
    static constexpr bool in_shared    = Scratch::chain_turns > 0;
    static constexpr bool in_workspace = !in_registers && !in_shared;
    static constexpr int kept          = in_registers ? columns : 1;
    static constexpr int marks         = in_shared && turns > a_row ? turns / a_row : 1; ///< of a lane
    static constexpr int a_set         = turns / marks; ///< turns of which a lane has one mark

    static_assert(Team::threads % a_row == 0, "node_fold: a turn must have whole rows");
    static_assert(a_set % flight == 0 && a_set * marks == turns,
                  "node_fold: the turns must fall into whole flights");
    static_assert(!in_shared || Scratch::chain_turns == columns,
                  "node_fold: the chain must have a place for each turn");

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
        bool const ends    = segment.area() == 0 || node + 1 == segment.last;
        int const level    = Problem::folding::by_nodes && segment.area() == 0 ? node - segment.first : 0;
        partial_place const to{segment.share, segment.area(), level};
        KVLOOM_UNROLL
        for (int set = 0; set < marks; ++set) {
            take_turns(segment, node, to, chained, ends, set, part);
        }
        team.barrier();
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
    KVLOOM_FN int any_row(int turn) const { return turn * a_turn + team.thread() / a_row; }
    KVLOOM_FN bool exists(int turn) const { return any_row(turn) < rows; }
    /// A thread whose row does not exist gathers the last one that does, and writes nothing.
    KVLOOM_FN int row_of(int turn) const { return exists(turn) ? any_row(turn) : rows - 1; }
    KVLOOM_FN int dim_of(int part) const { return part * Scratch::dims + team.thread() % a_row * 4; }

    /// The turns of set `set`, of which a lane keeps one mark.
    KVLOOM_FN void take_turns(decode_segment const& segment, int node, partial_place to, bool chained,
                              bool ends, int set, int part)
    {
        int const first = set * a_set;
        KVLOOM_UNROLL_BY(1) // a wave comes here seldom: short code, since it is fetched from far
        for (int turn = first; turn < first + a_set; turn += flight) {
            partial own[flight];
            KVLOOM_UNROLL
            for (int i = 0; i < flight; ++i) {
                if (chained) {
                    own[i] = chained_before(to, turn, i, set, part);
                }
            }
            if constexpr (in_workspace) {
                team.barrier(); // a mark is read by all threads of its row before it is replaced
            }
            KVLOOM_UNROLL
            for (int i = 0; i < flight; ++i) {
                partial const more = gather(row_of(turn + i));
                own[i]             = chained ? merge(own[i], more) : more;
            }
            if (ends || in_workspace) {
                KVLOOM_UNROLL
                for (int i = 0; i < flight; ++i) {
                    put(segment, node, to, turn + i, part, own[i]);
                }
            }
            keep(own, turn, set, part);
        }
    }

    /// The chain of turn `turn + i` as keep() left it.
    KVLOOM_FN partial chained_before(partial_place to, int turn, int i, [[maybe_unused]] int set,
                                     int part) const
    {
        if constexpr (in_registers) {
            return chain[i];
        } else if constexpr (in_workspace) {
            return exists(turn + i) ? load(to, row_of(turn + i), dim_of(part)) : partial{};
        } else {
            partial own;
            int const lane = (turn + i) % a_row * a_turn + team.thread() / a_row;
            own.top        = from_lane(tops[set], lane);
            own.sum        = from_lane(sums[set], lane);
            own.out        = scratch.chain[part * turns + turn + i][team.thread()];
            return own;
        }
    }

    /// Keeps the chains of the turns from `turn` on.
    KVLOOM_FN void keep([[maybe_unused]] partial const (&own)[flight], [[maybe_unused]] int turn,
                        [[maybe_unused]] int set, [[maybe_unused]] int part)
    {
        if constexpr (in_registers) {
            KVLOOM_UNROLL
            for (int i = 0; i + flight < kept; ++i) {
                chain[i] = chain[i + flight];
            }
            KVLOOM_UNROLL
            for (int i = 0; i < flight; ++i) {
                chain[kept - flight + i] = own[i];
            }
        } else if constexpr (in_shared) {
            KVLOOM_UNROLL
            for (int i = 0; i < flight; ++i) {
                scratch.chain[part * turns + turn + i][team.thread()] = own[i].out;
                if (part == parts - 1) {
                    keep_mark(own[i], turn + i, set);
                }
            }
        }
    }

    /// The references and sums of row r lie in lane r % threads, as number r / threads.
    KVLOOM_FN void keep_mark(partial const& own, int turn, int set)
    {
        int const source = team.thread() % a_turn * a_row; // a lane that has such a row in this turn
        float const top  = a_turn == 1 ? own.top : from_lane(own.top, source);
        float const sum  = a_turn == 1 ? own.sum : from_lane(own.sum, source);
        bool const mine  = team.thread() / a_turn == turn % a_row;
        tops[set]        = mine ? top : tops[set];
        sums[set]        = mine ? sum : sums[set];
    }
    KVLOOM_FN float from_lane(float x, int lane) const
    {
        return bit_cast<float>(team.wave().shuffle(bit_cast<u32>(x), lane, site::here()));
    }

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

    /// Writes the result, if the segment is whole and this its last node; else a partial result, with the last part its
    /// marks.
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
    partial chain[kept];
    float tops[marks] = {};
    float sums[marks] = {};
};

} // namespace detail
} // namespace v0
} // namespace kvloom
