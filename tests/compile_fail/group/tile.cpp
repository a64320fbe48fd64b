// SPDX-License-Identifier: MIT
// What group/tile.hpp refuses.
#include "machine.hpp"

using namespace kvloom;

// refuses: tile: the number of lanes must be a power of two, at least 4
// wrong: int const size = tile_group<machine_wave, 2, rotary<0>>::size;
// wrong: int const size = tile_group<machine_wave, 24, rotary<0>>::size;
int const size = tile_group<machine_wave, 16, rotary<0>>::size;

void widest(host::block<host::warp32, 64> const& block)
{
    // refuses: tile: wider than the machine's wave
    // wrong: tile<64>(block);
    tile<32>(block);
}
