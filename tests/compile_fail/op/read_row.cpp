// SPDX-License-Identifier: MIT
// What op/read_row.hpp refuses.
#include "kvloom/op/read_row.hpp"
#include "machine.hpp"

using namespace kvloom;

void read(machine_tile tile, paged_view<token_rows<bf16, 128>> const& cache, token_place where)
{
    // refuses: fetch: the first argument must be a tile
    // wrong: fetch(tile.wave, cache, where, 0);
    fetch(tile, cache, where, 0);
}
