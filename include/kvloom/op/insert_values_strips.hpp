// SPDX-License-Identifier: MIT
// V into vectors along slots on warps of 32 lanes: strips of 32 dims, turned by 8x8 matrix transposes.
#pragma once

#include "kvloom/group/row.hpp"
#include "kvloom/op/insert_values_elements.hpp"
#include "kvloom/op/slot_runs.hpp"

namespace kvloom {
inline namespace v0 {

/// One item is a strip of 32 dims of `Heads` heads over one window: few registers, and four warps share a
/// window.
///
/// A unit is 16 bits: one token of a 16-bit cache, or two neighbouring tokens of an fp8 cache. Lane (i, q) =
/// (lane / 4, lane % 4) loads chunk q of the strip of unit i; the transpose leaves lane (j, p) with units 2p
/// and 2p + 1 of one dim, so four lanes make a 16-byte vector.
template <int Dim, int Heads>
struct value_strips
{
    static_assert(Dim % 32 == 0, "value_strips: the head size must be a multiple of 32");

    static constexpr int strips = Dim / 32;

    template <class Element>
    static constexpr int window = vector_size<Element>;

    /// Items to a window.
    KVLOOM_FN static constexpr int items(int heads) { return (heads + Heads - 1) / Heads * strips; }

    template <class Overflow, class Wave, class T, class HeadsAre, class Layout, class SlotOf, class Scale>
    KVLOOM_FN static void write(Wave wave, head_rows<T const, Dim, HeadsAre> const& source,
                                paged_view<Layout> const& cache, int first, int count, int item,
                                SlotOf const& slot_of, Scale const& scale, site at)
    {
        using element      = typename Layout::element;
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
            turn<Overflow, T>(wave, fetched, cache, place(cache, slot), head, strip, source.heads, scale, at);
        }
        u32 const mine = found.lone & (every_nth() << strip);
        scatter<Overflow>(wave, source, cache, mine, first - 1, found.slot, head, scale, at);
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

    /// Word r of the units that a lane holds: two dims of one token, or of two tokens as fp8 pairs.
    template <class Overflow, class T, class Element, class Scale>
    KVLOOM_FN static u32 unit_word(strip_rows<Element> const& rows, int h, int r, Scale const& scale)
    {
        if constexpr (is_same_v<Element, T> && is_same_v<Scale, as_it_is>) {
            return rows.of[h][0][r];
        } else {
            float_pair const now = widen_pair<T>(rows.of[h][0][r]);
            if constexpr (sizeof(Element) == 2) {
                return narrow_pair<Element, Overflow>(scale(now.low), scale(now.high));
            } else {
                float_pair const next = widen_pair<T>(rows.of[h][1][r]);
                u32 const low         = narrow_pair<Element, Overflow>(scale(now.low), scale(next.low));
                u32 const high        = narrow_pair<Element, Overflow>(scale(now.high), scale(next.high));
                return low | high << 16;
            }
        }
    }

    template <class Overflow, class T, class Wave, class Layout, class Scale>
    KVLOOM_FN static void turn(Wave wave, strip_rows<typename Layout::element> const& rows,
                               paged_view<Layout> const& cache, token_place where, int head, int strip,
                               int heads, Scale const& scale, site at)
    {
        int const j = wave.lane() / 4;
        int const dim =
            chunk_size * (4 * strip + j / 2) + j % 2; // of word 0; word r is two dims on for each r
        int const word         = wave.lane() % 4;
        constexpr int two_dims = 2 * dim_stride_v<Layout> * int(sizeof(typename Layout::element));
        KVLOOM_UNROLL
        for (int h = 0; h < Heads; ++h) {
            char* const vector = reinterpret_cast<char*>(cache.address(where, head + h, dim));
            KVLOOM_UNROLL
            for (int r = 0; r < 4; ++r) {
                u32 const turned = wave.transpose8(unit_word<Overflow, T>(rows, h, r, scale), at);
                if (head + h < heads) {
                    wave.store(vector + r * two_dims + 4 * word, turned);
                }
            }
        }
    }

    template <class Overflow, class Wave, class T, class HeadsAre, class Layout, class Scale>
    KVLOOM_FN static void scatter(Wave wave, head_rows<T const, Dim, HeadsAre> const& source,
                                  paged_view<Layout> const& cache, u32 lone, int origin, i64 slots, int head,
                                  Scale const& scale, site at)
    {
        constexpr int together = Heads >= 4 ? 1 : 4 / Heads; // tokens whose loads are in flight at once
        while (lone != 0) {
            token_place where[together];
            detail::spread_row<Wave, Dim> held[together][Heads];
            KVLOOM_UNROLL
            for (int t = 0; t < together; ++t) {
                bool const some = lone != 0;
                int const i     = some ? count_trailing_zeros(lone) : 0;
                lone &= lone - 1;
                where[t]       = place(cache, wave.from_lane(slots, i, at));
                where[t].valid = where[t].valid && some;
                KVLOOM_UNROLL
                for (int h = 0; h < Heads; ++h) {
                    bool const present = where[t].valid && head + h < source.heads;
                    held[t][h] = detail::fetch_elements(wave, source.row(origin + i, head + h), present);
                }
            }
            KVLOOM_UNROLL
            for (int t = 0; t < together; ++t) {
                KVLOOM_UNROLL
                for (int h = 0; h < Heads; ++h) {
                    if (head + h < source.heads) {
                        detail::scatter_elements<Overflow, T>(wave, held[t][h], cache, where[t], head + h,
                                                              scale);
                    }
                }
            }
        }
    }
};

} // namespace v0
} // namespace kvloom
