// SPDX-License-Identifier: MIT
// V into vectors along slots on warps of 32 lanes: strips of 32 dims, turned by 8x8 matrix transposes.
#pragma once

#include "kvloom/op/insert_values_units.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// The quantisers of the tokens of a unit: one, or two that are the same for 16-bit caches.
template <class Quantiser>
struct quantiser_pair
{
    Quantiser of_now;
    Quantiser of_next;
};

/// Sum of the squares of a row of which four lanes hold a chunk of each strip, in the order of rms_norm.hpp.
template <class T, int Strips, class Wave, class LoadStrip>
KVLOOM_FN float squares_of_strips(Wave wave, LoadStrip const& load_strip, site at)
{
    float sums[Strips];
    KVLOOM_UNROLL
    for (int s = 0; s < Strips; ++s) {
        float sum = sum_of_squares(unpack<T>(load_strip(s)));
        sum       = add(sum, wave.template exchange<1>(sum, at));
        sums[s]   = add(sum, wave.template exchange<2>(sum, at));
    }
    KVLOOM_UNROLL
    for (int distance = 1; distance < Strips; distance *= 2) {
        KVLOOM_UNROLL
        for (int s = 0; s + distance < Strips; s += 2 * distance) {
            sums[s] = add(sums[s], sums[s + distance]);
        }
    }
    return sums[0];
}

/// The quantisers of a unit's tokens, from their sums of squares and from the largest magnitudes that this lane's
/// chunks hold, a token in each half.
template <class T, class Wave, class Rule>
KVLOOM_FN auto quantisers_of(Wave wave, float const (&squares)[2], u32 largest, Rule const& rule, site at)
{
    float_pair most{};
    if constexpr (Rule::largest) {
        largest = larger_magnitudes<T>(largest, wave.template exchange<1>(largest, at));
        largest = larger_magnitudes<T>(largest, wave.template exchange<2>(largest, at));
        most    = widen_pair<T>(largest);
    }
    using quantiser = decltype(rule.of_row(0.0F, 0.0F));
    return quantiser_pair<quantiser>{rule.of_row(squares[0], larger(0.0F, magnitude(most.low))),
                                     rule.of_row(squares[1], larger(0.0F, magnitude(most.high)))};
}

/// Writes the units of 32 dims from `dim` on as whole vectors: four lanes a vector, `vector` that of word 0.
template <class Cache, class Wave>
KVLOOM_FN void store_turned(Wave wave, vec<u32, 4> const& units, char* vector, bool live, site at)
{
    constexpr int two_dims = 2 * dim_stride_v<typename Cache::layout> * int(sizeof(typename Cache::element));
    KVLOOM_UNROLL
    for (int r = 0; r < 4; ++r) {
        u32 const turned = wave.transpose8(units[r], at);
        if (live) {
            wave.store(vector + r * two_dims + 4 * (wave.lane() % 4), turned);
        }
    }
}

/// The dim whose vector word 0 of this lane belongs to after the transpose of a strip; word r is 2 r dims on.
template <class Wave>
KVLOOM_FN int turned_dim(Wave wave, int strip)
{
    int const j = wave.lane() / 4;
    return chunk_size * (4 * strip + j / 2) + j % 2;
}

/// Takes note of the quantisers of a run's tokens, once for each token: lanes of chunk 0 have their own unit's.
template <int Each, class Rule, class Wave, class Quantiser>
KVLOOM_FN void record_units(Rule const& rule, Wave wave, token_place where, int head,
                            quantiser_pair<Quantiser> const& by)
{
    if (wave.lane() % 4 == 0) {
        where.slot += wave.lane() / 4 * Each;
        record(rule, wave, where, head, by.of_now);
        where.slot += Each - 1;
        if constexpr (Each == 2) {
            record(rule, wave, where, head, by.of_next);
        }
    }
}

/// Writes lone tokens element by element.
template <class Overflow, int Heads, class Wave, class T, int Dim, class HeadsAre, class Cache, class Rule>
KVLOOM_FN void scatter_lone(Wave wave, head_rows<T const, Dim, HeadsAre> const& source, Cache const& cache,
                            u32 lone, int origin, i64 slots, int head, Rule const& rule, site at)
{
    constexpr int together = Heads >= 4 ? 1 : 4 / Heads; // tokens whose loads are in flight at once
    while (lone != 0) {
        token_place where[together];
        int token[together];
        spread_row<Wave, Dim> held[together][Heads];
        stored_row<T, whole_row_tile<Wave, Dim>, Dim> whole[together][Heads];
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
                held[t][h]         = fetch_elements(wave, source.row(token[t], head + h), present);
                whole[t][h]        = fetch_whole<Rule>(wave, source.row(token[t], head + h), present);
            }
        }
        KVLOOM_UNROLL
        for (int t = 0; t < together; ++t) {
            KVLOOM_UNROLL
            for (int h = 0; h < Heads; ++h) {
                if (head + h < source.heads && where[t].valid) {
                    auto const by =
                        quantiser_of(whole_row_tile<Wave, Dim>{wave}, whole[t][h], head + h, rule, at);
                    scatter_elements<Overflow, T>(wave, held[t][h], cache, where[t], head + h, by);
                    if (wave.lane() == 0) {
                        record(rule, wave, where[t], head + h, by);
                    }
                }
            }
        }
    }
}

} // namespace detail

/// One item is `Width` strips of 32 dims of `Heads` heads over one window: few registers, and several warps share
/// a window.
///
/// Lane (i, q) = (lane / 4, lane % 4) loads chunk q of each strip of unit i (units_of); the transpose leaves lane
/// (j, p) with units 2p and 2p + 1 of one dim, so four lanes make a 16-byte vector. A rule that looks at whole
/// rows has each lane read the same chunk of the other strips too.
template <int Dim, int Heads, int Width = 1>
struct value_strips
{
    static_assert(Dim % 32 == 0, "value_strips: the head size must be a multiple of 32");
    static_assert(Dim / 32 % Width == 0, "value_strips: the strips of a row must fall into whole items");

    static constexpr int strips = Dim / 32;
    static constexpr int parts  = strips / Width;

    template <class Element>
    static constexpr int window = vector_size<Element>;

    /// Items to a window.
    KVLOOM_FN static constexpr int items(int heads) { return (heads + Heads - 1) / Heads * parts; }

    template <class Overflow, class Wave, class T, class HeadsAre, class Cache, class SlotOf, class Rule>
    KVLOOM_FN static void write(Wave wave, head_rows<T const, Dim, HeadsAre> const& source,
                                Cache const& cache, int first, int count, int item, SlotOf const& slot_of,
                                Rule const& rule, site at)
    {
        using element      = typename Cache::element;
        constexpr int size = window<element>;
        int const part     = item % parts;
        int const head     = item / parts * Heads;
        auto fetched       = fetch<element>(wave, source, first, count, head, part);
        auto const found   = find_runs<size>(wave, first, count, slot_of, at);
        for (u32 starts = found.starts; starts != 0; starts &= starts - 1) {
            int const i    = count_trailing_zeros(starts);
            i64 const slot = wave.from_lane(found.slot, i, at);
            if (i != 1) { // the rows fetched first are those of a vector that begins with the window
                fetched = fetch<element>(wave, source, first - 1 + i, count, head, part);
            }
            turn<Overflow>(wave, fetched, source, cache, place(cache, slot), first - 1 + i, head, part, rule,
                           at);
        }
        u32 const mine = found.lone & (every_nth() << part);
        detail::scatter_lone<Overflow, Heads>(wave, source, cache, mine, first - 1, found.slot, head, rule,
                                              at);
    }

private:
    /// Bits 0, parts, 2 * parts, ...: the lone tokens of part 0.
    KVLOOM_FN static constexpr u32 every_nth()
    {
        u32 bits = 0;
        for (int i = 0; i < 32; i += parts) {
            bits |= 1U << i;
        }
        return bits;
    }

    template <class Element>
    struct strip_rows
    {
        static constexpr int tokens_a_unit = window<Element> / 8;

        /// This lane's chunk of one strip, of each token of its unit.
        struct strip
        {
            vec<u32, 4> of[tokens_a_unit];
        };

        strip strips[Heads][Width];
    };

    /// This lane's chunk of strip `strip` of a row.
    template <class Wave, class T, class HeadsAre>
    KVLOOM_FN static vec<u32, 4> load_chunk(Wave wave, head_rows<T const, Dim, HeadsAre> const& source,
                                            int token, int head, int strip)
    {
        auto const from = source.row(token, head).data + (strip * 4 + wave.lane() % 4) * chunk_size;
        return wave.template load<vec<u32, 4>>(from);
    }

    template <class Element, class Wave, class T, class HeadsAre>
    KVLOOM_FN static strip_rows<Element> fetch(Wave wave, head_rows<T const, Dim, HeadsAre> const& source,
                                               int first, int count, int head, int part)
    {
        strip_rows<Element> rows;
        constexpr int each = rows.tokens_a_unit;
        KVLOOM_UNROLL
        for (int e = 0; e < each; ++e) {
            int const token = first + wave.lane() / 4 * each + e;
            int const row   = token < count ? token : count - 1; // a clamped row is loaded, never stored
            KVLOOM_UNROLL
            for (int h = 0; h < Heads; ++h) {
                KVLOOM_UNROLL
                for (int s = 0; s < Width; ++s) {
                    rows.strips[h][s].of[e] = load_chunk(
                        wave, source, row, head + h < source.heads ? head + h : head, part * Width + s);
                }
            }
        }
        return rows;
    }

    /// The quantisers of the tokens of this lane's unit.
    template <class Element, class Wave, class T, class HeadsAre, class Rule>
    KVLOOM_FN static auto quantisers(Wave wave, strip_rows<Element> const& rows,
                                     head_rows<T const, Dim, HeadsAre> const& source, int first, int h,
                                     int head, int part, Rule const& rule, site at)
    {
        constexpr int each = strip_rows<Element>::tokens_a_unit;
        if constexpr (!Rule::whole_row) {
            using quantiser = decltype(rule.for_head(0));
            return detail::quantiser_pair<quantiser>{rule.for_head(head + h), rule.for_head(head + h)};
        } else {
            int const token  = first + wave.lane() / 4 * each;
            int const own    = head + h < source.heads ? head + h : head;
            float squares[2] = {};
            u32 largest      = 0;
            KVLOOM_UNROLL
            for (int e = 0; e < each; ++e) {
                if constexpr (Rule::squares) {
                    squares[e] = detail::squares_of_strips<T, strips>(
                        wave, [&](int s) { return load_chunk(wave, source, token + e, own, s); }, at);
                }
                if constexpr (Rule::largest) {
                    u32 found = detail::largest_of_words<T>(rows.strips[h][0].of[e]);
                    KVLOOM_UNROLL
                    for (int s = 1; s < strips; ++s) {
                        auto const words =
                            s < Width ? rows.strips[h][s < Width ? s : 0].of[e]
                                      : load_chunk(wave, source, token + e, own, (part * Width + s) % strips);
                        found = larger_magnitudes<T>(found, detail::largest_of_words<T>(words));
                    }
                    largest |= e == 0 ? found & 0xffffU : found & 0xffff0000U;
                }
            }
            return detail::quantisers_of<T>(wave, squares, largest, rule, at);
        }
    }

    /// Writes whole vectors: the run that begins with token `first` at `where`.
    template <class Overflow, class Wave, class T, class HeadsAre, class Cache, class Rule>
    KVLOOM_FN static void turn(Wave wave, strip_rows<typename Cache::element> rows,
                               head_rows<T const, Dim, HeadsAre> const& source, Cache const& cache,
                               token_place where, int first, int head, int part, Rule const& rule, site at)
    {
        using element      = typename Cache::element;
        constexpr int each = strip_rows<element>::tokens_a_unit;
        KVLOOM_UNROLL
        for (int h = 0; h < Heads; ++h) {
            bool const live = head + h < source.heads;
            auto const by   = quantisers(wave, rows, source, first, h, head, part, rule, at);
            // Several strips are those of a row that is looked at as a whole, and long code: a loop keeps it in the cache of
            // instructions.
            KVLOOM_UNROLL_BY(1)
            for (int s = 0; s < Width; ++s) {
                auto const& chunk  = rows.strips[h][0].of;
                int const dim      = detail::turned_dim(wave, part * Width + s);
                char* const vector = reinterpret_cast<char*>(cache.address(where, head + h, dim));
                auto const units =
                    detail::units_of<Overflow, T, element>(chunk[0], chunk[each - 1], by.of_now, by.of_next);
                detail::store_turned<Cache>(wave, units, vector, live, at);
                move_down<Width>(rows.strips[h]);
            }
            if (part == 0 && live) {
                detail::record_units<each>(rule, wave, where, head + h, by);
            }
        }
    }
};

} // namespace v0
} // namespace kvloom
