// SPDX-License-Identifier: MIT
// V into vectors along slots on warps of 32 lanes: strips of 32 dims, turned by 8x8 matrix transposes.
#pragma once

#include "kvloom/op/insert_values_units.hpp"

namespace kvloom {
inline namespace v0 {

/// One item is a strip of 32 dims of `Heads` heads over one window: few registers, and four warps share a
/// window.
///
/// Lane (i, q) = (lane / 4, lane % 4) loads chunk q of the strip of unit i (units_of); the transpose leaves lane
/// (j, p) with units 2p and 2p + 1 of one dim, so four lanes make a 16-byte vector. A rule that looks at whole
/// rows has each lane read the same chunk of the other strips too.
template <int Dim, int Heads>
struct value_strips
{
    static_assert(Dim % 32 == 0, "value_strips: the head size must be a multiple of 32");

    static constexpr int strips = Dim / 32;

    template <class Element>
    static constexpr int window = vector_size<Element>;

    /// Items to a window.
    KVLOOM_FN static constexpr int items(int heads) { return (heads + Heads - 1) / Heads * strips; }

    template <class Overflow, class Wave, class T, class HeadsAre, class Cache, class SlotOf, class Rule>
    KVLOOM_FN static void write(Wave wave, head_rows<T const, Dim, HeadsAre> const& source,
                                Cache const& cache, int first, int count, int item, SlotOf const& slot_of,
                                Rule const& rule, site at)
    {
        using element      = typename Cache::layout::element;
        constexpr int size = window<element>;
        int const strip    = item % strips;
        int const head     = item / strips * Heads;
        auto fetched       = fetch<element>(wave, source, first, count, head, strip);
        auto const found   = find_runs<size>(wave, first, count, slot_of, at);
        for (u32 starts = found.starts; starts != 0; starts &= starts - 1) {
            int const i    = count_trailing_zeros(starts);
            i64 const slot = wave.from_lane(found.slot, i, at);
            if (i != 1) { // the rows fetched first are those of a vector that begins with the window
                fetched = fetch<element>(wave, source, first - 1 + i, count, head, strip);
            }
            turn<Overflow>(wave, fetched, source, cache, place(cache, slot), first - 1 + i, head, strip, rule,
                           at);
        }
        u32 const mine = found.lone & (every_nth() << strip);
        scatter<Overflow>(wave, source, cache, mine, first - 1, found.slot, head, rule, at);
    }

private:
    /// Bits 0, strips, 2 * strips, ...: the lone tokens of strip 0.
    KVLOOM_FN static constexpr u32 every_nth()
    {
        u32 bits = 0;
        for (int i = 0; i < 32; i += strips) {
            bits |= 1U << i;
        }
        return bits;
    }

    template <class Element>
    struct strip_rows
    {
        static constexpr int tokens_a_unit = window<Element> / 8;

        vec<u32, 4> of[Heads][tokens_a_unit];
    };

    template <class Element, class Wave, class T, class HeadsAre>
    KVLOOM_FN static strip_rows<Element> fetch(Wave wave, head_rows<T const, Dim, HeadsAre> const& source,
                                               int first, int count, int head, int strip)
    {
        strip_rows<Element> rows;
        constexpr int each = rows.tokens_a_unit;
        KVLOOM_UNROLL
        for (int e = 0; e < each; ++e) {
            int const token = first + wave.lane() / 4 * each + e;
            int const row   = token < count ? token : count - 1; // a clamped row is loaded, never stored
            KVLOOM_UNROLL
            for (int h = 0; h < Heads; ++h) {
                auto const from = source.row(row, head + h < source.heads ? head + h : head);
                rows.of[h][e] =
                    wave.template load<vec<u32, 4>>(from.data + (strip * 4 + wave.lane() % 4) * chunk_size);
            }
        }
        return rows;
    }

    /// The quantisers of the tokens of this lane's unit.
    template <class Element, class Wave, class T, class HeadsAre, class Rule>
    KVLOOM_FN static auto quantisers(Wave wave, strip_rows<Element> const& rows,
                                     head_rows<T const, Dim, HeadsAre> const& source, int first, int h,
                                     int head, int strip, Rule const& rule, site at)
    {
        constexpr int each = strip_rows<Element>::tokens_a_unit;
        if constexpr (!Rule::whole_row) {
            using quantiser = decltype(rule.for_head(0));
            return pair_of<quantiser>{rule.for_head(head + h), rule.for_head(head + h)};
        } else {
            int const token    = first + wave.lane() / 4 * each;
            auto const load_at = [&](int e, int at_strip) {
                auto const from = source.row(token + e, head + h < source.heads ? head + h : head);
                return wave.template load<vec<u32, 4>>(from.data
                                                       + (at_strip * 4 + wave.lane() % 4) * chunk_size);
            };
            float squares[2] = {};
            u32 largest      = 0;
            KVLOOM_UNROLL
            for (int e = 0; e < each; ++e) {
                if constexpr (Rule::squares) {
                    squares[e] = squares_of_strips<T>(
                        wave, [&](int s) { return load_at(e, s); }, at);
                }
                if constexpr (Rule::largest) {
                    u32 found = detail::largest_of_words<T>(rows.of[h][e]);
                    KVLOOM_UNROLL
                    for (int ahead = 1; ahead < strips; ++ahead) {
                        auto const words = load_at(e, (strip + ahead) % strips);
                        found            = larger_magnitudes<T>(found, detail::largest_of_words<T>(words));
                    }
                    largest |= e == 0 ? found & 0xffffU : found & 0xffff0000U;
                }
            }
            largest               = larger_magnitudes<T>(largest, wave.template exchange<1>(largest, at));
            largest               = larger_magnitudes<T>(largest, wave.template exchange<2>(largest, at));
            float_pair const most = widen_pair<T>(largest);
            using quantiser       = decltype(rule.of_row(0.0F, 0.0F));
            return pair_of<quantiser>{rule.of_row(squares[0], larger(0.0F, most.low)),
                                      rule.of_row(squares[1], larger(0.0F, most.high))};
        }
    }

    template <class Quantiser>
    struct pair_of
    {
        Quantiser of_now;
        Quantiser of_next;
    };

    /// Sum of the squares of a row of which four lanes hold a chunk of each strip, in the order of rms_norm.hpp.
    template <class T, class Wave, class LoadStrip>
    KVLOOM_FN static float squares_of_strips(Wave wave, LoadStrip const& load_strip, site at)
    {
        float sums[strips];
        KVLOOM_UNROLL
        for (int s = 0; s < strips; ++s) {
            float sum = sum_of_squares(unpack<T>(load_strip(s)));
            sum       = add(sum, wave.template exchange<1>(sum, at));
            sums[s]   = add(sum, wave.template exchange<2>(sum, at));
        }
        KVLOOM_UNROLL
        for (int distance = 1; distance < strips; distance *= 2) {
            KVLOOM_UNROLL
            for (int s = 0; s + distance < strips; s += 2 * distance) {
                sums[s] = add(sums[s], sums[s + distance]);
            }
        }
        return sums[0];
    }

    /// Writes whole vectors: the run that begins with token `first` at `where`.
    template <class Overflow, class Wave, class T, class HeadsAre, class Cache, class Rule>
    KVLOOM_FN static void turn(Wave wave, strip_rows<typename Cache::element> const& rows,
                               head_rows<T const, Dim, HeadsAre> const& source, Cache const& cache,
                               token_place where, int first, int head, int strip, Rule const& rule, site at)
    {
        using element      = typename Cache::element;
        constexpr int each = strip_rows<element>::tokens_a_unit;
        int const j        = wave.lane() / 4;
        int const dim =
            chunk_size * (4 * strip + j / 2) + j % 2; // of word 0; word r is two dims on for each r
        int const word         = wave.lane() % 4;
        constexpr int two_dims = 2 * dim_stride_v<typename Cache::layout> * int(sizeof(element));
        KVLOOM_UNROLL
        for (int h = 0; h < Heads; ++h) {
            char* const vector = reinterpret_cast<char*>(cache.address(where, head + h, dim));
            auto const by      = quantisers(wave, rows, source, first, h, head, strip, rule, at);
            auto const units   = detail::units_of<Overflow, T, element>(rows.of[h][0], rows.of[h][each - 1],
                                                                      by.of_now, by.of_next);
            KVLOOM_UNROLL
            for (int r = 0; r < 4; ++r) {
                u32 const turned = wave.transpose8(units[r], at);
                if (head + h < source.heads) {
                    wave.store(vector + r * two_dims + 4 * word, turned);
                }
            }
            if (strip == 0 && word == 0 && head + h < source.heads) {
                token_place own = where;
                own.slot += j * each;
                detail::record(rule, wave, own, head + h, by.of_now);
                own.slot += each - 1;
                if constexpr (each == 2) {
                    detail::record(rule, wave, own, head + h, by.of_next);
                }
            }
        }
    }

    template <class Overflow, class Wave, class T, class HeadsAre, class Cache, class Rule>
    KVLOOM_FN static void scatter(Wave wave, head_rows<T const, Dim, HeadsAre> const& source,
                                  Cache const& cache, u32 lone, int origin, i64 slots, int head,
                                  Rule const& rule, site at)
    {
        constexpr int together = Heads >= 4 ? 1 : 4 / Heads; // tokens whose loads are in flight at once
        while (lone != 0) {
            token_place where[together];
            int token[together];
            detail::spread_row<Wave, Dim> held[together][Heads];
            KVLOOM_UNROLL
            for (int t = 0; t < together; ++t) {
                bool const some = lone != 0;
                int const i     = some ? count_trailing_zeros(lone) : 0;
                lone &= lone - 1;
                token[t]       = origin + i;
                where[t]       = place(cache, wave.from_lane(slots, i, at));
                where[t].valid = where[t].valid && some;
                KVLOOM_UNROLL
                for (int h = 0; h < Heads; ++h) {
                    bool const present = where[t].valid && head + h < source.heads;
                    held[t][h] = detail::fetch_elements(wave, source.row(token[t], head + h), present);
                }
            }
            KVLOOM_UNROLL
            for (int t = 0; t < together; ++t) {
                KVLOOM_UNROLL
                for (int h = 0; h < Heads; ++h) {
                    if (head + h < source.heads && where[t].valid) {
                        auto const whole =
                            detail::fetch_whole<Rule>(wave, source.row(token[t], head + h), true);
                        auto const by = detail::quantiser_of(detail::whole_row_tile<Wave, Dim>{wave}, whole,
                                                             head + h, rule, at);
                        detail::scatter_elements<Overflow, T>(wave, held[t][h], cache, where[t], head + h,
                                                              by);
                        if (wave.lane() == 0) {
                            detail::record(rule, wave, where[t], head + h, by);
                        }
                    }
                }
            }
        }
    }
};

} // namespace v0
} // namespace kvloom
