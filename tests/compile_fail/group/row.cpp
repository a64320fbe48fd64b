// SPDX-License-Identifier: MIT
// What group/row.hpp refuses.
#include "kvloom/group/row.hpp"
#include "machine.hpp"

// refuses: row: the number of elements must be a multiple of 8
// wrong: kvloom::row<machine_tile, 100> values;
kvloom::row<machine_tile, 104> values;
