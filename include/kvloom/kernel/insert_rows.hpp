// SPDX-License-Identifier: MIT
// What the shapes of the fused insert share: gains, angles with an early guess, slots, and where each kind of
// row goes.
#pragma once

#include "kvloom/kernel/insert_plan.hpp"
#include "kvloom/kernel/insert_problem.hpp"
#include "kvloom/op/insert_values.hpp"
#include "kvloom/op/memory.hpp"
#include "kvloom/op/rope.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Rows of a token.
enum class row_kind { query, key, value, index_query, index_key };

template <class Problem, class Wave>
using insert_tile = tile_group<Wave, insert_lanes, rotary<Problem::rotary_dim>>;

template <class Wave, class Index>
KVLOOM_FN i64 load_index(Wave wave, Index const* from)
{
    using bits = conditional_t<sizeof(Index) == 8, u64, u32>;
    return bit_cast<Index>(wave.template load<bits>(from));
}

template <class Wave>
KVLOOM_FN float load_scale(Wave wave, float const* from)
{
    return bit_cast<float>(wave.template load<u32>(from));
}

/// The weights of a norm as loaded; nothing for norms without.
template <class Problem, class Tile>
struct stored_gain
{
    using types = insert_types<Problem>;

    stored_row<typename types::activation, Tile, types::dim> weights;

    KVLOOM_FN static stored_gain fetch(Tile tile, typename types::activation const* from)
    {
        if constexpr (types::weighted) {
            return {fetch_constant(tile, row_span<typename types::activation const, types::dim>{from})};
        } else {
            return {};
        }
    }

    /// The factor of each element, or no_gain.
    KVLOOM_FN auto factor() const
    {
        if constexpr (is_same_v<typename Problem::norm, unit_offset>) {
            return one_plus(widen(weights));
        } else if constexpr (is_same_v<typename Problem::norm, plain_gain>) {
            return widen(weights);
        } else {
            return no_gain{};
        }
    }
};

/// The angles of a token. read_hint() reads its position before dependency(), guess() fetches the angles of
/// what was found; settle() reads the position again and fetches anew if it has changed: the table is
/// constant, so an unchanged position proves them right.
template <class Problem, class Tile>
struct token_angles
{
    using types = insert_types<Problem>;

    Tile tile;
    insert_args<Problem> const& args;
    int token;
    i64 guessed = -1;
    bool inside = !types::turns; ///< whether the position lies in the table; known after settle()
    stored_angles<typename types::angle, Tile> stored{};

    KVLOOM_FN bool in_table(i64 position) const { return position >= 0 && position < args.angles.rows; }

    KVLOOM_FN void read_hint()
    {
        if constexpr (types::turns) {
            guessed = tile.wave.load_hint(args.positions + token);
        }
    }

    KVLOOM_FN void guess()
    {
        if constexpr (types::turns) {
            if (in_table(guessed)) {
                stored = fetch_angles(tile, args.angles, guessed);
            }
        }
    }

    KVLOOM_FN void settle()
    {
        if constexpr (types::turns) {
            i64 const position = load_index(tile.wave, args.positions + token);
            inside             = in_table(position);
            if (inside && position != guessed) {
                stored = fetch_angles(tile, args.angles, position);
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
        i64 const position = load_index(wave, args.positions + token);
        inside             = position >= 0 && position < args.angles.rows;
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

/// Norm and rotation of a loaded row: `r` from inverse_rms (not used without a norm).
template <class Problem, class Tile, class Gain>
KVLOOM_FN row<Tile, Problem::head_dim> finish_row(Tile tile, row<Tile, Problem::head_dim> y, float r,
                                                  Gain const& gain, angles<Tile> const& turn, site at)
{
    using types    = insert_types<Problem>;
    using numerics = typename types::numerics;
    using T        = typename types::activation;
    if constexpr (!is_same_v<typename Problem::norm, no_norm>) {
        if constexpr (numerics::round_before_gain && types::weighted) {
            y = weighted(tile, round_to<T>(scaled(tile, y, r, no_gain{})), gain);
        } else {
            y = scaled(tile, y, r, gain);
        }
        if constexpr (numerics::round_after_norm) {
            y = round_to<T>(y);
        }
    }
    if constexpr (types::turns) {
        y = rope_neox<conditional_t<numerics::rotate_in_activation, rotation_in<T>, fused_rotation>>(
            tile, y, turn, at);
    }
    return y;
}

/// 1 / rms of several loaded rows; ones without a norm.
template <class Problem, int Count, class Tile>
KVLOOM_FN vec<float, Count>
row_factors(Tile tile,
            stored_row<typename Problem::activation, Tile, Problem::head_dim> const (&stored)[Count],
            float eps, site at)
{
    if constexpr (is_same_v<typename Problem::norm, no_norm>) {
        return {};
    } else {
        rows<Tile, Problem::head_dim, Count> x;
        KVLOOM_UNROLL
        for (int i = 0; i < Count; ++i) {
            x[i] = widen(stored[i]);
        }
        return inverse_rms(tile, x, eps, at);
    }
}

/// y as it enters a cache of Element: through the activation type first where the contract says so.
template <class Problem, class Element, class Tile>
KVLOOM_FN row<Tile, Problem::head_dim> as_stored(row<Tile, Problem::head_dim> const& y)
{
    using types = insert_types<Problem>;
    if constexpr (types::numerics::keys_through_activation
                  && !is_same_v<Element, typename types::activation>) {
        return round_to<typename types::activation>(y);
    } else {
        return y;
    }
}

template <class Problem, class Tile>
KVLOOM_FN void put_key(Tile tile, insert_args<Problem> const& args, token_place where, int head,
                       row<Tile, Problem::head_dim> const& y, float scale)
{
    using types        = insert_types<Problem>;
    auto const rounded = as_stored<Problem, typename types::element>(y);
    insert<typename types::numerics::overflow>(tile, args.keys, where, head, rounded,
                                               types::scaling::quantiser(scale));
}

template <class Problem, class Tile>
KVLOOM_FN void put_value(Tile tile, insert_args<Problem> const& args, token_place where, int head,
                         row<Tile, Problem::head_dim> const& y, float scale)
{
    using types = insert_types<Problem>;
    insert<typename types::numerics::overflow>(tile, args.values, where, head, y,
                                               types::scaling::quantiser(scale));
}

template <class Problem, class Tile>
KVLOOM_FN void put_index_key(Tile tile, insert_args<Problem> const& args, token_place where,
                             row<Tile, Problem::head_dim> const& y)
{
    using types = insert_types<Problem>;
    insert<typename types::numerics::overflow>(tile, args.index_keys, where, 0,
                                               as_stored<Problem, typename types::index_key>(y));
}

template <class Problem, class Tile>
KVLOOM_FN void put_index_query(Tile tile, insert_args<Problem> const& args, int token, int head,
                               row<Tile, Problem::head_dim> const& y)
{
    using types       = insert_types<Problem>;
    auto const target = args.index_q_out.row(token, head);
    if constexpr (types::numerics::index_queries_through_activation) {
        store<typename types::numerics::overflow>(tile, target, round_to<typename types::activation>(y));
    } else {
        store<typename types::numerics::overflow>(tile, target, y);
    }
}

/// The dequant scale behind `from`, or 1 where the contract has none.
template <class Problem, class Wave>
KVLOOM_FN float scale_of(Wave wave, float const* from)
{
    if constexpr (insert_types<Problem>::scaling::reads_scale) {
        return load_scale(wave, from);
    } else {
        return 1.0F;
    }
}

} // namespace detail
} // namespace v0
} // namespace kvloom
