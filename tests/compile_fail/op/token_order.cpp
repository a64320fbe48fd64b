// SPDX-License-Identifier: MIT
// What op/token_order.hpp refuses.
#include "kvloom/core/bf16.hpp"
#include "kvloom/core/fp16.hpp"
#include "kvloom/core/fp8.hpp"
#include "kvloom/op/token_order.hpp"

using namespace kvloom;

// refuses: vector_order: the head size must fill four 16-byte vectors
// wrong: int const tokens = vector_order<bf16, 48, 4>::tokens;
// wrong: int const tokens = vector_order<fp8_e4m3, 32, 4>::tokens;
// wrong: int const tokens = vector_order<fp8_e4m3, 96, 8>::tokens;
int const tokens = vector_order<bf16, 96, 4>::tokens;

// refuses: vector_order: a lane must hold 4 or 8 elements of a product
// wrong: int const groups = vector_order<bf16, 128, 2>::groups;
// wrong: int const groups = vector_order<fp8_e4m3, 128, 16>::groups;
int const groups = vector_order<bf16, 128, 8>::groups;

template <class T>
using tile_of = attention_tile<mfma_16x16x16<T>>;

void operands(vector_words const& vector)
{
    // refuses: operand: elements that are not widened enter in their own type
    // wrong: detail::operand_of_vector<tile_of<fp16>, bf16>(vector, 0);
    // wrong: detail::operand_of_vector<tile_of<bf16>, fp16>(vector, 0);
    detail::operand_of_vector<tile_of<bf16>, bf16>(vector, 0);
}
