// SPDX-License-Identifier: MIT
// What kernel/decode_kernel.hpp refuses.
#include "kvloom/kernel/decode_kernel.hpp"

using namespace kvloom;

template <class T, int KeyDim, int ValueDim = KeyDim>
struct problem : decode_problem
{
    using key_cache   = shuffled_keys<T, KeyDim>;
    using value_cache = shuffled_values<T, ValueDim>;
};

// refuses: decode_through_rings: the head sizes leave no room for two stages
// wrong: int const stages = decode_through_rings<problem<bf16, 256>, 16>::stages;
// wrong: int const stages = decode_through_rings<problem<bf16, 512, 128>, 16>::stages;
// wrong: int const stages = decode_through_rings<problem<bf16, 512>, 64>::stages;
int const stages = decode_through_rings<problem<bf16, 128>, 16>::stages;

static_assert(sizeof(decode_through_rings<problem<fp8_e4m3, 64>, 64>::shared) <= 115712,
              "shared: two blocks of the smallest heads must find room in a multiprocessor");
static_assert(sizeof(decode_through_rings<problem<fp8_e4m3, 64>, 16>::shared) <= 115712,
              "shared: two blocks must find room in a multiprocessor");
static_assert(sizeof(decode_through_rings<problem<bf16, 128>, 16>::shared) <= 115712,
              "shared: two blocks must find room in a multiprocessor");
