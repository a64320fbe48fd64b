// SPDX-License-Identifier: MIT
// Which tokens and dims of a step a lane holds: the order in which 16-byte vectors of a cache become the operands of
// a matrix unit.
#pragma once

#include "kvloom/layout/span.hpp"
#include "kvloom/matrix/attention_tile.hpp"

namespace kvloom {
inline namespace v0 {

/// Tokens [first, last), counted from a step's first token.
struct token_range
{
    int first = 0;
    int last  = 0;

    KVLOOM_FN bool holds(int token) const { return token >= first && token < last; }
};

/// The order of operands that go from memory to registers: every load is 16 bytes, and nothing crosses lanes.
///
/// A step is four vectors of x = 16 / sizeof(T) tokens, one for each of the four lane groups that share a query row.
/// Of a product over dims a lane holds `PerLane` neighbours of one vector of keys, of one over tokens as many neighbours
/// of one vector of values.
template <class T, int Dim, int PerLane>
struct vector_order
{
    static constexpr int x = vector_size<T>;
    static_assert(Dim % (4 * x) == 0, "vector_order: the head size must fill four 16-byte vectors");
    static_assert(PerLane == 4 || PerLane == 8,
                  "vector_order: a lane must hold 4 or 8 elements of a product");

    static constexpr int tokens   = 4 * x; ///< of a step
    static constexpr int per_lane = PerLane;
    static constexpr int groups   = x / PerLane;         ///< products over the tokens of a step
    static constexpr int slices   = Dim / (4 * PerLane); ///< products over the dims of a key
    static constexpr int run      = 4;   ///< neighbouring dims of a lane in a product, at least
    static constexpr bool swaps = false; ///< whether groups 2 and 3 hold tokens 2, 3 of each four before 0, 1

    /// Number `e` of the tokens that lane group `group` holds of product `t`, from the step's first.
    KVLOOM_FN static constexpr int token(int t, int group, int e) { return group * x + PerLane * t + e; }

    /// Number `e` of the dims that lane group `group` holds of product `j`.
    KVLOOM_FN static constexpr int dim(int j, int group, int e)
    {
        return x * (4 * (j / groups) + group) + PerLane * (j % groups) + e;
    }
};

namespace detail {

/// Elements of T as an operand of Element, from as many words of a cache as hold them: as they stand, or widened
/// exactly. `word_at(i)` gives word i.
template <class Tile, class T, class WordAt>
KVLOOM_FN typename Tile::operand make_operand(WordAt const& word_at)
{
    using element = typename Tile::element;
    typename Tile::operand words;
    if constexpr (sizeof(T) == sizeof(element)) {
        static_assert(is_same_v<element, T>,
                      "operand: elements that are not widened enter in their own type");
        KVLOOM_UNROLL
        for (int w = 0; w < Tile::words; ++w) {
            words[w] = word_at(w);
        }
    } else {
        KVLOOM_UNROLL
        for (int w = 0; w < Tile::words / 2; ++w) {
            u32 const word = word_at(w);
            if constexpr (is_same_v<element, fp16>) {
                words[2 * w]     = fp8s_to_halves<T, false>(word);
                words[2 * w + 1] = fp8s_to_halves<T, true>(word);
            } else {
                auto const low   = widen_fp8s<T, false>(word);
                auto const high  = widen_fp8s<T, true>(word);
                words[2 * w]     = narrow_pair<element>(low.low, low.high);
                words[2 * w + 1] = narrow_pair<element>(high.low, high.high);
            }
        }
    }
    return words;
}

/// Operand `part` of a 16-byte vector of T.
template <class Tile, class T>
KVLOOM_FN typename Tile::operand operand_of_vector(vector_words const& vector, int part)
{
    constexpr int words = Tile::per_lane / word_size<T>;
    return make_operand<Tile, T>([&](int w) { return u32(vector[part * words + w]); });
}

} // namespace detail
} // namespace v0
} // namespace kvloom
