// SPDX-License-Identifier: MIT
// What op/insert_values_strips.hpp refuses.
#include "kvloom/op/insert_values_strips.hpp"

// refuses: value_strips: the head size must be a multiple of 32
// wrong: int const strips = kvloom::value_strips<80, 4>::strips;
int const strips = kvloom::value_strips<96, 4>::strips;

// refuses: value_strips: the strips of a row must fall into whole items
// wrong: int const parts = kvloom::value_strips<96, 4, 2>::parts;
int const parts = kvloom::value_strips<96, 4, 3>::parts;
