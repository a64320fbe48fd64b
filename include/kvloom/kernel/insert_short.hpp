// SPDX-License-Identifier: MIT
// The short shape of the fused insert: one row a tile, one V row a wave; the shortest chain from launch to
// store.
#pragma once

#include "kvloom/group/launch_bounds.hpp"
#include "kvloom/kernel/insert_plan.hpp"
#include "kvloom/kernel/insert_values_rule.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// The row of which a tile prepares one head. `Kind` is row_kind, the same for all lanes of the wave, or a
/// kind_constant.
template <class Problem, class Kind = row_kind>
struct row_at_hand
{
    using types      = insert_types<Problem>;
    using activation = typename types::activation;

    insert_args<Problem> const& args;
    Kind kind;

    KVLOOM_FN auto const& source() const
    {
        return kind == row_kind::query         ? args.q
               : kind == row_kind::key         ? args.k
               : kind == row_kind::value       ? args.v
               : kind == row_kind::index_query ? args.index_q
                                               : args.index_k;
    }

    /// The weights of a head, or null where this kind has none.
    KVLOOM_FN activation const* gain(int head) const
    {
        return with_kind<Problem>(kind, [&](auto of) -> activation const* {
            if constexpr (!types::template weighted<typename types::template norm_of<of.value>>) {
                return nullptr;
            } else {
                activation const* const base = kind == row_kind::query         ? args.q_gain
                                               : kind == row_kind::key         ? args.k_gain
                                               : kind == row_kind::value       ? args.v_gain
                                               : kind == row_kind::index_query ? args.index_q_gain
                                                                               : args.index_k_gain;
                return types::template over_vector_of<of.value> ? base + head * types::dim : base;
            }
        });
    }

    KVLOOM_FN bool cached() const { return kind != row_kind::query && kind != row_kind::index_query; }
    KVLOOM_FN bool indexed() const { return kind == row_kind::index_query || kind == row_kind::index_key; }

    /// Whether a row is read for a token at all: without dense outputs of keys, padding is not.
    KVLOOM_FN bool wanted(int token) const
    {
        bool const dense = Problem::keys_out && kind != row_kind::value;
        return !cached() || dense || token < (indexed() ? args.index_slot_count : args.slot_count);
    }

    template <class Wave>
    KVLOOM_FN i64 load_slot(Wave wave, int token) const
    {
        auto const* const slots = indexed() ? args.index_slots : args.slots;
        int const count         = indexed() ? args.index_slot_count : args.slot_count;
        return cached() && token < count ? load_index(wave, slots + token) : -1;
    }

    /// The given scale of the row; 1 where there is none.
    template <class Wave>
    KVLOOM_FN float load_scale(Wave wave, int head) const
    {
        if (kind == row_kind::query) {
            return query_scale(wave, args);
        }
        if (kind == row_kind::key || kind == row_kind::value) {
            return given_scale<Problem>(wave, kind == row_kind::key ? args.key_scale : args.value_scale,
                                        head);
        }
        return 1.0F;
    }

    /// Whether this row's tile counts the faults of its token's position, and of its slot: the first head of the
    /// first section that the launch has.
    KVLOOM_FN bool counts_position(int head) const
    {
        bool const first =
            kind == row_kind::query ? true
            : kind == row_kind::key ? args.q.heads == 0
            : kind == row_kind::index_query
                ? args.q.heads + args.k.heads == 0
                : kind == row_kind::index_key && args.q.heads + args.k.heads + args.index_q.heads == 0;
        return first && head == 0;
    }
};

/// 1 / rms, norm, weights and rotation of a tile's row.
template <class Problem, class Kind, class Tile, class Stored>
KVLOOM_FN row<Tile, Problem::head_dim>
prepare_row(Tile tile, row_at_hand<Problem, Kind> const& at_hand, Stored const& stored,
            stored_gain<Problem, Tile> const& gain, int token, angles<Tile> const& turn, site at)
{
    using types = insert_types<Problem>;
    return with_kind<Problem>(at_hand.kind, [&](auto of) {
        constexpr row_kind kind = of.value;
        using norm              = typename types::template norm_of<kind>;
        float r                 = 1.0F;
        if constexpr (types::template over_vector_of<kind>) {
            r = vector_factor(tile, at_hand.source(), token, at_hand.args.eps, at);
        } else {
            Stored const one[1] = {stored};
            r                   = row_factors<!is_same_v<norm, no_norm>>(tile, one, at_hand.args.eps, at)[0];
        }
        auto const y = normalised<Problem, norm>(tile, widen(stored), r, gain.template factor<norm>());
        if constexpr (kind == row_kind::value) {
            return y;
        } else {
            return rotated<Problem>(tile, y, turn, at);
        }
    });
}

/// Dense outputs of a row: queries, and keys where the problem has them out.
template <class Problem, class Kind, class Tile>
KVLOOM_FN void put_dense(Tile tile, row_at_hand<Problem, Kind> const& at_hand, int token, int head,
                         row<Tile, Problem::head_dim> const& y, float scale)
{
    auto const& args = at_hand.args;
    if (at_hand.kind == row_kind::query) {
        put_query<Problem>(tile, args.q_out.row(token, head), y, scale);
    }
    if constexpr (insert_types<Problem>::index::present) {
        if (at_hand.kind == row_kind::index_query) {
            put_index_query(tile, args, token, head, y);
        }
    }
    if constexpr (Problem::keys_out) {
        if (at_hand.kind == row_kind::key) {
            store(tile, args.k_out.row(token, head), y);
        }
        if constexpr (insert_types<Problem>::index::present) {
            if (at_hand.kind == row_kind::index_key) {
                store(tile, args.index_k_out.row(token, head), y);
            }
        }
    }
}

/// A row of K, V or the index key into its cache. Every lane of the wave calls; `live` where the tile has a row.
template <class Problem, class Kind, class Tile>
KVLOOM_FN void put_in_cache(Tile tile, row_at_hand<Problem, Kind> const& at_hand, i64 slot, int head,
                            bool live, row<Tile, Problem::head_dim> const& y, float scale,
                            [[maybe_unused]] site at)
{
    using types      = insert_types<Problem>;
    auto const& args = at_hand.args;
    if constexpr (types::found_scales) {
        if (at_hand.kind == row_kind::key || at_hand.kind == row_kind::value) {
            vec<float, 1> const held = {{held_for_scale<Problem>(y)}};
            scale                    = scale_of_row<Problem>(largest_sorted(tile, held, at));
        }
    }
    i64 const there = live ? slot : -1;
    i64 const both  = there < slot_limit(args) ? there : -1;
    auto const by   = cache_quantiser<Problem>(scale);
    if (at_hand.kind == row_kind::key) {
        put_cached<Problem, false>(tile, args.keys, place(args.keys, both), head, y, by);
        if (tile.rank() == 0) {
            put_scale<Problem>(tile.wave, args.key_scales, place(args.keys, both), head, scale);
        }
    }
    if constexpr (types::values_by_rows) {
        if (at_hand.kind == row_kind::value) {
            constexpr bool copied = is_same_v<typename types::v_norm, no_norm>;
            put_cached<Problem, copied>(tile, args.values, place(args.values, both), head, y, by);
            if (tile.rank() == 0) {
                put_scale<Problem>(tile.wave, args.value_scales, place(args.values, both), head, scale);
            }
        }
    }
    if constexpr (types::index::present) {
        if (at_hand.kind == row_kind::index_key) {
            put_index_key(tile, args, place(args.index_keys, there), y);
        }
    }
}

/// One row a tile, `head` of a token: the shortest chain from launch to store. Rows of one kind a wave. Whatever
/// has no place (padding, a position outside the table) runs along and stores nothing: an early way out would let
/// the compiler move loads behind it.
template <class Problem, class Kind, class Wave>
KVLOOM_FN void insert_one_row(Wave wave, insert_args<Problem> const& args, Kind kind, int token, int head,
                              bool early, site at = site::here())
{
    using tile_type    = insert_tile<Problem, Wave>;
    auto const tile    = tile_type{wave};
    auto const at_hand = row_at_hand<Problem, Kind>{args, kind};

    token_angles<Problem, tile_type> position{tile, args, token};
    position.read_hint(early);
    auto const& source = at_hand.source();
    bool const live    = head < source.heads;
    int const safe     = live ? head : 0;
    auto const gain    = stored_gain<Problem, tile_type>::fetch(tile, at_hand.gain(safe));
    position.guess();
    wave.dependency();

    auto const stored = fetch(tile, source.row(token, safe), at_hand.wanted(token));
    i64 slot          = at_hand.load_slot(wave, token);
    float const scale = at_hand.load_scale(wave, safe);
    position.settle();
    if constexpr (Problem::faults::counted) {
        bool const first = head == 0 && tile.rank() == 0;
        count_fault(wave, args, &fault_counts::positions,
                    first && !position.inside && at_hand.counts_position(head));
        count_fault(wave, args, &fault_counts::slots,
                    first && kind == row_kind::key && slot >= slot_limit(args));
        count_fault(wave, args, &fault_counts::index_slots,
                    first && kind == row_kind::index_key
                        && slot >= i64(args.index_keys.pages) * Problem::index::page_size);
    }
    slot         = position.inside ? slot : -1;
    auto const y = prepare_row(tile, at_hand, stored, gain, token, widen(tile, position.stored), at);
    if (live) {
        put_dense(tile, at_hand, token, head, y, scale);
        if (!position.inside) {
            put_dense(tile, at_hand, token, head, row<tile_type, Problem::head_dim>{}, scale);
        }
    }
    if (at_hand.cached()) {
        put_in_cache(tile, at_hand, slot, head, live, y, scale, at);
    }
}

} // namespace detail

/// Arguments of a launch: the user's and the plan made of them.
template <class Problem>
struct insert_launch
{
    insert_plan plan;
    insert_args<Problem> args;
};

template <class Problem>
struct insert_short
{
    static constexpr launch_bounds bounds = {128, 1, 1, true};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, insert_launch<Problem> const& launch) const
    {
        auto const& args = launch.args;
        auto const wave  = block.wave();
        wave.touch_arguments(launch);
        wave.release_dependents();
        i64 const item = i64(block.index()) * Block::waves + block.wave_index();
        if (item >= launch.plan.waves) {
            return;
        }
        int const token = quotient(int(item), launch.plan.by_tile);
        insert_part(wave, args, launch.plan, token, int(item) - token * int(launch.plan.by_tile.divisor));
    }

private:
    /// The parts of a token: V rows, a wave each (a tile each where V leaves row by row), then rows of each
    /// kind, one a tile.
    template <class Wave>
    KVLOOM_FN static void insert_part(Wave wave, insert_args<Problem> const& args, insert_plan const& plan,
                                      int token, int part)
    {
        using types         = insert_types<Problem>;
        constexpr int tiles = Wave::size / types::lanes;
        int const tile      = wave.lane() / types::lanes;
        auto const put      = [&](auto kind) {
            detail::insert_one_row(wave, args, kind, token, part * tiles + tile, plan.early);
        };
        if (part < plan.value_items) {
            if constexpr (types::values_by_rows) {
                put(detail::kind_constant<row_kind::value>{});
            } else {
                insert_value(wave, args, token, part);
            }
            return;
        }
        part -= plan.value_items;
        if (part < plan.query_items) {
            put(detail::kind_constant<row_kind::query>{});
            return;
        }
        part -= plan.query_items;
        if (part < plan.key_items) {
            put(detail::kind_constant<row_kind::key>{});
            return;
        }
        if constexpr (types::index::present) {
            part -= plan.key_items;
            if (part * tiles < args.index_q.heads) {
                put(detail::kind_constant<row_kind::index_query>{});
            } else {
                part = 0;
                put(detail::kind_constant<row_kind::index_key>{});
            }
        }
    }

    template <class Wave>
    KVLOOM_FN static void insert_value(Wave wave, insert_args<Problem> const& args, int token, int head)
    {
        using types = insert_types<Problem>;
        wave.dependency();
        if (token >= args.slot_count) {
            return;
        }
        auto const rule       = detail::value_rule(wave, args);
        auto const find_place = [&] {
            return place(args.values,
                         detail::usable_slot(wave, args, args.slots, detail::slot_limit(args), token));
        };
        insert_value_row<typename types::numerics::overflow>(wave, args.v.row(token, head), args.values, head,
                                                             find_place, rule);
    }
};

} // namespace v0
} // namespace kvloom
