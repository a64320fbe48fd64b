// SPDX-License-Identifier: MIT
// What both ways of turning V share: rules, rows that are looked at as a whole, and units of 16 bits.
#pragma once

#include "kvloom/op/insert_values_elements.hpp"
#include "kvloom/op/rms_norm.hpp"
#include "kvloom/op/slot_runs.hpp"

namespace kvloom {
inline namespace v0 {

/// A rule says how the values of a row of V become what is stored. This one: by one quantiser for all heads.
///
/// A rule that looks at whole rows sets `whole_row`; it says whether it needs the sum of a row's squares
/// (`squares`) and its largest magnitude (`largest`), makes a quantiser of them in of_row(squares, largest), and
/// takes note of it in record(wave, place, head, quantiser), which one lane calls for each stored row. Any other
/// rule gives the quantiser of a head in for_head(head).
template <class Quantiser>
struct same_for_all
{
    static constexpr bool whole_row = false;

    Quantiser quantiser;

    KVLOOM_FN Quantiser for_head(int) const { return quantiser; }
};

namespace detail {

/// The tile in whose lanes a rule looks at a row: every tile of the wave looks at the same one.
template <class Wave, int Dim>
using whole_row_tile = tile_group < Wave,
      Dim<128 ? 8 : 16, rotary<0>>;

/// A row as a rule will look at it; nothing is read for rules that do not.
template <class Rule, class Wave, class T, int Dim>
KVLOOM_FN auto fetch_whole(Wave wave, row_span<T const, Dim> source, bool present)
{
    return fetch(whole_row_tile<Wave, Dim>{wave}, source, present && Rule::whole_row);
}

/// The quantiser of a row that was fetched whole, or of a head. Every lane of the wave calls.
template <class Rule, class T, class Tile, int Dim>
KVLOOM_FN auto quantiser_of(Tile tile, [[maybe_unused]] stored_row<T, Tile, Dim> const& stored,
                            [[maybe_unused]] int head, Rule const& rule, [[maybe_unused]] site at)
{
    if constexpr (!Rule::whole_row) {
        return rule.for_head(head);
    } else {
        auto const x  = widen(stored);
        float squares = 0.0F;
        float largest = 0.0F;
        if constexpr (Rule::squares) {
            squares = row_sum_of_squares(tile, x, at);
        }
        if constexpr (Rule::largest) {
            largest = all_reduce(tile, largest_held(x), larger_magnitude{}, at);
        }
        return rule.of_row(squares, largest);
    }
}

template <class Rule, class Wave, class Quantiser>
KVLOOM_FN void record([[maybe_unused]] Rule const& rule, [[maybe_unused]] Wave wave,
                      [[maybe_unused]] token_place where, [[maybe_unused]] int head,
                      [[maybe_unused]] Quantiser const& quantiser)
{
    if constexpr (Rule::whole_row) {
        if (where.valid) {
            rule.record(wave, where, head, quantiser);
        }
    }
}

/// The largest magnitude of a chunk of T, NaN left out, in both halves of the result.
template <class T>
KVLOOM_FN u32 largest_of_words(vec<u32, 4> const& words)
{
    u32 const two = larger_magnitudes<T>(larger_magnitudes<T>(words[0], words[1]),
                                         larger_magnitudes<T>(words[2], words[3]));
    return larger_magnitudes<T>(two, two >> 16 | two << 16);
}

/// Units of a chunk of eight dims: a unit is 16 bits, one token of a 16-bit cache or two neighbouring tokens of an
/// fp8 cache. Word r of the result holds the units of dims 2 r and 2 r + 1.
template <class Overflow, class T, class Element, class Quantiser>
KVLOOM_FN vec<u32, 4> units_of(vec<u32, 4> const& now, [[maybe_unused]] vec<u32, 4> const& next,
                               [[maybe_unused]] Quantiser const& of_now,
                               [[maybe_unused]] Quantiser const& of_next)
{
    if constexpr (is_same_v<Element, T> && is_same_v<Quantiser, as_it_is>) {
        return now;
    } else {
        vec<float, chunk_size> const a = of_now(unpack<T>(now));
        vec<u32, 4> units;
        if constexpr (sizeof(Element) == 2) {
            units = pack<Element, Overflow>(a);
        } else {
            vec<float, chunk_size> const b = of_next(unpack<T>(next));
            vec<float, 2 * chunk_size> both;
            KVLOOM_UNROLL
            for (int i = 0; i < chunk_size; ++i) {
                both[2 * i]     = a[i];
                both[2 * i + 1] = b[i];
            }
            units = kvloom::detail::narrow_words<Element, Overflow>(both);
        }
        return units;
    }
}

} // namespace detail
} // namespace v0
} // namespace kvloom
