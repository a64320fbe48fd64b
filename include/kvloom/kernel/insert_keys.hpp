// SPDX-License-Identifier: MIT
// The key rows of the long shapes: several rows of neighbouring tokens, a token a tile, so that K leaves in whole
// sectors.
#pragma once

#include "kvloom/kernel/insert_key_rows.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// What insert_keys knows of a tile's token.
template <class Problem, class Tile>
struct key_token
{
    Tile tile;
    insert_args<Problem> const& args;
    int token;
    bool live; ///< whether there is such a token
    bool inside      = true;
    i64 slot         = -1;
    i64 index_slot   = -1;
    float key_vector = 1.0F; ///< 1 / rms over all heads of k, for norms over the vector
    angles<Tile> turn{};

    /// Slots of the token, as they lie in memory.
    KVLOOM_FN void load_slots()
    {
        slot = live && token < args.slot_count ? load_index(tile.wave, args.slots + token) : -1;
        if constexpr (insert_types<Problem>::index::present) {
            bool const indexed = live && token < args.index_slot_count && args.index_k.heads > 0;
            index_slot         = indexed ? load_index(tile.wave, args.index_slots + token) : -1;
        }
    }

    /// Keeps the slots at which something may be stored.
    KVLOOM_FN void check_slots()
    {
        slot       = inside && slot < slot_limit(args) ? slot : -1;
        index_slot = inside ? index_slot : -1;
    }

    /// Counts the token's faults, before check_slots(), in the wave that has the list's first or last row.
    KVLOOM_FN void count_faults([[maybe_unused]] bool first, [[maybe_unused]] bool last) const
    {
        if constexpr (Problem::faults::counted) {
            bool const one = live && tile.rank() == 0;
            count_fault(tile.wave, args, &fault_counts::positions,
                        one && first && !inside && args.q.heads == 0);
            count_fault(tile.wave, args, &fault_counts::slots, one && first && slot >= slot_limit(args));
            i64 const limit = i64(args.index_keys.pages) * Problem::index::page_size;
            count_fault(tile.wave, args, &fault_counts::index_slots, one && last && index_slot >= limit);
        }
    }

    /// The weights of row m of the list.
    KVLOOM_FN stored_gain<Problem, Tile> fetch_gain(key_rows<Problem> const& list, int m) const
    {
        using types         = insert_types<Problem>;
        auto const* weights = list.pick(m, args.k_gain, args.v_gain, args.index_q_gain, args.index_k_gain);
        return with_kind<Problem>(list.kind(m), [&](auto of) {
            using norm = typename types::template norm_of<of.value>;
            if constexpr (!types::template weighted<norm>) {
                weights = nullptr;
            } else if constexpr (types::template over_vector_of<of.value>) {
                weights += m * types::dim; // k comes first in the list
            }
            return stored_gain<Problem, Tile>::fetch(tile, weights);
        });
    }

    /// Norm and rotation of row m of the list as loaded; `r` where each row has its own mean square.
    template <class Stored>
    KVLOOM_FN row<Tile, Problem::head_dim> prepare(key_rows<Problem> const& list, int m, Stored const& stored,
                                                   stored_gain<Problem, Tile> const& gain, float r,
                                                   site at) const
    {
        using types = insert_types<Problem>;
        return with_kind<Problem>(list.kind(m), [&](auto of) {
            using norm         = typename types::template norm_of<of.value>;
            float const factor = types::template over_vector_of<of.value> ? key_vector : r;
            auto const y =
                normalised<Problem, norm>(tile, widen(stored), factor, gain.template factor<norm>());
            if constexpr (of.value == row_kind::value) {
                return y;
            } else {
                return rotated<Problem>(tile, y, turn, at);
            }
        });
    }

    /// The scales of K and V among the `count` rows from m on, each by the lane that has it.
    KVLOOM_FN void put_scales(key_rows<Problem> const& list, int m, int count, float scale) const
    {
        int const i = tile.rank() - sorted_lane<Tile>;
        if (i < 0 || i >= count || m + i >= list.first_index()) {
            return;
        }
        if (list.kind(m + i) == row_kind::key) {
            put_scale<Problem>(tile.wave, args.key_scales, place(args.keys, slot), list.head(m + i), scale);
        } else {
            put_scale<Problem>(tile.wave, args.value_scales, place(args.values, slot), list.head(m + i),
                               scale);
        }
    }

    /// Dense outputs of a row: index queries, and keys where the problem has them out.
    KVLOOM_FN void put_dense(row_kind kind, int head, row<Tile, Problem::head_dim> const& y) const
    {
        using types = insert_types<Problem>;
        if (!live) {
            return;
        }
        if constexpr (types::index::present) {
            if (kind == row_kind::index_query) {
                put_index_query(tile, args, token, head, y);
            }
            if constexpr (Problem::keys_out) {
                if (kind == row_kind::index_key) {
                    store(tile, args.index_k_out.row(token, head), y);
                }
            }
        }
        if constexpr (Problem::keys_out) {
            if (kind == row_kind::key) {
                store(tile, args.k_out.row(token, head), y);
            }
        }
    }

    /// A row of K, or of V where it leaves row by row, into its cache; nothing for rows of other kinds.
    template <bool Rounded, class Quantiser>
    KVLOOM_FN void put(row_kind kind, int head, row<Tile, Problem::head_dim> const& y,
                       Quantiser const& by) const
    {
        using types = insert_types<Problem>;
        if (kind == row_kind::key) {
            put_cached<Problem, Rounded>(tile, args.keys, place(args.keys, slot), head, y, by);
        }
        if constexpr (types::values_by_rows) {
            if (kind == row_kind::value) {
                constexpr bool copied = is_same_v<typename types::v_norm, no_norm>;
                put_cached<Problem, Rounded || copied>(tile, args.values, place(args.values, slot), head, y,
                                                       by);
            }
        }
    }

    /// An index key into its cache; nothing for rows of other kinds.
    KVLOOM_FN void put_index([[maybe_unused]] row_kind kind,
                             [[maybe_unused]] row<Tile, Problem::head_dim> const& y) const
    {
        if constexpr (insert_types<Problem>::index::present) {
            if (kind == row_kind::index_key) {
                put_index_key(tile, args, place(args.index_keys, index_slot), y);
            }
        }
    }
};

/// Whether any row that insert_keys takes has a mean square of its own.
template <class Problem>
inline constexpr bool key_rows_have_norms =
    (!is_same_v<typename insert_types<Problem>::k_norm, no_norm> && !insert_types<Problem>::whole_vector)
    || (insert_types<Problem>::index::present
        && !is_same_v<typename insert_types<Problem>::index_norm, no_norm>)
    || (insert_types<Problem>::values_by_rows && !is_same_v<typename insert_types<Problem>::v_norm, no_norm>);

/// The rows of part `part` of the list of neighbouring tokens, one token a tile. `Rolled`: rows that found their own
/// scale are stored by a loop. Their code is long, and a multiprocessor runs items of all kinds at once: as straight-line
/// code they do not fit its cache of instructions together (an H200 waited for instructions a third of the time).
template <class Problem, bool Rolled, class Wave>
KVLOOM_FN void insert_keys(Wave wave, insert_args<Problem> const& args, int first_token, int part,
                           site at = site::here())
{
    using types         = insert_types<Problem>;
    using activation    = typename types::activation;
    using tile_type     = insert_tile<Problem, Wave>;
    constexpr int count = types::rows_at_once;
    auto const tile     = tile_type{wave};
    int const token     = first_token + tile.index();
    bool const live     = token < args.tokens;
    int const safe      = live ? token : args.tokens - 1;
    auto const list     = key_rows<Problem>{args};

    token_angles<Problem, tile_type> position{tile, args, safe};
    wave.dependency();
    stored_row<activation, tile_type, types::dim> stored[count];
    key_sources<Problem> const sources(list, safe);
    sources.fetch(tile, part * count, first_token, stored);
    key_token<Problem, tile_type> own{tile, args, token, live};
    own.load_slots();
    given_row_scales<Problem, Wave> const given(wave, args);
    stored_gain<Problem, tile_type> gains[count];
    KVLOOM_UNROLL
    for (int i = 0; i < count; ++i) {
        gains[i] = own.fetch_gain(list, part * count + i);
    }
    position.template settle<false>();
    own.inside = position.inside;
    own.count_faults(part == 0, (part + 1) * count >= list.count());
    own.check_slots();
    if constexpr (types::template over_vector_of<row_kind::key>) {
        if (part * count < args.k.heads) {
            own.key_vector = vector_factor(tile, args.k, safe, args.eps, at);
        }
    }
    auto const r = row_factors<key_rows_have_norms<Problem>>(tile, stored, args.eps, at);
    own.turn     = widen(tile, position.stored);

    // Rows that find their own scale wait, rounded as they will be stored, for one reduction over all of them.
    constexpr bool rounds = types::found_scales && types::numerics::keys_through_activation;
    conditional_t<types::found_scales && !rounds, row<tile_type, types::dim>, bool> exact[count];
    vec<float, count> largest{};
    // On CDNA, where scales are found, to branch costs more than to work out a row that nobody stores.
    constexpr bool may_skip = !types::found_scales || !Wave::quad_rows;
    KVLOOM_UNROLL
    for (int i = 0; i < count; ++i) {
        int const m      = part * count + i;
        bool const there = i == 0 || m < list.count();
        if (may_skip && !there) {
            break;
        }
        row_kind const kind = list.kind(m);
        int const head      = list.head(m);
        auto const y        = own.prepare(list, m, stored[i], gains[i], r[i], at);
        if (there) {
            own.put_dense(kind, head, y);
            if (!own.inside) {
                own.put_dense(kind, head, {});
            }
            own.put_index(kind, y);
        }
        if constexpr (!types::found_scales) {
            own.template put<false>(kind, head, y, cache_quantiser<Problem>(given.of(kind, head)));
        } else if (kind == row_kind::key || kind == row_kind::value) {
            largest[i] = held_for_scale<Problem>(y);
            if constexpr (rounds) {
                stored[i] = narrowed<activation>(y);
            } else {
                exact[i] = y;
            }
        }
    }
    if constexpr (types::found_scales) {
        // The scale of row i lies in lane i from sorted_lane on, where it is written and inverted, once for all rows.
        float const scale = scale_of_row<Problem>(largest_sorted(tile, largest, at));
        own.put_scales(list, part * count, count, scale);
        [[maybe_unused]] constexpr int turns_unrolled = Rolled ? 1 : count;
        auto by = spread_sorted<count>(tile, cache_quantiser<Problem>(scale), at);
        KVLOOM_UNROLL_BY(turns_unrolled)
        for (int i = 0; i < count; ++i) {
            int const m       = part * count + i;
            int const waiting = Rolled ? 0 : i;
            if (m < list.first_index()) {
                if constexpr (rounds) {
                    own.template put<true>(list.kind(m), list.head(m), widen(stored[waiting]), by[waiting]);
                } else {
                    own.template put<false>(list.kind(m), list.head(m), exact[waiting], by[waiting]);
                }
            }
            if constexpr (Rolled) {
                if constexpr (rounds) {
                    move_down<count>(stored);
                } else {
                    move_down<count>(exact);
                }
                move_down<count>(by);
            }
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace kvloom
