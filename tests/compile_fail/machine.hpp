// SPDX-License-Identifier: MIT
// The machine on which the refused lines are tried: a tile of 16 lanes of the host's CDNA wave.
#pragma once

#include "kvloom/backend/host/block.hpp"
#include "kvloom/group/tile.hpp"

using machine_wave  = kvloom::host::wave<kvloom::host::cdna>;
using machine_block = kvloom::host::block<kvloom::host::cdna, 64>;
using machine_tile  = kvloom::tile_group<machine_wave, 16, kvloom::rotary<64>>;
