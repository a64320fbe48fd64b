// SPDX-License-Identifier: MIT
// The long shapes of the fused insert: four rows a tile at once, V in windows, K of neighbouring tokens in
// neighbouring tiles.
#pragma once

#include "kvloom/kernel/insert_short.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Query heads of one token: `batches` batches of four rows a tile, from batch `first` on, each loaded before
/// the one before it is used.
template <class Problem, int Batches, bool Unroll, class Wave>
KVLOOM_FN void insert_queries(Wave wave, insert_args<Problem> const& args, int token, int first, int batches,
                              site at = site::here())
{
    using tile_type      = insert_tile<Problem, Wave>;
    using stored         = stored_row<typename Problem::activation, tile_type, Problem::head_dim>;
    constexpr int count  = insert_rows_at_once;
    constexpr int stride = tile_type::per_wave; // heads from one row of a tile to its next
    auto const tile      = tile_type{wave};
    auto const gain      = stored_gain<Problem, tile_type>::fetch(tile, args.q_gain);
    token_angles<Problem, tile_type> position{tile, args, token};
    wave.dependency();

    int const head         = first * count * stride + tile.index();
    auto const source      = args.q.row(token, head);
    auto const target      = args.q_out.row(token, head);
    auto const fetch_batch = [&](stored(&rows)[count], int batch) {
        KVLOOM_UNROLL
        for (int i = 0; i < count; ++i) {
            rows[i] = fetch(tile, row_span<typename Problem::activation const, Problem::head_dim>{
                                      source.data + args.q.ahead((batch * count + i) * stride)});
        }
    };
    stored now[count];
    stored next[count]{};
    angles<tile_type> turn{};
    fetch_batch(now, 0);
    position.settle();
    auto const row_at = [&](int i) {
        return row_span<typename Problem::activation, Problem::head_dim>{target.data
                                                                         + args.q_out.ahead(i * stride)};
    };
    if (!position.inside) {
        for (int i = 0; i < batches * count; ++i) {
            store(tile, row_at(i), row<tile_type, Problem::head_dim>{});
        }
        return;
    }
    auto const factor = gain.factor();

    auto const step = [&](int batch) {
        if (batch + 1 < batches) {
            fetch_batch(next, batch + 1);
        }
        auto const r = row_factors<Problem>(tile, now, args.eps, at);
        if (batch == 0) {
            turn = widen(tile, position.stored);
        }
        KVLOOM_UNROLL
        for (int i = 0; i < count; ++i) {
            forget_widened(tile, now[i]);
            store(tile, row_at(batch * count + i),
                  finish_row<Problem>(tile, widen(now[i]), r[i], factor, turn, at));
        }
        KVLOOM_UNROLL
        for (int i = 0; i < count; ++i) {
            now[i] = next[i];
        }
    };
    if constexpr (Unroll) {
        KVLOOM_UNROLL
        for (int batch = 0; batch < Batches; ++batch) {
            if (batch < batches) {
                step(batch);
            }
        }
    } else {
        for (int batch = 0; batch < batches; ++batch) {
            step(batch);
        }
    }
}

/// The rows that insert_keys takes of a token, in the order [k | v | index_q | index_k]; v only where it leaves
/// row by row. The same for all tiles of a wave.
template <class Problem>
struct key_rows
{
    using types = insert_types<Problem>;

    insert_args<Problem> const& args;

    KVLOOM_FN int values() const { return types::values_by_rows ? args.k.heads : 0; }
    KVLOOM_FN int first_index() const { return args.k.heads + values(); }
    KVLOOM_FN int count() const
    {
        return first_index() + (types::index::present ? args.index_q.heads + 1 : 0);
    }

    KVLOOM_FN row_kind kind(int m) const
    {
        if (m < args.k.heads) {
            return row_kind::key;
        }
        if (m < first_index()) {
            return row_kind::value;
        }
        return m < count() - 1 ? row_kind::index_query : row_kind::index_key;
    }

    /// Row m of a token; beyond the last row some row that exists.
    KVLOOM_FN auto source(int m, int token) const
    {
        if constexpr (types::index::present) {
            if (m >= count() - 1) {
                return args.index_k.row(token, 0);
            }
            if (m >= first_index()) {
                return args.index_q.row(token, m - first_index());
            }
        }
        if constexpr (types::values_by_rows) {
            if (m >= args.k.heads) {
                return args.v.row(token, m < first_index() ? m - args.k.heads : 0);
            }
        }
        return args.k.row(token, m < args.k.heads ? m : 0);
    }

    /// Whether row m of a token is there to be read: padded tokens have only queries.
    KVLOOM_FN bool present(int m, int token) const
    {
        if (m >= count() || token >= args.tokens) {
            return false;
        }
        row_kind const k = kind(m);
        return k == row_kind::index_query
               || token < (k == row_kind::index_key ? args.index_slot_count : args.slot_count);
    }

    KVLOOM_FN auto gain(row_kind k) const
    {
        return k == row_kind::key           ? args.k_gain
               : k == row_kind::index_query ? args.index_q_gain
                                            : args.index_k_gain;
    }
};

/// Four of the rows of neighbouring tokens, a token a tile, so that K leaves in whole sectors.
template <class Problem, class Wave>
KVLOOM_FN void insert_keys(Wave wave, insert_args<Problem> const& args, int first_token, int part,
                           site at = site::here())
{
    using types         = insert_types<Problem>;
    using tile_type     = insert_tile<Problem, Wave>;
    constexpr int count = insert_rows_at_once;
    auto const tile     = tile_type{wave};
    int const token     = first_token + tile.index();
    bool const live     = token < args.tokens;
    int const safe      = live ? token : args.tokens - 1;
    auto const list     = key_rows<Problem>{args};

    token_angles<Problem, tile_type> position{tile, args, safe};
    wave.dependency();
    stored_row<typename Problem::activation, tile_type, Problem::head_dim> stored[count];
    KVLOOM_UNROLL
    for (int i = 0; i < count; ++i) {
        int const m = part * count + i;
        stored[i]   = fetch(tile, list.source(m, safe), list.present(m, token));
    }
    i64 slot       = live && token < args.slot_count ? load_index(wave, args.slots + token) : -1;
    i64 index_slot = -1;
    if constexpr (types::index::present) {
        index_slot = live && token < args.index_slot_count ? load_index(wave, args.index_slots + token) : -1;
    }
    float const key_scale = scale_of<Problem>(wave, args.key_scale);
    [[maybe_unused]] float const value_scale =
        types::values_by_rows ? scale_of<Problem>(wave, args.value_scale) : 1.0F;
    position.settle();
    slot       = position.inside && slot < slot_limit(args) ? slot : -1;
    index_slot = position.inside ? index_slot : -1;

    auto const where       = place(args.keys, slot);
    auto const index_where = place(args.index_keys, index_slot);
    auto const r           = row_factors<Problem>(tile, stored, args.eps, at);
    auto const turn        = widen(tile, position.stored);
    KVLOOM_UNROLL
    for (int i = 0; i < count; ++i) {
        int const m = part * count + i;
        if (m >= list.count()) {
            break;
        }
        row_kind const kind = list.kind(m);
        if constexpr (types::values_by_rows) {
            if (kind == row_kind::value) {
                put_value(tile, args, place(args.values, slot), m - args.k.heads, widen(stored[i]),
                          value_scale);
                continue;
            }
        }
        auto const gain = stored_gain<Problem, tile_type>::fetch(tile, list.gain(kind));
        auto y          = finish_row<Problem>(tile, widen(stored[i]), r[i], gain.factor(), turn, at);
        if (kind == row_kind::key) {
            put_key(tile, args, where, m, y, key_scale);
        } else if constexpr (types::index::present) {
            if (kind == row_kind::index_query) {
                if (!position.inside) {
                    y = {};
                }
                if (live) {
                    put_index_query(tile, args, token, m - list.first_index(), y);
                }
            } else {
                put_index_key(tile, args, index_where, y);
            }
        }
    }
}

} // namespace detail

template <class Problem, insert_shape Shape>
struct insert_long
{
    static constexpr launch_bounds bounds = {128, Shape == insert_shape::long_wide ? 6 : 7, 4};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, insert_launch<Problem> const& launch) const
    {
        using wave_type       = typename Block::wave_type;
        constexpr auto tuning = insert_tuning_for(wave_type::arch, Shape);
        auto const& args      = launch.args;
        auto const& plan      = launch.plan;
        auto const wave       = block.wave();
        wave.release_dependents();
        i64 const wide = i64(block.index()) * Block::waves + block.wave_index();
        if (wide >= plan.waves) {
            return;
        }
        int const tile  = quotient(int(wide), plan.by_tile);
        int const first = tile * plan.tile_tokens;
        int item        = int(wide) - tile * int(plan.by_tile.divisor);
        if (item < plan.value_items) {
            if constexpr (!insert_types<Problem>::values_by_rows) {
                put_values<tuning.value_heads>(wave, args, first, item, plan);
            }
            return;
        }
        item -= plan.value_items;
        if (item < plan.key_items) {
            int const group = quotient(item, plan.by_key);
            int const token = first + group * (wave_type::size / insert_lanes);
            if (token < args.tokens) {
                detail::insert_keys<Problem>(wave, args, token, item - group * int(plan.by_key.divisor));
            }
            return;
        }
        item -= plan.key_items;
        int const inside  = quotient(item, plan.by_token);
        int const segment = item - inside * int(plan.by_token.divisor);
        int const token   = first + inside;
        if (token >= args.tokens) {
            return;
        }
        if (segment < plan.query_items) {
            int const batch = segment * tuning.batches;
            int const count = plan.batches - batch < tuning.batches ? plan.batches - batch : tuning.batches;
            detail::insert_queries<Problem, tuning.batches, tuning.unroll>(wave, args, token, batch, count);
        } else {
            constexpr int tiles = wave_type::size / insert_lanes;
            int const done      = plan.batches * tiles * insert_rows_at_once;
            int const head      = done + (segment - plan.query_items) * tiles + wave.lane() / insert_lanes;
            detail::insert_one_row<Problem, detail::row_kind::query>(wave, args, token, head);
        }
    }

private:
    template <int Heads, class Wave>
    KVLOOM_FN static void put_values(Wave wave, insert_args<Problem> const& args, int first, int item,
                                     insert_plan const& plan)
    {
        using types          = insert_types<Problem>;
        using split          = value_split<Wave, types::dim, Heads>;
        constexpr int window = split::template window<typename types::element>;
        int const group      = quotient(item, plan.by_value);
        int const start      = first + group * window;
        int const count      = args.slot_count < args.tokens ? args.slot_count : args.tokens;
        if (start >= count) {
            return;
        }
        wave.dependency();
        float const scale  = detail::scale_of<Problem>(wave, args.value_scale);
        auto const slot_of = [&](int token) {
            return detail::usable_slot(wave, args, args.slots, detail::slot_limit(args), token);
        };
        insert_values<split, typename types::numerics::overflow>(wave, args.v, args.values, start, count,
                                                                 item - group * int(plan.by_value.divisor),
                                                                 slot_of, types::scaling::quantiser(scale));
    }
};

} // namespace v0
} // namespace kvloom
