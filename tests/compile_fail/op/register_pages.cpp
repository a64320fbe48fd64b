// SPDX-License-Identifier: MIT
// What op/register_pages.hpp refuses.
#include "kvloom/core/bf16.hpp"
#include "kvloom/core/fp16.hpp"
#include "kvloom/layout/page_table.hpp"
#include "kvloom/op/register_pages.hpp"
#include "machine.hpp"

using namespace kvloom;

template <class Keys, class Values>
using pages = register_pages<attention_tile<mfma_16x16x16<bf16>>, machine_wave, step_path<32>,
                             page_source<paged_view<Keys>, paged_view<Values>, page_run<int>>>;

using keys = token_rows<bf16, 128, 16>;

// refuses: register_pages: keys and values must have one element type
// wrong: int const types = pages<keys, token_rows<fp16, 128, 16>>::groups;
int const types = pages<keys, token_rows<bf16, 64, 16>>::groups;

// refuses: register_pages: keys and values must share their page size
// wrong: int const sizes = pages<keys, token_rows<bf16, 128, 32>>::groups;
// wrong: int const sizes = pages<keys, token_rows<bf16, 128, 8>>::groups;
int const sizes = pages<keys, shuffled_values<bf16, 128, 16>>::groups;

template <int PageSize>
using square_pages = pages<token_rows<bf16, 128, PageSize>, token_rows<bf16, 128, PageSize>>;

// refuses: register_pages: the page size must be a power of two
// wrong: int const powers = square_pages<24>::groups;
// wrong: int const powers = square_pages<48>::groups;
int const powers = square_pages<64>::groups;
