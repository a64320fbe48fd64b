// SPDX-License-Identifier: MIT
// What a token of the fused insert knows of itself: its position and angles, with an early guess, and its slots.
#pragma once

#include "kvloom/kernel/insert_args.hpp"
#include "kvloom/op/memory.hpp"
#include "kvloom/op/rope.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

template <class Problem, class Wave>
using insert_tile = tile_group<Wave, insert_types<Problem>::lanes, rotary<Problem::rotary_dim>>;

template <class Wave, class Index>
KVLOOM_FN i64 load_index(Wave wave, Index const* from)
{
    using bits = conditional_t<sizeof(Index) == 8, u64, u32>;
    return bit_cast<Index>(wave.template load<bits>(from));
}

/// What a problem's angles are fetched by: a position, or one for each section.
template <class Problem>
using token_positions =
    conditional_t<Problem::angle_source::count == 1, i64, section_positions<typename Problem::angle_source>>;

template <class Problem, class Wave>
KVLOOM_FN token_positions<Problem> load_positions(Wave wave, insert_args<Problem> const& args, int token)
{
    if constexpr (Problem::angle_source::count == 1) {
        return load_index(wave, args.positions + token);
    } else {
        token_positions<Problem> found;
        KVLOOM_UNROLL
        for (int i = 0; i < Problem::angle_source::count; ++i) {
            found.of[i] = load_index(wave, args.positions + i * args.position_stride + token);
        }
        return found;
    }
}

/// Whether the table has a row of this number.
template <class Problem>
KVLOOM_FN bool is_row(insert_args<Problem> const& args, i64 position)
{
    return u64(position) < u64(args.angles.rows);
}

/// Whether every position of a token lies in the table.
template <class Problem>
KVLOOM_FN bool in_table(insert_args<Problem> const& args, token_positions<Problem> const& positions)
{
    if constexpr (Problem::angle_source::count == 1) {
        return is_row(args, positions);
    } else {
        bool all = true;
        KVLOOM_UNROLL
        for (int i = 0; i < Problem::angle_source::count; ++i) {
            all = all && is_row(args, positions.of[i]);
        }
        return all;
    }
}

/// Positions that lie in the table, which has a row, in place of those that do not.
template <class Problem>
KVLOOM_FN token_positions<Problem> brought_inside(insert_args<Problem> const& args,
                                                  token_positions<Problem> positions)
{
    if constexpr (Problem::angle_source::count == 1) {
        return is_row(args, positions) ? positions : 0;
    } else {
        KVLOOM_UNROLL
        for (int i = 0; i < Problem::angle_source::count; ++i) {
            positions.of[i] = is_row(args, positions.of[i]) ? positions.of[i] : 0;
        }
        return positions;
    }
}

/// The angles of a token. read_hint() reads its position before dependency(), guess() fetches the angles of
/// what was found; settle() reads the position again and fetches anew if it has changed: the table is
/// constant, so an unchanged position proves them right. Positions by sections are not guessed. Who never
/// guesses calls settle<false>().
template <class Problem, class Tile>
struct token_angles
{
    using types = insert_types<Problem>;
    using pairs = typename types::pairing;
    using kept  = stored_angles<typename types::angle, Tile, pairs,
                               angles_are_vectors<pairs, token_positions<Problem>, types::rotary>>;

    static constexpr bool guesses = types::turns && Problem::angle_source::count == 1;

    Tile tile;
    insert_args<Problem> const& args;
    int token;
    i64 guessed = -1;
    bool inside = !types::turns; ///< whether the position lies in the table; known after settle()
    kept stored{};

    KVLOOM_FN void read_hint([[maybe_unused]] bool early)
    {
        if constexpr (guesses) {
            if (early) {
                guessed = tile.wave.load_hint(args.positions + token);
            }
        }
    }

    KVLOOM_FN void guess()
    {
        if constexpr (guesses) {
            if (in_table<Problem>(args, guessed)) {
                stored = fetch_angles_early<pairs>(tile, args.angles, guessed);
            }
        }
    }

    template <bool Guessed = guesses>
    KVLOOM_FN void settle()
    {
        if constexpr (types::turns) {
            auto const positions = load_positions<Problem>(tile.wave, args, token);
            inside               = in_table<Problem>(args, positions);
            bool fetched         = false;
            if constexpr (Guessed) {
                fetched = positions == guessed;
            }
            if (!fetched) { // of a position outside any angles: nothing that they turn is kept
                stored = fetch_angles<pairs>(tile, args.angles, brought_inside<Problem>(args, positions));
            }
        }
    }
};

/// The slot of a token that has one, -1 where it is not below `limit` or the token's position lies outside
/// the table. Slot and position are in flight together.
template <class Problem, class Wave>
KVLOOM_FN i64 usable_slot(Wave wave, insert_args<Problem> const& args, typename Problem::slot const* slots,
                          i64 limit, int token)
{
    i64 const slot = load_index(wave, slots + token);
    bool inside    = true;
    if constexpr (insert_types<Problem>::turns) {
        inside = in_table<Problem>(args, load_positions<Problem>(wave, args, token));
    }
    return inside && slot >= 0 && slot < limit ? slot : -1;
}

/// Slots that both caches have: a token whose slot lies beyond one of them enters neither.
template <class Problem>
KVLOOM_FN i64 slot_limit(insert_args<Problem> const& args)
{
    int const pages = args.keys.pages < args.values.pages ? args.keys.pages : args.values.pages;
    return i64(pages) * insert_types<Problem>::keys::page_size;
}

/// Adds one to a counter of a problem that counts faults. One lane calls for each fault.
template <class Problem, class Wave>
KVLOOM_FN void count_fault([[maybe_unused]] Wave wave, [[maybe_unused]] insert_args<Problem> const& args,
                           [[maybe_unused]] u32 fault_counts::*which, [[maybe_unused]] bool faulty)
{
    if constexpr (Problem::faults::counted) {
        if (faulty) {
            wave.increment(&(args.faults->*which));
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace kvloom
