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
            for (int h = head; h < head + heads && h < source.heads; ++h) {
                scatter<Overflow>(wave, source.row(first - 1 + i, h), cache, where, h, rule, at);
            }
        }
    }

private:
    template <class Overflow, class Wave, class T, class Cache, class Rule>
    KVLOOM_FN static void scatter(Wave wave, row_span<T const, Dim> source, Cache const& cache,
                                  token_place where, int head, Rule const& rule, site at)
    {
        auto const row   = detail::fetch_elements(wave, source, where.valid);
        auto const whole = detail::fetch_whole<Rule>(wave, source, where.valid);
        auto const by = detail::quantiser_of(detail::whole_row_tile<Wave, Dim>{wave}, whole, head, rule, at);
        detail::scatter_elements<Overflow, T>(wave, row, cache, where, head, by);
        if (wave.lane() == 0) {
            detail::record(rule, wave, where, head, by);
        }
    }

    /// The quantiser of the row of which this lane holds `chunk` in part `part`; tiles of one row each.
    template <class T, class Wave, class Rule>
    KVLOOM_FN static auto quantiser(Wave wave, vec<u32, 4> const& chunk, T const* row, int part, int head,
                                    Rule const& rule, site at)
    {
        if constexpr (!Rule::whole_row) {
            return rule.for_head(head);
        } else {
            auto const tile = tile_group<Wave, lanes, rotary<0>>{wave};
            stored_row<T, tile_group<Wave, lanes, rotary<0>>, Dim> stored;
            KVLOOM_UNROLL
            for (int other = 0; other < parts; ++other) {
                stored.part[other] =
                    other == part ? chunk : wave.template load<vec<u32, 4>>(row + other * lanes * chunk_size);
            }
            return detail::quantiser_of(tile, stored, head, rule, at);
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
        for (int u = 0; u < 8; ++u) {
            int const now     = u * each;
            int const next    = now + each - 1;
            auto const of_now = quantiser<T>(wave, held[now], row(now), part, head, rule, at);
            auto const of_next =
                each == 1 ? of_now : quantiser<T>(wave, held[next], row(next), part, head, rule, at);
            units[u] = detail::units_of<Overflow, T, element>(held[now], held[next], of_now, of_next);
            if constexpr (sizeof(element)
                          == 1) { // else the fp32 values of every token live until they are stored
                KVLOOM_UNROLL
                for (int w = 0; w < 4; ++w) {
                    wave.hold(units[u][w]);
                }
            }
            if (live && lane == 0 && part == 0) {
                token_place place = where;
                place.slot += now;
                detail::record(rule, wave, place, head, of_now);
                place.slot += each - 1;
                if constexpr (each == 2) {
                    detail::record(rule, wave, place, head, of_next);
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
