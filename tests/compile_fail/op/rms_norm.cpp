// SPDX-License-Identifier: MIT
// What op/rms_norm.hpp refuses.
#include "kvloom/op/rms_norm.hpp"
#include "machine.hpp"

using namespace kvloom;

using other_tile = tile_group<machine_wave, 16, rotary<0>>;

void normalise(machine_tile tile)
{
    // refuses: row_sum_of_squares: a lane holds at most four chunks of a row; take a wider tile
    // wrong: row_sum_of_squares(tile, row<machine_tile, 640>{});
    row_sum_of_squares(tile, row<machine_tile, 512>{});

    // refuses: inverse_rms: a lane holds at most four chunks of a row; take a wider tile
    // wrong: rms_norm(tile, row<machine_tile, 640>{}, no_gain{}, 0.0F);
    rms_norm(tile, row<machine_tile, 512>{}, no_gain{}, 0.0F);

    // refuses: inverse_rms: the number of rows must be 1, 2 or a multiple of 4
    // wrong: rms_norm(tile, rows<machine_tile, 128, 6>{}, no_gain{}, 0.0F);
    rms_norm(tile, rows<machine_tile, 128, 8>{}, no_gain{}, 0.0F);

    // refuses: rms_norm: the gain was loaded under another tile
    // wrong: rms_norm(tile, row<machine_tile, 128>{}, row<other_tile, 128>{}, 0.0F);
    rms_norm(tile, row<machine_tile, 128>{}, row<machine_tile, 128>{}, 0.0F);

    // refuses: rms_norm: the first argument must be a tile
    // wrong: rms_norm(tile.wave, row<machine_wave, 128>{}, no_gain{}, 0.0F);
    rms_norm(tile, row<machine_tile, 128>{}, no_gain{}, 0.0F);
}
