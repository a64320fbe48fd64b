// SPDX-License-Identifier: MIT
// Attention on a matrix unit: 16 query rows against groups of tokens, scores that are the operand of the second product
// as they lie.
#pragma once

#include "kvloom/matrix/multiply_add.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// Elements of a row or column that a lane hands to one product.
template <class Unit>
inline constexpr int depth_of_lane = Unit::k / 4;

/// Whether the columns that a lane holds in C are those that it holds in B, as many elements of each once products
/// side by side have filled B's depth: then scores are computed as S^T = K Q^T.
template <class Unit>
KVLOOM_FN constexpr bool c_fills_b()
{
    constexpr int elements = Unit::b_words * word_size<typename Unit::element>;
    bool fills = elements == depth_of_lane<Unit> && elements == Unit::c_numbers * (Unit::k / Unit::m);
    for (int lane = 0; lane < Unit::lanes; ++lane) {
        int const group = Unit::b(lane, 0).row / elements;
        for (int e = 0; e < elements; ++e) {
            matrix_coord const wanted{group * elements + e, Unit::b(lane, 0).column};
            fills = fills && Unit::b(lane, e) == wanted;
        }
        for (int e = 0; e < Unit::c_numbers; ++e) {
            matrix_coord const wanted{group * Unit::c_numbers + e, Unit::b(lane, 0).column};
            fills = fills && Unit::c(lane, e) == wanted;
        }
    }
    return fills;
}

/// Whether the rows that a lane holds in C are the two that it holds in A, as many elements of each once products side
/// by side have filled A's depth: then scores are S = Q K^T.
template <class Unit>
KVLOOM_FN constexpr bool c_fills_a()
{
    constexpr int word = word_size<typename Unit::element>;
    constexpr int all  = Unit::a_words * word;
    bool fills         = all == 2 * depth_of_lane<Unit> && all == Unit::c_numbers * (Unit::k / Unit::n);
    for (int lane = 0; lane < Unit::lanes; ++lane) {
        int const group = Unit::a(lane, 0).column / word;
        for (int e = 0; e < all; ++e) {
            int const row = Unit::a(lane, e / word % 2 * word).row;
            matrix_coord const wanted{row, (e / word / 2 * 4 + group) * word + e % word};
            fills = fills && Unit::a(lane, e) == wanted;
        }
        for (int e = 0; e < Unit::c_numbers; ++e) {
            matrix_coord const wanted{Unit::a(lane, e / 2 * word).row, 2 * group + e % 2};
            fills = fills && Unit::c(lane, e) == wanted;
        }
    }
    return fills;
}

} // namespace detail

/// Which lane holds what of the two products of attention.
///
/// Four lanes, the groups 0 to 3, share a query row; of each `depth` tokens a lane holds the scores of a quarter, and of
/// each `depth` dims of a key or query the quarter that it hands to one product. Which tokens or dims these are is for the
/// loader to say (op/token_order.hpp): the products do not care as long as both operands agree.
///
/// Rows: 16, or 8 where the unit's rows 8 to 15 would be empty: a lane of a unit that has two rows then leaves its second
/// one out, half the exponentials.
template <class Unit, int Rows = 16>
struct attention_tile
{
    static_assert(Rows == 8 || Rows == 16, "attention_tile: there must be 8 or 16 rows");
    static_assert(Unit::k == 16 || Unit::k == 32,
                  "attention_tile: the unit must multiply 16 or 32 neighbours at once");
    static_assert(
        detail::c_fills_b<Unit>() || detail::c_fills_a<Unit>(),
        "attention_tile: neither operand of the unit lies as its result does, so scores would have to "
        "cross lanes");

    using unit    = Unit;
    using element = typename Unit::element;

    /// Keys are A and values are A (S^T = K Q^T, O^T = V^T P^T); otherwise they are B.
    static constexpr bool keys_first = detail::c_fills_b<Unit>();

    static constexpr int rows        = Rows;                            ///< query rows
    static constexpr int unit_rows   = keys_first ? 1 : 2;              ///< that the unit has of a lane
    static constexpr int lane_rows   = keys_first || Rows == 8 ? 1 : 2; ///< of which so many count
    static constexpr int depth       = Unit::k; ///< tokens, or dims, that a product sums over
    static constexpr int per_lane    = detail::depth_of_lane<Unit>;   ///< of which a lane holds so many
    static constexpr int words       = per_lane / word_size<element>; ///< of 32 bits, for as many elements
    static constexpr int width       = keys_first ? 16 : 8; ///< tokens, or dims, of one key or value operand
    static constexpr int score_tiles = depth / width;       ///< key operands for `depth` tokens
    static constexpr int run         = keys_first ? 4 : 2;  ///< neighbouring dims in a lane's sums

    using operand     = vec<u32, words>;             ///< of keys or values: `per_lane` elements
    using row_operand = vec<u32, words * unit_rows>; ///< of queries or probabilities: as many of each row
    using sums        = accumulator<Unit>;

    /// The lane's group among the four that share its rows.
    KVLOOM_FN static constexpr int group(int lane) { return keys_first ? lane / 16 : lane % 4; }

    /// The token (of a key operand) or dim (of a value operand) that the lane holds, 0 to width - 1.
    KVLOOM_FN static constexpr int index(int lane) { return keys_first ? lane % 16 : lane / 4; }

    /// Row r, of the lane's own.
    KVLOOM_FN static constexpr int row(int lane, int r) { return index(lane) + 8 * r; }

    /// Of a sum's element e: whether it counts, the lane's own row, and the number of the token (of the lane's `per_lane`,
    /// in score tile `tile`).
    KVLOOM_FN static constexpr bool counts(int e) { return keys_first || e / 2 < lane_rows; }
    KVLOOM_FN static constexpr int own_row(int e) { return keys_first ? 0 : e / 2; }
    KVLOOM_FN static constexpr int own_token(int tile, int e)
    {
        return keys_first ? 4 * tile + e : 2 * tile + e % 2;
    }

    /// Of an output sum's element e: the dim in its `width` dims.
    KVLOOM_FN static constexpr int own_dim(int lane, int e)
    {
        return keys_first ? 4 * group(lane) + e : 2 * group(lane) + e % 2;
    }

    /// The token at index `at` of score tile `tile`: the group of the lane that will hold its scores, and which of that
    /// lane's it is.
    KVLOOM_FN static constexpr int group_of(int at) { return keys_first ? at / 4 : at / 2; }
    KVLOOM_FN static constexpr int number_of(int tile, int at)
    {
        return keys_first ? 4 * tile + at % 4 : 2 * tile + at % 2;
    }

    /// Sums plus the product of keys (values) and queries (probabilities). Collective.
    template <class Wave>
    KVLOOM_FN static sums multiply(Wave wave, operand const& other, row_operand const& rows, sums const& to,
                                   site at = site::here())
    {
        if constexpr (keys_first) {
            return multiply_add<Unit>(wave, other, rows, to, at);
        } else {
            return multiply_add<Unit>(wave, rows, other, to, at);
        }
    }

    /// The operand of `per_lane` numbers for each of the lane's rows.
    KVLOOM_FN static row_operand pack(float const (&numbers)[lane_rows][per_lane])
    {
        row_operand packed = {};
        KVLOOM_UNROLL
        for (int w = 0; w < words; ++w) {
            KVLOOM_UNROLL
            for (int r = 0; r < lane_rows; ++r) {
                packed[w * unit_rows + r] =
                    detail::narrow_to_word<element, saturate>(numbers[r] + w * word_size<element>);
            }
        }
        return packed;
    }
};

/// Combines the values of the four lanes that share a query row; all four get the result. Collective.
template <class Tile, class Wave, class T, class Combine>
KVLOOM_FN T combine_groups(Wave wave, T value, Combine combine, site at = site::here())
{
    constexpr int first = Tile::keys_first ? 16 : 1;
    value               = combine(value, wave.template exchange<first>(value, at));
    return combine(value, wave.template exchange<2 * first>(value, at));
}

} // namespace v0
} // namespace kvloom
