// SPDX-License-Identifier: MIT
// What streams of pages have in common: the steps that they take, what they read, and the operands that they give.
#pragma once

#include "kvloom/layout/view.hpp"
#include "kvloom/matrix/attention_tile.hpp"

namespace kvloom {
inline namespace v0 {

/// The steps of `StepTokens` tokens that a wave takes through a segment: a part of each of the segment's nodes in turn.
template <int StepTokens>
struct step_path
{
    int origin     = 0; ///< the first token of the wave's part of the segment's first node
    int first      = 0; ///< steps to take: [first, last)
    int last       = 0;
    int node_shift = 0; ///< a node has 2^node_shift tokens
    int part_shift = 0; ///< and the wave's part of it 2^part_shift steps

    /// The token at which a step begins.
    KVLOOM_FN int position(int step) const
    {
        int const node = step >> part_shift;
        return origin + (node << node_shift) + (step - (node << part_shift)) * StepTokens;
    }
};

/// What a stream of pages reads: one head of both caches, through one run of pages.
template <class KeyView, class ValueView, class Run>
struct page_source
{
    KeyView keys;
    ValueView values;
    Run run;
    int head   = 0;
    int length = 0; ///< tokens of the sequence
};

namespace detail {

/// Operands of `Slices` products over dims and `Groups` products over tokens.
template <class Tile, int Slices, int Groups>
struct key_bundle
{
    typename Tile::operand at[Slices][Groups][Tile::score_tiles];
};
template <class Tile, int Tiles, int Groups>
struct value_bundle
{
    typename Tile::operand at[Tiles][Groups];
};

} // namespace detail
} // namespace v0
} // namespace kvloom
