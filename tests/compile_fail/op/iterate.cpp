// SPDX-License-Identifier: MIT
// What op/iterate.hpp refuses.
#include "kvloom/op/iterate.hpp"
#include "machine.hpp"

using namespace kvloom;

void turns(machine_block const& block, machine_tile tile)
{
    // refuses: adjacent_tokens: the second argument must be a tile
    // wrong: adjacent_tokens(block, tile.wave, 1);
    adjacent_tokens(block, tile, 1);

    // refuses: heads: the first argument must be a tile
    // wrong: heads(block, 1);
    heads(tile, 1);
}
