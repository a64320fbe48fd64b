// SPDX-License-Identifier: MIT
// What op/insert.hpp refuses.
#include "kvloom/op/insert.hpp"
#include "machine.hpp"

using namespace kvloom;

using layout = token_rows<bf16, 128>;

void store(machine_tile tile, paged_view<layout> const& cache, token_place where)
{
    // refuses: insert: the first argument must be a tile
    // wrong: insert(tile.wave, cache, where, 0, row<machine_wave, 128>{});
    insert(tile, cache, where, 0, row<machine_tile, 128>{});

    // refuses: insert: the second argument must be a paged view
    // wrong: insert(tile, layout{}, where, 0, row<machine_tile, 128>{});
    insert(tile, paged_view<layout>{}, where, 0, row<machine_tile, 128>{});

    // refuses: insert: the row's length is not the cache's head size
    // wrong: insert(tile, cache, where, 0, row<machine_tile, 64>{});
    insert(tile, cache, where, 0, row<machine_tile, 128>{});
}
