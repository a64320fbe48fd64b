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

/// Four of the rows [k | index_q | index_k] of neighbouring tokens, a token a tile, so that K leaves in whole
/// sectors.
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
    int const kv_heads  = args.k.heads;
    int const all_heads = kv_heads + (types::index::present ? args.index_q.heads + 1 : 0);
    int const last      = args.tokens - 1;

    token_angles<Problem, tile_type> position{tile, args, live ? token : last};
    wave.dependency();
    stored_row<typename Problem::activation, tile_type, Problem::head_dim> stored[count];
    KVLOOM_UNROLL
    for (int i = 0; i < count; ++i) {
        int const m  = part * count + i;
        auto from    = args.k.row(live ? token : last, m < kv_heads ? m : 0);
        bool present = m < kv_heads && token < args.slot_count;
        if constexpr (types::index::present) {
            if (m >= kv_heads) {
                bool const query = m < all_heads - 1;
                from             = query ? args.index_q.row(live ? token : last, m - kv_heads)
                                         : args.index_k.row(live ? token : last, 0);
                present          = query || (m < all_heads && token < args.index_slot_count);
            }
        }
        stored[i] = fetch(tile, from, live && present);
    }
    i64 slot       = live && token < args.slot_count ? load_index(wave, args.slots + token) : -1;
    i64 index_slot = -1;
    if constexpr (types::index::present) {
        index_slot = live && token < args.index_slot_count ? load_index(wave, args.index_slots + token) : -1;
    }
    float const scale = scale_of<Problem>(wave, args.key_scale);
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
        if (m >= all_heads) {
            break;
        }
        bool const index_query = types::index::present && m >= kv_heads && m < all_heads - 1;
        auto const weights = m < kv_heads ? args.k_gain : index_query ? args.index_q_gain : args.index_k_gain;
        auto const gain    = stored_gain<Problem, tile_type>::fetch(tile, weights);
        auto y             = finish_row<Problem>(tile, widen(stored[i]), r[i], gain.factor(), turn, at);
        if (m < kv_heads) {
            put_key(tile, args, where, m, y, scale);
        } else if constexpr (types::index::present) {
            if (index_query) {
                if (!position.inside) {
                    y = {};
                }
                if (live) {
                    put_index_query(tile, args, token, m - kv_heads, y);
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
            put_values<tuning.value_heads>(wave, args, first, item, plan);
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
