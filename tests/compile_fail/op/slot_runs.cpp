// SPDX-License-Identifier: MIT
// What op/slot_runs.hpp refuses.
#include "kvloom/op/slot_runs.hpp"

// refuses: slot_window: a window is the 8 or 16 tokens of a 16-byte vector
// wrong: kvloom::slot_window<4> window;
// wrong: kvloom::slot_window<32> window;
kvloom::slot_window<8> window;
