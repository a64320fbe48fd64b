// SPDX-License-Identifier: MIT
// What kernel/copy_pages_problem.hpp refuses; unsigned, narrow and floating page ids among it.
#include "kvloom/kernel/copy_pages_problem.hpp"

using namespace kvloom;

struct problem : copy_pages_problem
{
    // refuses: copy_pages: both caches must have pages of the same number of tokens
    // wrong: using target = token_rows<bf16, 128, 32>;
    using target = token_rows<bf16, 128, 16>;

    // refuses: copy_pages: both caches must have the same head size
    // wrong: using source = token_rows<bf16, 64>;
    using source = token_rows<bf16, 128>;

    // refuses: copy_pages: page ids are signed integers of 32 or 64 bits
    // wrong: using id = u32;
    // wrong: using id = u64;
    // wrong: using id = short;
    // wrong: using id = float;
    using id = i64;

    // refuses: copy_pages: scales are no_scale, cache_scale, head_scale or scale_view
    // wrong: using source_scale = float const*;
    using source_scale = cache_scale;

    // refuses: copy_pages: only scales of fp8 targets can be found from rows
    // wrong: using target_scale = scale_view;
    using target_scale = head_scale;
};
template struct kvloom::copy_pages_types<problem>;

template <class Layout>
struct from_and_to : copy_pages_problem
{
    using source = Layout;
    using target = Layout;
};

// refuses: copy_pages: the head size must be 64, 128, 256 or 512
// wrong: template struct kvloom::copy_pages_types<from_and_to<token_rows<bf16, 96>>>;
template struct kvloom::copy_pages_types<from_and_to<token_rows<bf16, 64>>>;

// refuses: copy_pages: a page must have at most 1024 tokens
// wrong: template struct kvloom::copy_pages_types<from_and_to<token_rows<bf16, 128, 1025>>>;
template struct kvloom::copy_pages_types<from_and_to<token_rows<bf16, 128, 1024>>>;

// refuses: copy_pages: caches hold bf16, fp16, fp8_e4m3 or fp8_e4m3_fnuz
// wrong: template struct kvloom::copy_pages_types<from_and_to<token_rows<float, 128>>>;
// wrong: template struct kvloom::copy_pages_types<from_and_to<token_rows<u16, 128>>>;
template struct kvloom::copy_pages_types<from_and_to<token_rows<fp16, 128>>>;
