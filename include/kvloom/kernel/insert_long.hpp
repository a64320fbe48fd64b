// SPDX-License-Identifier: MIT
// The long shapes of the fused insert: four rows a tile at once, V in windows, K of neighbouring tokens in
// neighbouring tiles.
#pragma once

#include "kvloom/kernel/insert_keys.hpp"
#include "kvloom/kernel/insert_short.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Rows of q that a tile holds between load and use.
template <class Problem, class Tile>
struct query_batch
{
    using types      = insert_types<Problem>;
    using activation = typename types::activation;

    static constexpr int count = types::rows_at_once;

    stored_row<activation, Tile, types::dim> rows[count];

    /// The rows of batch `batch` behind the row at `source`.
    KVLOOM_FN void fetch(Tile tile, insert_args<Problem> const& args,
                         row_span<activation const, types::dim> source, int batch)
    {
        KVLOOM_UNROLL
        for (int i = 0; i < count; ++i) {
            i64 const ahead = args.q.ahead((batch * count + i) * Tile::per_wave);
            rows[i] = kvloom::fetch(tile, row_span<activation const, types::dim>{source.data + ahead});
        }
    }
};

/// Query heads of one token: `batches` batches of rows_at_once rows a tile, from batch `first` on, each loaded
/// before the one before it is used.
template <class Problem, int Batches, bool Unroll, class Wave>
KVLOOM_FN void insert_queries(Wave wave, insert_args<Problem> const& args, int token, int first, int batches,
                              site at = site::here())
{
    using types                = insert_types<Problem>;
    using tile_type            = insert_tile<Problem, Wave>;
    using batch_type           = query_batch<Problem, tile_type>;
    using norm                 = typename types::q_norm;
    constexpr int count        = types::rows_at_once;
    constexpr bool over_vector = types::template over_vector_of<row_kind::query>;
    auto const tile            = tile_type{wave};
    int const head             = first * count * tile_type::per_wave + tile.index();
    auto const gain_of         = [&](int ahead) {
        auto const* const base = types::template weighted<norm> ? args.q_gain : nullptr;
        return stored_gain<Problem, tile_type>::fetch(
                    tile, over_vector && base != nullptr ? base + (head + ahead) * types::dim : base);
    };
    auto const gain = gain_of(0);
    token_angles<Problem, tile_type> position{tile, args, token};
    wave.dependency();

    auto const source = args.q.row(token, head);
    auto const target = args.q_out.row(token, head);
    batch_type now;
    batch_type next{};
    angles<tile_type> turn{};
    now.fetch(tile, args, source, 0);
    float const scale = query_scale(wave, args);
    position.settle();
    count_fault(wave, args, &fault_counts::positions,
                !position.inside && first == 0 && tile.index() == 0 && tile.rank() == 0);
    auto const put = [&](int i, row<tile_type, types::dim> const& y) {
        put_query<Problem>(tile, {target.data + args.q_out.ahead(i * tile_type::per_wave)}, y, scale);
    };
    float whole = 1.0F;
    if constexpr (over_vector) {
        whole = vector_factor(tile, args.q, token, args.eps, at);
    }
    auto const factor = gain.template factor<norm>();
    // Where batches are straight-line code the angles may arrive after the first rows; a loop would ask at each turn.
    if constexpr (!Unroll) {
        turn = widen(tile, position.stored);
    }

    constexpr bool own_factors = !over_vector && !is_same_v<norm, no_norm>;
    auto const step            = [&](int batch) {
        if (batch + 1 < batches) {
            next.fetch(tile, args, source, batch + 1);
        }
        auto const r = row_factors<own_factors>(tile, now.rows, args.eps, at);
        if (Unroll && batch == 0) {
            turn = widen(tile, position.stored);
        }
        KVLOOM_UNROLL
        for (int i = 0; i < count; ++i) {
            forget_widened(tile, now.rows[i]);
            auto const x = widen(now.rows[i]);
            if constexpr (over_vector) {
                auto const own = gain_of((batch * count + i) * tile_type::per_wave);
                put(batch * count + i,
                               rotated<Problem>(tile,
                                     normalised<Problem, norm>(tile, x, whole, own.template factor<norm>()),
                                     turn, at));
            } else {
                put(batch * count + i,
                               rotated<Problem>(tile, normalised<Problem, norm>(tile, x, r[i], factor), turn, at));
            }
        }
        now = next;
    };
    if constexpr (Unroll) {
        KVLOOM_UNROLL
        for (int batch = 0; batch < Batches; ++batch) {
            if (batch < batches) {
                step(batch);
            }
        }
    } else {
        KVLOOM_UNROLL_BY(1)
        for (int batch = 0; batch < batches; ++batch) {
            step(batch);
        }
    }
    // Behind the loop: a way out ahead of it would let the compiler move the rows' loads behind the position's.
    if (!position.inside) {
        for (int i = 0; i < batches * count; ++i) {
            put(i, row<tile_type, types::dim>{});
        }
    }
}

} // namespace detail

template <class Problem, insert_shape Shape>
struct insert_long
{
    static constexpr launch_bounds bounds = {128, Shape == insert_shape::long_wide ? 6 : 7, 4, true};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, insert_launch<Problem> const& launch) const
    {
        using types           = insert_types<Problem>;
        using wave_type       = typename Block::wave_type;
        constexpr auto tuning = insert_tuning_for(wave_type::arch, Shape);
        constexpr int tiles   = wave_type::size / types::lanes;
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
            if constexpr (!types::values_by_rows) {
                put_values<types::whole_values ? 1 : tuning.value_heads,
                           types::whole_values ? tuning.whole_width : 1>(wave, args, first, item, plan);
            }
            return;
        }
        item -= plan.value_items;
        if (item < plan.key_items) {
            int const group = quotient(item, plan.by_key);
            int const token = first + group * tiles;
            if (token < args.tokens) {
                detail::insert_keys<Problem, tuning.roll_found>(wave, args, token,
                                                                item - group * int(plan.by_key.divisor));
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
            constexpr bool unroll = tuning.unroll && !(types::found_scales && tuning.roll_found);
            detail::insert_queries<Problem, tuning.batches, unroll>(wave, args, token, batch, count);
        } else {
            int const done = plan.batches * tiles * types::rows_at_once;
            int const head = done + (segment - plan.query_items) * tiles + wave.lane() / types::lanes;
            detail::insert_one_row(wave, args, detail::kind_constant<row_kind::query>{}, token, head, false);
        }
    }

private:
    template <int Heads, int Width, class Wave>
    KVLOOM_FN static void put_values(Wave wave, insert_args<Problem> const& args, int first, int item,
                                     insert_plan const& plan)
    {
        using types          = insert_types<Problem>;
        using split          = value_split<Wave, types::dim, Heads, Width>;
        constexpr int window = split::template window<typename types::element>;
        int const group      = quotient(item, plan.by_value);
        int const start      = first + group * window;
        int const count      = args.slot_count < args.tokens ? args.slot_count : args.tokens;
        if (start >= count) {
            return;
        }
        wave.dependency();
        auto const rule    = detail::value_rule(wave, args);
        auto const slot_of = [&](int token) {
            return detail::usable_slot(wave, args, args.slots, detail::slot_limit(args), token);
        };
        insert_values<split, typename types::numerics::overflow>(wave, args.v, args.values, start, count,
                                                                 item - group * int(plan.by_value.divisor),
                                                                 slot_of, rule);
    }
};

} // namespace v0
} // namespace kvloom
