// SPDX-License-Identifier: MIT
// What op/memory.hpp refuses.
#include "kvloom/op/memory.hpp"
#include "machine.hpp"

using namespace kvloom;

void copy(machine_tile tile, row_span<bf16 const, 128> from, row_span<bf16, 128> to)
{
    // refuses: fetch: the first argument must be a tile
    // wrong: fetch(tile.wave, from);
    fetch(tile, from);

    // refuses: store: the first argument must be a tile
    // wrong: store(tile.wave, to, row<machine_wave, 128>{});
    store(tile, to, row<machine_tile, 128>{});
}
