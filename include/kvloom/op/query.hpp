// SPDX-License-Identifier: MIT
// Query rows as operands of a matrix unit.
#pragma once

#include "kvloom/group/algorithm.hpp"
#include "kvloom/op/token_order.hpp"

namespace kvloom {
inline namespace v0 {

/// A lane's share of the query rows of a tile of `Dim` dims, and what its rows' scores must be multiplied by.
template <class Tile, int Dim>
struct query_fragment
{
    typename Tile::row_operand slice[Dim / Tile::depth];
    float factor[Tile::lane_rows];
};

namespace detail {

/// Where the largest element of a row lies once it has been lifted: in [2^this, 2^(this + 1)), which its type holds.
template <class Element>
inline constexpr int lifted_exponent = sizeof(Element) == 1 ? 6 : 14;

/// The power of two that brings a magnitude there, as an exponent. Zero and subnormal numbers count as 2^-112, infinities
/// and NaN as the largest power.
template <class Element>
KVLOOM_FN int lift_of(float magnitude)
{
    int const exponent = int(bit_cast<u32>(magnitude) >> 23);
    int const held     = exponent < 15 ? 15 : exponent > 253 ? 253 : exponent;
    return lifted_exponent<Element> + 127 - held;
}

KVLOOM_FN float power_of_two(int exponent)
{
    return bit_cast<float>(u32(127 + exponent) << 23);
}

/// Four elements of 16 bits as two words: neighbours, or two pairs of neighbours.
template <int Run, class Wave>
KVLOOM_FN void load_neighbours(Wave wave, void const* low, void const* high, u32 (&words)[2])
{
    if constexpr (Run == 4) {
        auto const both = wave.template load<vec<u32, 2>>(low);
        words[0]        = both[0];
        words[1]        = both[1];
    } else {
        words[0] = wave.template load<u32>(low);
        words[1] = wave.template load<u32>(high);
    }
}

/// A lane's elements of a row, two to a word, by products over dims.
template <class Order, class Wave, class Query, int Slices, int Pairs>
KVLOOM_FN void load_pairs(Wave wave, int group, Query const* row, u32 (&words)[Slices][Pairs])
{
    KVLOOM_UNROLL
    for (int j = 0; j < Slices; ++j) {
        KVLOOM_UNROLL
        for (int i = 0; i < Pairs; i += 2) {
            u32 both[2];
            load_neighbours<Order::run>(wave, row + Order::dim(j, group, 2 * i),
                                        row + Order::dim(j, group, 2 * i + 2), both);
            words[j][i]     = both[0];
            words[j][i + 1] = both[1];
        }
    }
}

/// Word w of an operand of Element from the pairs of a row of Query, lifted by a power of two.
template <class Element, class Query, int Pairs>
KVLOOM_FN u32 query_word(u32 const (&pairs)[Pairs], int w, int lift)
{
    if constexpr (is_same_v<Element, Query>) {
        return pairs[w];
    } else {
        float const by = power_of_two(lift);
        float numbers[word_size<Element>];
        KVLOOM_UNROLL
        for (int i = 0; i < word_size<Element> / 2; ++i) {
            auto const pair    = widen_pair<Query>(pairs[w * word_size<Element> / 2 + i]);
            numbers[2 * i]     = pair.low * by;
            numbers[2 * i + 1] = pair.high * by;
        }
        return narrow_to_word<Element, saturate>(numbers);
    }
}

} // namespace detail

/// Loads the query rows that the calling lane holds: `row_at(r)` gives its row r's data.
///
/// Rows of the operand's own type enter as they are. Others are multiplied by a power of two of their own, so that
/// their largest element lies in [2^14, 2^15), in fp8 in [2^6, 2^7), and rounded to the operand's type: in fp16 an
/// element loses more than its eleventh bit only if it is less than 2^-28 of the row's largest, and never more than 2^-39
/// of that; in fp8 more than its fourth if it is less than 2^-12 of the largest, and never more than 2^-16 of that.
/// Collective. @cost four or eight bytes an access
template <class Tile, class Order, int Dim, class Wave, class Query, class RowAt>
KVLOOM_FN query_fragment<Tile, Dim> load_query(Wave wave, Query const*, RowAt row_at, site at = site::here())
{
    static_assert(sizeof(Query) == 2, "load_query: query rows hold bf16 or fp16");
    using element        = typename Tile::element;
    constexpr int slices = Dim / Tile::depth;
    constexpr int pairs  = Tile::per_lane / 2; ///< of a slice and row
    query_fragment<Tile, Dim> query{};
    u32 words[Tile::lane_rows][slices][pairs];
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        query.factor[r] = 1.0F;
        detail::load_pairs<Order>(wave, Tile::group(wave.lane()), row_at(r), words[r]);
    }
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        int lift = 0;
        if constexpr (!is_same_v<Query, element>) {
            float largest = 0.0F;
            KVLOOM_UNROLL
            for (int i = 0; i < slices * pairs; ++i) {
                auto const pair = widen_pair<Query>(words[r][i / pairs][i % pairs]);
                largest         = larger(largest, larger(magnitude(pair.low), magnitude(pair.high)));
            }
            lift            = detail::lift_of<element>(combine_groups<Tile>(wave, largest, maximum{}, at));
            query.factor[r] = detail::power_of_two(-lift);
        }
        KVLOOM_UNROLL
        for (int j = 0; j < slices; ++j) {
            KVLOOM_UNROLL
            for (int w = 0; w < Tile::words; ++w) {
                u32 word = detail::query_word<element, Query>(words[r][j], w, lift);
                wave.hold(word); // it has arrived: a loop over pages must not wait for it
                query.slice[j][w * Tile::unit_rows + r] = word;
            }
        }
    }
    return query;
}

} // namespace v0
} // namespace kvloom
