// SPDX-License-Identifier: MIT
// What group/order.hpp refuses.
#include "kvloom/group/order.hpp"

// refuses: rotary: the number of rotated dims must be even
// wrong: int const dims = kvloom::rotary<63>::dims;
// wrong: int const dims = kvloom::rotary<-2>::dims;
int const dims = kvloom::rotary<64>::dims;
