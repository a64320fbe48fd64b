// SPDX-License-Identifier: MIT
// What layout/span.hpp refuses.
#include "kvloom/core/fp8.hpp"
#include "kvloom/layout/span.hpp"

using namespace kvloom;

// refuses: shuffled_keys: the page size must be a multiple of 16 bytes of elements
// wrong: int const a = shuffled_keys<fp8_e4m3, 128, 8>::elements;
// wrong: int const a = shuffled_keys<fp8_e4m3, 128, 0>::elements;
int const a = shuffled_keys<fp8_e4m3, 128, 16>::elements;

// refuses: shuffled_keys: the head size must fill whole 16-byte vectors
// wrong: int const b = shuffled_keys<fp8_e4m3, 72>::elements;
// wrong: int const b = shuffled_keys<fp8_e4m3, 0>::elements;
int const b = shuffled_keys<fp8_e4m3, 80>::elements;

// refuses: shuffled_values: the page size must be a multiple of 16 bytes of elements
// wrong: int const c = shuffled_values<fp8_e4m3, 128, 8>::elements;
// wrong: int const c = shuffled_values<fp8_e4m3, 128, -16>::elements;
int const c = shuffled_values<fp8_e4m3, 128, 16>::elements;

// refuses: shuffled_values: the head size must be positive
// wrong: int const d = shuffled_values<fp8_e4m3, 0>::elements;
int const d = shuffled_values<fp8_e4m3, 1>::elements;

// refuses: transposed_values: the page size must be a multiple of 16 bytes of elements
// wrong: int const e = transposed_values<fp8_e4m3, 128, 8>::elements;
// wrong: int const e = transposed_values<fp8_e4m3, 128, 0>::elements;
int const e = transposed_values<fp8_e4m3, 128, 16>::elements;

// refuses: transposed_values: the head size must be positive
// wrong: int const f = transposed_values<fp8_e4m3, -128>::elements;
int const f = transposed_values<fp8_e4m3, 128>::elements;

// refuses: token_rows: the page size must be positive
// wrong: int const g = token_rows<fp8_e4m3, 128, 0>::elements;
int const g = token_rows<fp8_e4m3, 128, 1>::elements;

// refuses: token_rows: the head size must be positive
// wrong: int const h = token_rows<fp8_e4m3, 0>::elements;
int const h = token_rows<fp8_e4m3, 1>::elements;
