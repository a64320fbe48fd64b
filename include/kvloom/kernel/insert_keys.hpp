// SPDX-License-Identifier: MIT
// The key rows of the long shapes: several rows of neighbouring tokens, a token a tile, so that K leaves in whole
// sectors.
#pragma once

#include "kvloom/kernel/insert_short.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// The rows that insert_keys takes of a token, in the order [k | v | index_q | index_k]; v only where it leaves
/// row by row. The same for all tiles of a wave.
template <class Problem>
struct key_rows
{
    using types = insert_types<Problem>;

    insert_args<Problem> const& args;

    KVLOOM_FN int values() const { return types::values_by_rows ? args.v.heads : 0; }
    KVLOOM_FN int first_index() const { return args.k.heads + values(); }
    KVLOOM_FN int index_queries() const { return types::index::present ? args.index_q.heads : 0; }
    KVLOOM_FN int count() const
    {
        return first_index() + index_queries() + (types::index::present ? args.index_k.heads : 0);
    }

    KVLOOM_FN row_kind kind(int m) const
    {
        if (m < args.k.heads) {
            return row_kind::key;
        }
        if (m < first_index()) {
            return row_kind::value;
        }
        return m < first_index() + index_queries() ? row_kind::index_query : row_kind::index_key;
    }

    /// The number of row m among those of its kind.
    KVLOOM_FN int head(int m) const
    {
        return m < args.k.heads                      ? m
               : m < first_index()                   ? m - args.k.heads
               : m < first_index() + index_queries() ? m - first_index()
                                                     : m - first_index() - index_queries();
    }

    /// Whether row m of a token is there to be read.
    KVLOOM_FN bool present(int m, int token) const
    {
        return m < count() && token < args.tokens && row_at_hand<Problem>{args, kind(m)}.wanted(token);
    }
};

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

    /// Norm and rotation of a loaded row of kind `at_hand`; `r` where each row has its own mean square.
    template <class Stored>
    KVLOOM_FN row<Tile, Problem::head_dim> prepare(row_at_hand<Problem> const& at_hand, Stored const& stored,
                                                   int head, float r, site at) const
    {
        using types     = insert_types<Problem>;
        auto const gain = stored_gain<Problem, Tile>::fetch(tile, at_hand.gain(head));
        return with_kind<Problem>(at_hand.kind, [&](auto of) {
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

    /// A row into its cache, with its scale where it has one.
    template <bool Rounded>
    KVLOOM_FN void put(row_kind kind, int head, row<Tile, Problem::head_dim> const& y, float scale) const
    {
        using types = insert_types<Problem>;
        if (kind == row_kind::key) {
            put_cached<Problem, Rounded>(tile, args.keys, args.key_scales, place(args.keys, slot), head, y,
                                         scale);
        }
        if constexpr (types::values_by_rows) {
            if (kind == row_kind::value) {
                constexpr bool copied = is_same_v<typename types::v_norm, no_norm>;
                put_cached<Problem, Rounded || copied>(tile, args.values, args.value_scales,
                                                       place(args.values, slot), head, y, scale);
            }
        }
        if constexpr (types::index::present) {
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

/// The rows of part `part` of the list of neighbouring tokens, one token a tile.
template <class Problem, class Wave>
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
    auto const at_hand  = [&](int m) {
        return row_at_hand<Problem>{args, m < list.count() ? list.kind(m) : list.kind(0)};
    };

    token_angles<Problem, tile_type> position{tile, args, safe};
    wave.dependency();
    stored_row<activation, tile_type, types::dim> stored[count];
    KVLOOM_UNROLL
    for (int i = 0; i < count; ++i) {
        int const m     = part * count + i;
        bool const some = list.present(m, token);
        stored[i]       = fetch(tile, at_hand(m).source().row(safe, some ? list.head(m) : 0), some);
    }
    key_token<Problem, tile_type> own{tile, args, token, live};
    own.load_slots();
    position.settle();
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
    vec<float, count> largest{};
    conditional_t<types::found_scales && !rounds, row<tile_type, types::dim>, bool> exact[count];
    KVLOOM_UNROLL
    for (int i = 0; i < count; ++i) {
        int const m = part * count + i;
        if (m >= list.count()) {
            break;
        }
        row_kind const kind = list.kind(m);
        int const head      = list.head(m);
        auto const y        = own.prepare(at_hand(m), stored[i], head, r[i], at);
        if (live) {
            put_dense(tile, at_hand(m), token, head, own.inside ? y : row<tile_type, types::dim>{}, 1.0F);
        }
        if constexpr (!types::found_scales) {
            float const* const scales = kind == row_kind::key ? args.key_scale : args.value_scale;
            bool const scaled         = kind == row_kind::key || kind == row_kind::value;
            own.template put<false>(kind, head, y, scaled ? given_scale<Problem>(wave, scales, head) : 1.0F);
        } else if (kind == row_kind::key || kind == row_kind::value) {
            largest[i] = held_for_scale<Problem>(y);
            if constexpr (rounds) {
                stored[i] = narrowed<activation>(y);
            } else {
                exact[i] = y;
            }
        } else {
            own.template put<false>(kind, head, y, 1.0F);
        }
    }
    if constexpr (types::found_scales) {
        auto const scales = of_largest(
            tile, largest, [](float most) { return scale_of_row<Problem>(most); }, at);
        KVLOOM_UNROLL
        for (int i = 0; i < count; ++i) {
            int const m = part * count + i;
            if (m < list.first_index()) {
                if constexpr (rounds) {
                    own.template put<true>(list.kind(m), list.head(m), widen(stored[i]), scales[i]);
                } else {
                    own.template put<false>(list.kind(m), list.head(m), exact[i], scales[i]);
                }
            }
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace kvloom
