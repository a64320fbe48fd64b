// SPDX-License-Identifier: MIT
// The short shape of the fused insert: one row a tile, one V row a wave; the shortest chain from launch to
// store.
#pragma once

#include "kvloom/group/launch_bounds.hpp"
#include "kvloom/kernel/insert_rows.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

template <row_kind Kind, class Problem>
KVLOOM_FN auto const& source_of(insert_args<Problem> const& args)
{
    if constexpr (Kind == row_kind::query) {
        return args.q;
    } else if constexpr (Kind == row_kind::key) {
        return args.k;
    } else if constexpr (Kind == row_kind::index_query) {
        return args.index_q;
    } else {
        return args.index_k;
    }
}

template <row_kind Kind, class Problem>
KVLOOM_FN auto gain_of(insert_args<Problem> const& args)
{
    if constexpr (Kind == row_kind::query) {
        return args.q_gain;
    } else if constexpr (Kind == row_kind::key) {
        return args.k_gain;
    } else if constexpr (Kind == row_kind::index_query) {
        return args.index_q_gain;
    } else {
        return args.index_k_gain;
    }
}

/// Writes a finished row; for rows of a cache `slot` negative: nothing.
template <row_kind Kind, class Problem, class Tile>
KVLOOM_FN void put_row(Tile tile, insert_args<Problem> const& args, int token, int head,
                       [[maybe_unused]] i64 slot, row<Tile, Problem::head_dim> const& y,
                       [[maybe_unused]] float scale)
{
    if constexpr (Kind == row_kind::query) {
        store(tile, args.q_out.row(token, head), y);
    } else if constexpr (Kind == row_kind::key) {
        put_key(tile, args, place(args.keys, slot < slot_limit(args) ? slot : -1), head, y, scale);
    } else if constexpr (Kind == row_kind::index_query) {
        put_index_query(tile, args, token, head, y);
    } else {
        put_index_key(tile, args, place(args.index_keys, slot), y);
    }
}

/// One row a tile, head `part * tiles + tile` of a token: the shortest chain from launch to store. Rows of
/// one kind a wave, so that little code is fetched. A padded token's key is not read.
template <class Problem, row_kind Kind, class Wave>
KVLOOM_FN void insert_one_row(Wave wave, insert_args<Problem> const& args, int token, int head,
                              site at = site::here())
{
    using types           = insert_types<Problem>;
    using tile_type       = insert_tile<Problem, Wave>;
    constexpr bool cached = Kind == row_kind::key || Kind == row_kind::index_key;
    auto const tile       = tile_type{wave};

    token_angles<Problem, tile_type> position{tile, args, token};
    position.read_hint();
    auto const gain = stored_gain<Problem, tile_type>::fetch(tile, gain_of<Kind>(args));
    position.guess();
    wave.dependency_after(position.guessed);

    if (cached && token >= (Kind == row_kind::key ? args.slot_count : args.index_slot_count)) {
        return;
    }
    auto const& source                                                            = source_of<Kind>(args);
    bool const live                                                               = head < source.heads;
    stored_row<typename types::activation, tile_type, types::dim> const stored[1] = {
        fetch(tile, source.row(token, live ? head : 0))};
    i64 slot = -1;
    if constexpr (cached) {
        slot = load_index(wave, (Kind == row_kind::key ? args.slots : args.index_slots) + token);
    }
    float scale = 1.0F;
    if constexpr (Kind == row_kind::key) {
        scale = scale_of<Problem>(wave, args.key_scale);
    }
    position.settle();
    if (!position.inside) { // the same for all rows of the wave
        if (live && !cached) {
            put_row<Kind>(tile, args, token, head, -1, row<tile_type, types::dim>{}, scale);
        }
        return;
    }
    float const r = row_factors<Problem>(tile, stored, args.eps, at)[0];
    auto const y =
        finish_row<Problem>(tile, widen(stored[0]), r, gain.factor(), widen(tile, position.stored), at);
    if (live) {
        put_row<Kind>(tile, args, token, head, slot, y, scale);
    }
}

/// V of one head a tile, for caches that it enters row by row.
template <class Problem, class Wave>
KVLOOM_FN void insert_one_value(Wave wave, insert_args<Problem> const& args, int token, int head)
{
    auto const tile = insert_tile<Problem, Wave>{wave};
    bool const live = head < args.v.heads;
    wave.dependency();
    if (token >= args.slot_count) {
        return;
    }
    auto const stored = fetch(tile, args.v.row(token, live ? head : 0));
    i64 const slot    = usable_slot(wave, args, args.slots, slot_limit(args), token);
    float const scale = scale_of<Problem>(wave, args.value_scale);
    if (live) {
        put_value(tile, args, place(args.values, slot), head, widen(stored), scale);
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
    static constexpr launch_bounds bounds = {128, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, insert_launch<Problem> const& launch) const
    {
        auto const& args = launch.args;
        auto const wave  = block.wave();
        wave.release_dependents();
        i64 const item = i64(block.index()) * Block::waves + block.wave_index();
        if (item >= launch.plan.waves) {
            return;
        }
        int const token = quotient(int(item), launch.plan.by_tile);
        insert_part(wave, args, launch.plan, token, int(item) - token * int(launch.plan.by_tile.divisor));
    }

private:
    /// The parts of a token: V rows, a wave each (a tile each where V leaves row by row), then rows of each kind, one a tile.
    template <class Wave>
    KVLOOM_FN static void insert_part(Wave wave, insert_args<Problem> const& args, insert_plan const& plan,
                                      int token, int part)
    {
        using detail::row_kind;
        constexpr int tiles = Wave::size / insert_lanes;
        int const tile      = wave.lane() / insert_lanes;
        if (part < plan.value_items) {
            if constexpr (insert_types<Problem>::values_by_rows) {
                detail::insert_one_value(wave, args, token, part * tiles + tile);
            } else {
                insert_value(wave, args, token, part);
            }
            return;
        }
        part -= plan.value_items;
        if (part < plan.query_items) {
            detail::insert_one_row<Problem, row_kind::query>(wave, args, token, part * tiles + tile);
            return;
        }
        part -= plan.query_items;
        if (part < plan.key_items) {
            detail::insert_one_row<Problem, row_kind::key>(wave, args, token, part * tiles + tile);
            return;
        }
        if constexpr (insert_types<Problem>::index::present) {
            part -= plan.key_items;
            if (part * tiles < args.index_q.heads) {
                detail::insert_one_row<Problem, row_kind::index_query>(wave, args, token,
                                                                       part * tiles + tile);
            } else {
                detail::insert_one_row<Problem, row_kind::index_key>(wave, args, token, tile);
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
        float const scale     = detail::scale_of<Problem>(wave, args.value_scale);
        auto const find_place = [&] {
            return place(args.values,
                         detail::usable_slot(wave, args, args.slots, detail::slot_limit(args), token));
        };
        insert_value_row<typename types::numerics::overflow>(wave, args.v.row(token, head), args.values, head,
                                                             find_place, types::scaling::quantiser(scale));
    }
};

} // namespace v0
} // namespace kvloom
