// SPDX-License-Identifier: MIT
// V into vectors along slots on waves without a transpose: a tile of lanes turns one head's run in registers,
// without any exchange.
#pragma once

#include "kvloom/op/insert_values_units.hpp"

namespace kvloom {
inline namespace v0 {

/// One item is one window of as many heads as the wave has tiles of Dim / 8 lanes. A lane holds one chunk of
/// each token of a run and writes eight vectors, one a dim. Rows of more chunks than lanes are turned in parts.
template <int WaveSize, int Dim>
struct value_tiles
{
    static constexpr int lanes = chunk_count<Dim> < WaveSize ? chunk_count<Dim> : WaveSize;
    static constexpr int heads = WaveSize / lanes;
    static constexpr int parts = chunk_count<Dim> / lanes;
    static_assert((lanes & (lanes - 1)) == 0 && lanes >= 4 && chunk_count<Dim> % lanes == 0,
                  "value_tiles: the head size must be a power of two, at least 32");

    template <class Element>
    static constexpr int window = vector_size<Element>;

    /// Items to a window.
    KVLOOM_FN static constexpr int items(int all_heads) { return (all_heads + heads - 1) / heads; }

    template <class Overflow, class Wave, class T, class HeadsAre, class Cache, class SlotOf, class Rule>
    KVLOOM_FN static void write(Wave wave, head_rows<T const, Dim, HeadsAre> const& source,
                                Cache const& cache, int first, int count, int item, SlotOf const& slot_of,
                                Rule const& rule, site at)
    {
        constexpr int size = window<typename Cache::element>;
        int const head     = item * heads;
        auto const found   = find_runs<size>(wave, first, count, slot_of, at);
        for (u32 starts = found.starts; starts != 0; starts &= starts - 1) {
            int const i    = count_trailing_zeros(starts);
            i64 const slot = wave.from_lane(found.slot, i, at);
            KVLOOM_UNROLL
            for (int part = 0; part < parts; ++part) {
                turn<Overflow>(wave, source, cache, place(cache, slot), first - 1 + i, head, part, rule, at);
            }
        }
        for (u32 lone = found.lone; lone != 0; lone &= lone - 1) {
            int const i             = count_trailing_zeros(lone);
            token_place const where = place(cache, wave.from_lane(found.slot, i, at));
            if (where.valid) { // for the whole wave
                scatter<Overflow>(wave, source, cache, where, first - 1 + i, head, rule, at);
            }
        }
    }

private:
    /// A lone token of the item's heads, element by element. A tile looks at the whole row of a head of its own.
    template <class Overflow, class Wave, class T, class HeadsAre, class Cache, class Rule>
    KVLOOM_FN static void scatter(Wave wave, head_rows<T const, Dim, HeadsAre> const& source,
                                  Cache const& cache, token_place where, int token, int first_head,
                                  Rule const& rule, site at)
    {
        auto const tile = tile_group<Wave, lanes, rotary<0>>{wave};
        int const last  = source.heads - 1; // read again in place of heads beyond it
        int const own   = first_head + tile.index();
        detail::spread_row<Wave, Dim> held[heads];
        KVLOOM_UNROLL
        for (int h = 0; h < heads; ++h) {
            int const head = first_head + h < last ? first_head + h : last;
            held[h]        = detail::fetch_elements(wave, source.row(token, head), true);
        }
        auto const whole = fetch(tile, source.row(token, own < last ? own : last), Rule::whole_row);
        auto const by    = detail::quantiser_of(tile, whole, own < last ? own : last, rule, at);
        if (tile.rank() == 0 && own <= last) {
            detail::record(rule, wave, where, own, by);
        }
        KVLOOM_UNROLL
        for (int h = 0; h < heads; ++h) {
            auto const of_head = detail::quantiser_of_tile<Rule>(tile, by, h, rule, first_head + h, at);
            if (h == 0 || first_head + h <= last) {
                detail::scatter_elements<Overflow, T>(wave, held[h], cache, where, first_head + h, of_head);
            }
        }
    }

    /// The quantisers of the four tokens from `where` on, of whose rows this lane holds `chunks` in part `part`; tiles of
    /// one row each. Lanes of part 0 take note of them where `live`.
    template <class T, class Wave, class RowOf, class Rule>
    KVLOOM_FN static auto quantisers(Wave wave, vec<u32, 4> const* chunks, RowOf const& row, int part,
                                     token_place where, int head, bool live, Rule const& rule, site at)
    {
        using tile_type = tile_group<Wave, lanes, rotary<0>>;
        auto const tile = tile_type{wave};
        if constexpr (!Rule::whole_row) {
            auto const by = rule.for_head(head);
            return vec<remove_const_t<decltype(by)>, 4>{{{by, by, by, by}}};
        } else if constexpr (parts == 1 && !Rule::squares) {
            vec<float, 4> held;
            KVLOOM_UNROLL
            for (int t = 0; t < 4; ++t) {
                held[t] = detail::largest_by_keys<T>(chunks[t]);
            }
            auto const own = rule.of_row(0.0F, largest_sorted(tile, held, at));
            int const t    = tile.rank() - sorted_lane<tile_type>;
            if (live && t >= 0 && t < 4) {
                where.slot += t;
                detail::record(rule, wave, where, head, own);
            }
            return spread_sorted<4>(tile, own, at);
        } else {
            auto const of = [&](int t) {
                stored_row<T, tile_type, Dim> stored;
                KVLOOM_UNROLL
                for (int other = 0; other < parts; ++other) {
                    stored.part[other] =
                        other == part ? chunks[t]
                                      : wave.template load<vec<u32, 4>>(row(t) + other * lanes * chunk_size);
                }
                auto const by = detail::quantiser_of(tile, stored, head, rule, at);
                if (live && tile.rank() == 0 && part == 0) {
                    token_place place = where;
                    place.slot += t;
                    detail::record(rule, wave, place, head, by);
                }
                return by;
            };
            return vec<decltype(of(0)), 4>{{{of(0), of(1), of(2), of(3)}}};
        }
    }

    template <class Overflow, class Wave, class T, class HeadsAre, class Cache, class Rule>
    KVLOOM_FN static void turn(Wave wave, head_rows<T const, Dim, HeadsAre> const& source, Cache const& cache,
                               token_place where, int first, int first_head, int part, Rule const& rule,
                               site at)
    {
        using element      = typename Cache::element;
        constexpr int size = window<element>;
        constexpr int each = size / 8; // tokens to a unit
        int const own      = first_head + wave.lane() / lanes;
        bool const live    = own < source.heads;
        int const head     = live ? own : first_head; // a lane without a head reads along and stores nothing
        int const lane     = wave.lane() % lanes;
        int const chunk    = part * lanes + lane;
        auto const row = [&](int token) { return source.row(first + token, head).data + lane * chunk_size; };
        vec<u32, 4> held[size];
        T const* next_row = row(0) + part * lanes * chunk_size;
        KVLOOM_UNROLL
        for (int t = 0; t < size; ++t) {
            held[t] = wave.template load<vec<u32, 4>>(next_row);
            next_row += source.token_stride;
        }
        vec<u32, 4> units[8];
        KVLOOM_UNROLL
        for (int first_of_four = 0; first_of_four < size; first_of_four += 4) {
            token_place four = where;
            four.slot += first_of_four;
            auto const by = quantisers<T>(
                wave, held + first_of_four, [&](int t) { return row(first_of_four + t); }, part, four, head,
                live, rule, at);
            KVLOOM_UNROLL
            for (int t = 0; t < 4; t += each) {
                auto& unit      = units[(first_of_four + t) / each];
                auto const* now = held + first_of_four + t;
                unit = detail::units_of<Overflow, T, element>(now[0], now[each - 1], by[t], by[t + each - 1]);
                if constexpr (each == 2) { // else the fp32 values of every token live until they are stored
                    KVLOOM_UNROLL
                    for (int w = 0; w < 4; ++w) {
                        wave.hold(unit[w]);
                    }
                }
            }
        }
        if (!live) {
            return;
        }
        constexpr int a_dim = dim_stride_v<typename Cache::layout> * int(sizeof(element));
        char* const target  = reinterpret_cast<char*>(cache.address(where, head, chunk * chunk_size));
        KVLOOM_UNROLL
        for (int k = 0; k < chunk_size; ++k) {
            vec<u32, 4> words;
            KVLOOM_UNROLL
            for (int i = 0; i < 4; ++i) {
                u32 const a = units[2 * i][k / 2];
                u32 const b = units[2 * i + 1][k / 2];
                words[i]    = k % 2 == 0 ? interleave_low(a, b) : interleave_high(a, b);
            }
            wave.store(target + k * a_dim, words);
        }
    }
};

} // namespace v0
} // namespace kvloom
