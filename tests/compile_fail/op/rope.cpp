// SPDX-License-Identifier: MIT
// What op/rope.hpp refuses.
#include "kvloom/op/rope.hpp"
#include "machine.hpp"

using namespace kvloom;

void turn(machine_tile tile, angles<machine_tile> const& by)
{
    // refuses: rope_neox: more dims to turn than the row has
    // wrong: rope_neox(tile, row<machine_tile, 32>{}, by);
    rope_neox(tile, row<machine_tile, 64>{}, by);

    // refuses: rope_interleaved: more dims to turn than the row has
    // wrong: rope_interleaved(tile, row<machine_tile, 32>{}, by);
    rope_interleaved(tile, row<machine_tile, 64>{}, by);
}

/// A group with everything that a tile has, but none.
struct other_group : machine_tile
{};

void turn_another(machine_tile tile)
{
    // refuses: rope_neox: the first argument must be a tile
    // wrong: rope_neox(other_group{tile}, row<other_group, 128>{}, angles<other_group>{});
    rope_neox(tile, row<machine_tile, 128>{}, angles<machine_tile>{});

    // refuses: rope_interleaved: the first argument must be a tile
    // wrong: rope_interleaved(other_group{tile}, row<other_group, 128>{}, angles<other_group>{});
    rope_interleaved(tile, row<machine_tile, 128>{}, angles<machine_tile>{});
}
