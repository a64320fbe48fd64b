// SPDX-License-Identifier: MIT
// What op/ring_pages.hpp refuses.
#include "kvloom/core/bf16.hpp"
#include "kvloom/core/fp8.hpp"
#include "kvloom/op/ring_pages.hpp"
#include "machine.hpp"

using namespace kvloom;

// refuses: matrix_order: the head size must be a multiple of 32
// wrong: int const tokens = matrix_order<bf16, 48, 4>::tokens;
// wrong: int const tokens = matrix_order<fp8_e4m3, 80, 8>::tokens;
int const tokens = matrix_order<bf16, 96, 4>::tokens;

// refuses: matrix_order: a lane must hold 4 elements of a product, or 8 of fp8
// wrong: int const pages_of = matrix_order<bf16, 96, 8>::pages;
// wrong: int const pages_of = matrix_order<fp8_e4m3, 96, 2>::pages;
int const pages_of = matrix_order<fp8_e4m3, 96, 8>::pages;

/// The host's warp as a machine with bulk copies, which it does not have.
struct copying_wave : host::wave<host::warp32>
{
    struct copies
    {};
};

template <class Unit, class Keys, class Values, bool Places = false>
using pages = ring_pages<attention_tile<Unit>, copying_wave, page_rings<2, 2, 2, 8192, 8192>,
                         matrix_order<typename Keys::element, Keys::dim, 4>, Keys, Values, Places>;

using keys   = shuffled_keys<bf16, 128>;
using values = shuffled_values<bf16, 128>;

// refuses: ring_pages: for units whose A holds what C holds
// wrong: int const units = pages<mfma_16x16x16<bf16>, keys, values>::groups;
int const units = pages<mma_16x8<bf16>, keys, values>::groups;

// refuses: ring_pages: for SHUFFLE pages of 16 tokens
// wrong: int const spans = pages<mma_16x8<bf16>, token_rows<bf16, 128>, values>::groups;
// wrong: int const spans = pages<mma_16x8<bf16>, keys, transposed_values<bf16, 128>>::groups;
// wrong: int const spans = pages<mma_16x8<bf16>, keys, shuffled_values<fp8_e4m3, 128>>::groups;
// wrong: int const spans = pages<mma_16x8<bf16>, keys, shuffled_values<bf16, 128, 32>>::groups;
// wrong: int const spans = pages<mma_16x8<bf16>, shuffled_keys<bf16, 128, 32>, values>::groups;
int const spans = pages<mma_16x8<bf16>, keys, shuffled_values<bf16, 64>>::groups;

// refuses: place_of: this stream keeps no page ids
// wrong: auto const where = &pages<mma_16x8<bf16>, keys, values, false>::place_of;
auto const where = &pages<mma_16x8<bf16>, keys, values, true>::place_of;
