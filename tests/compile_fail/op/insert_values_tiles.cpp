// SPDX-License-Identifier: MIT
// What op/insert_values_tiles.hpp refuses.
#include "kvloom/op/insert_values_tiles.hpp"

// refuses: value_tiles: the head size must be a power of two, at least 32
// wrong: int const lanes = kvloom::value_tiles<64, 96>::lanes;
// wrong: int const lanes = kvloom::value_tiles<64, 16>::lanes;
// wrong: int const lanes = kvloom::value_tiles<64, 576>::lanes;
int const lanes = kvloom::value_tiles<64, 32>::lanes;
