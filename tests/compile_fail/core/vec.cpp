// SPDX-License-Identifier: MIT
// What core/vec.hpp refuses.
#include "kvloom/core/vec.hpp"

// refuses: vec: N must be positive
// wrong: kvloom::vec<float, 0> numbers;
kvloom::vec<float, 1> numbers;
