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
    typename Tile::row_operand slice[Dim / 16];
    float factor[Tile::lane_rows];
};

namespace detail {

/// The power of two that brings a magnitude into [2^14, 2^15), as an exponent. Zero and subnormal numbers count as
/// 2^-112, infinities and NaN as the largest power.
KVLOOM_FN int lift_of(float magnitude)
{
    int const exponent = int(bit_cast<u32>(magnitude) >> 23);
    int const held     = exponent < 15 ? 15 : exponent > 253 ? 253 : exponent;
    return 14 + 127 - held;
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

} // namespace detail

/// Loads the query rows that the calling lane holds: `row_at(r)` gives its row r's data.
///
/// Rows of the operand's own type enter as they are. Others are multiplied by a power of two of their own, so that
/// their largest element lies in [2^14, 2^15), and rounded to the operand's type: in fp16 an element loses more than
/// its eleventh bit only if it is less than 2^-28 of the row's largest, and never more than 2^-39 of that.
/// Collective. @cost four or eight bytes an access
template <class Tile, class Order, int Dim, class Wave, class Query, class RowAt>
KVLOOM_FN query_fragment<Tile, Dim> load_query(Wave wave, Query const*, RowAt row_at, site at = site::here())
{
    static_assert(sizeof(Query) == 2, "load_query: query rows hold bf16 or fp16");
    using element   = typename Tile::element;
    int const group = Tile::group(wave.lane());
    query_fragment<Tile, Dim> query{};
    u32 words[Tile::lane_rows][Dim / 16][2];
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        Query const* const row = row_at(r);
        query.factor[r]        = 1.0F;
        KVLOOM_UNROLL
        for (int j = 0; j < Dim / 16; ++j) {
            detail::load_neighbours<Order::run>(wave, row + Order::dim(j, group, 0),
                                                row + Order::dim(j, group, 2), words[r][j]);
        }
    }
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        float lift = 1.0F;
        if constexpr (!is_same_v<Query, element>) {
            float largest = 0.0F;
            KVLOOM_UNROLL
            for (int i = 0; i < Dim / 8; ++i) {
                auto const pair = widen_pair<Query>(words[r][i / 2][i % 2]);
                largest         = larger(largest, larger(magnitude(pair.low), magnitude(pair.high)));
            }
            int const exponent = detail::lift_of(combine_groups<Tile>(wave, largest, maximum{}, at));
            lift               = detail::power_of_two(exponent);
            query.factor[r]    = detail::power_of_two(-exponent);
        }
        KVLOOM_UNROLL
        for (int j = 0; j < Dim / 16; ++j) {
            KVLOOM_UNROLL
            for (int half = 0; half < 2; ++half) {
                u32 word = words[r][j][half];
                if constexpr (!is_same_v<Query, element>) {
                    auto const pair = widen_pair<Query>(word);
                    word            = narrow_pair<element>(pair.low * lift, pair.high * lift);
                }
                wave.hold(word); // it has arrived: a loop over pages must not wait for it
                query.slice[j][half * Tile::unit_rows + r] = word;
            }
        }
    }
    return query;
}

} // namespace v0
} // namespace kvloom
