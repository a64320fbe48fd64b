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
/// Of 16 dims' product j a lane holds four neighbours of one vector of keys, of 16 tokens' product t four neighbours of
/// one vector of values.
template <class T, int Dim>
struct vector_order
{
    static constexpr int x = vector_size<T>;
    static_assert(Dim % (4 * x) == 0, "vector_order: the head size must fill four 16-byte vectors");

    static constexpr int tokens = 4 * x;       ///< of a step
    static constexpr int groups = tokens / 16; ///< products over the tokens of a step
    static constexpr int slices = Dim / 16;    ///< products over the dims of a key
    static constexpr int run    = 4;           ///< neighbouring dims of a lane in a product
    static constexpr bool swaps = false; ///< whether groups 2 and 3 hold tokens 2, 3 of a product before 0, 1

    /// Number `e` of the four tokens that lane group `group` holds of product `t`, from the step's first.
    KVLOOM_FN static constexpr int token(int t, int group, int e) { return group * x + 4 * t + e; }

    /// Number `e` of the four dims that lane group `group` holds of product `j`.
    KVLOOM_FN static constexpr int dim(int j, int group, int e)
    {
        return x * (4 * (j / groups) + group) + 4 * (j % groups) + e;
    }
};

namespace detail {

/// Four fp8 elements as an operand of Element: exact.
template <class Element, class T>
KVLOOM_FN vec<u32, 2> operand_of_word(u32 word)
{
    vec<u32, 2> words;
    if constexpr (is_same_v<Element, fp16>) {
        words[0] = fp8s_to_halves<T, false>(word);
        words[1] = fp8s_to_halves<T, true>(word);
    } else {
        auto const low  = widen_fp8s<T, false>(word);
        auto const high = widen_fp8s<T, true>(word);
        words[0]        = narrow_pair<Element>(low.low, low.high);
        words[1]        = narrow_pair<Element>(high.low, high.high);
    }
    return words;
}

/// The operand of Element in words 4 * part .. of a 16-byte vector of T: half a vector of a 16-bit type as it stands,
/// a quarter of a vector of fp8 widened.
template <class Element, class T>
KVLOOM_FN vec<u32, 2> operand_of_vector(vector_words const& vector, int part)
{
    if constexpr (sizeof(T) == 2) {
        static_assert(is_same_v<Element, T>, "operand: a 16-bit cache is multiplied in its own type");
        vec<u32, 2> words;
        words[0] = vector[2 * part];
        words[1] = vector[2 * part + 1];
        return words;
    } else {
        u32 const word = vector[part];
        return operand_of_word<Element, T>(word);
    }
}

} // namespace detail
} // namespace v0
} // namespace kvloom
