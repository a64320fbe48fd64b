// SPDX-License-Identifier: MIT
// Iteration over tokens and heads: which tile of the grid takes which rows.
#pragma once

#include "kvloom/group/tile.hpp"

namespace kvloom {
inline namespace v0 {

/// A tile's turn in a loop over items. Every lane of a wave makes the same turns, so collectives may stand in the
/// body; a tile whose turn is not live holds the last item and must write nothing.
struct turn_of_tile
{
    int item  = 0;
    bool live = false;
};

/// Begin and end of a loop in which a wave takes `per_wave` neighbouring items, one a tile, and then strides on.
struct tile_turns
{
    struct position
    {
        int base;
        int step;
        int tile;
        int count;

        KVLOOM_FN turn_of_tile operator*() const
        {
            int const item = base + tile;
            return {item < count ? item : count - 1, item < count};
        }
        KVLOOM_FN position& operator++()
        {
            base += step;
            return *this;
        }
        KVLOOM_FN bool operator!=(int end) const { return base < end; }
    };

    position first;

    KVLOOM_FN position begin() const { return first; }
    KVLOOM_FN int end() const { return first.count; }
};

/// Tokens 0 .. count - 1 over all tiles of the grid, neighbouring tokens in neighbouring tiles: rows of a layout
/// whose tokens lie side by side (SHUFFLE keys) then leave in whole 32-byte sectors.
template <class Block, class Tile>
KVLOOM_FN tile_turns adjacent_tokens(Block const& block, Tile tile, int count)
{
    static_assert(is_tile_v<Tile>, "adjacent_tokens: the second argument must be a tile");
    int const wave  = block.index() * Block::waves + block.wave_index();
    int const waves = block.count() * Block::waves;
    return {{wave * Tile::per_wave, waves * Tile::per_wave, tile.index(), count}};
}

/// Tokens 0 .. count - 1 over the waves of the grid, each token for all tiles of one wave, which share its slot,
/// position and angles while they divide its heads (heads()).
template <class Block>
KVLOOM_FN tile_turns tokens(Block const& block, int count)
{
    int const wave  = block.index() * Block::waves + block.wave_index();
    int const waves = block.count() * Block::waves;
    return {{wave, waves, 0, count}};
}

/// Heads 0 .. count - 1 of one token over the tiles of a wave, neighbouring heads in neighbouring tiles.
template <class Tile>
KVLOOM_FN tile_turns heads(Tile tile, int count)
{
    static_assert(is_tile_v<Tile>, "heads: the first argument must be a tile");
    return {{0, Tile::per_wave, tile.index(), count}};
}

} // namespace v0
} // namespace kvloom
