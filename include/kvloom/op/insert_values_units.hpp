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

/// What quantiser_of() found in the lanes of tile `index`, or of the head where a rule does not look at rows. Every lane
/// of the wave calls.
template <class Rule, class Tile, class Quantiser>
KVLOOM_FN Quantiser quantiser_of_tile([[maybe_unused]] Tile tile, [[maybe_unused]] Quantiser const& found,
                                      [[maybe_unused]] int index, [[maybe_unused]] Rule const& rule,
                                      [[maybe_unused]] int head, [[maybe_unused]] site at)
{
    if constexpr (!Rule::whole_row) {
        return rule.for_head(head);
    } else {
        return kvloom::detail::with_each_word(
            found, [&](u32 word) { return tile.wave.from_lane(word, index * Tile::size, at); });
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

/// The same as one number; cheaper where the machine has no instruction for larger_magnitudes().
template <class T>
KVLOOM_FN float largest_by_keys(vec<u32, 4> const& words)
{
    using namespace kvloom::detail;
    u32 const low  = larger_keys(magnitude_keys<T>(words[0]), magnitude_keys<T>(words[1]));
    u32 const high = larger_keys(magnitude_keys<T>(words[2]), magnitude_keys<T>(words[3]));
    return larger_of_keys<T>(larger_keys(low, high));
}

/// The values of two neighbouring tokens as their quantisers make them. On a `Rare` way they are widened anew, and the
/// registers of the usual way's values need not last until there.
template <class T, bool Rare, class Quantiser>
struct quantised_units
{
    using two_rows = kvloom::detail::interleaved<chunk_size>;

    vec<u32, 4> const& now;
    vec<u32, 4> const& next;
    Quantiser const& of_now;
    Quantiser const& of_next;

    KVLOOM_FN two_rows operator()() const
    {
        return Rare ? of(kvloom::detail::anew(now), kvloom::detail::anew(next)) : of(now, next);
    }

    KVLOOM_FN two_rows of(vec<u32, 4> const& a, vec<u32, 4> const& b) const
    {
        return {of_now(unpack<T>(a)), of_next(unpack<T>(b))};
    }
};

/// Units of a chunk of eight dims: a unit is 16 bits, one token of a 16-bit cache or two neighbouring tokens of an
/// fp8 cache. Word r of the result holds the units of dims 2 r and 2 r + 1.
template <class Overflow, class T, class Element, class Quantiser>
KVLOOM_FN vec<u32, 4> units_of(vec<u32, 4> const& now, [[maybe_unused]] vec<u32, 4> const& next,
                               [[maybe_unused]] Quantiser const& of_now,
                               [[maybe_unused]] Quantiser const& of_next)
{
    if constexpr (is_same_v<Element, T> && is_same_v<Quantiser, as_it_is>) {
        return now;
    } else if constexpr (sizeof(Element) == 2) {
        return pack_by<Element, Overflow>(of_now, unpack<T>(now));
    } else {
        auto const quick_now  = kvloom::detail::short_form(of_now);
        auto const quick_next = kvloom::detail::short_form(of_next);
        using quick           = remove_const_t<decltype(quick_now)>;
        return kvloom::detail::narrow_words_of<Element, Overflow, kvloom::detail::given_by<quick>,
                                               !is_same_v<quick, Quantiser>>(
            quantised_units<T, false, quick>{now, next, quick_now, quick_next},
            quantised_units<T, true, Quantiser>{now, next, of_now, of_next});
    }
}

} // namespace detail
} // namespace v0
} // namespace kvloom
