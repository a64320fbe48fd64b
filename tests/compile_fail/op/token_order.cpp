// SPDX-License-Identifier: MIT
// What op/token_order.hpp refuses.
#include "kvloom/core/bf16.hpp"
#include "kvloom/core/fp16.hpp"
#include "kvloom/core/fp8.hpp"
#include "kvloom/op/token_order.hpp"

using namespace kvloom;

// refuses: vector_order: the head size must fill four 16-byte vectors
// wrong: int const tokens = vector_order<bf16, 48>::tokens;
// wrong: int const tokens = vector_order<fp8_e4m3, 32>::tokens;
// wrong: int const tokens = vector_order<fp8_e4m3, 96>::tokens;
int const tokens = vector_order<bf16, 96>::tokens;

void operands(vector_words const& vector)
{
    // refuses: operand: a 16-bit cache is multiplied in its own type
    // wrong: detail::operand_of_vector<fp16, bf16>(vector, 0);
    // wrong: detail::operand_of_vector<bf16, fp16>(vector, 0);
    detail::operand_of_vector<bf16, bf16>(vector, 0);
}
