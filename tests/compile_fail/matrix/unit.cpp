// SPDX-License-Identifier: MIT
// What matrix/unit.hpp refuses.
#include "kvloom/core/bf16.hpp"
#include "kvloom/core/fp8.hpp"
#include "kvloom/matrix/unit.hpp"

using namespace kvloom;

// refuses: dot_16x8: operands are bf16 or fp16
// wrong: dot_16x8<fp8_e4m3> unit;
// wrong: dot_16x8<float> unit;
dot_16x8<bf16> unit;
