// SPDX-License-Identifier: MIT
// What kernel/read_back.hpp refuses; unsigned, narrow and floating page ids among it.
#include "kvloom/kernel/read_back.hpp"

using namespace kvloom;

struct problem : read_back_problem
{
    // refuses: read_back: the head size must be 64, 128, 256 or 512
    // wrong: using cache = token_rows<bf16, 96>;
    // wrong: using cache = token_rows<bf16, 1024>;
    using cache = token_rows<bf16, 128>;

    // refuses: read_back: rows hold bf16, fp16 or float
    // wrong: using output = fp8_e4m3;
    // wrong: using output = double;
    using output = float;

    // refuses: read_back: page ids are signed integers of 32 or 64 bits
    // wrong: using id = u32;
    // wrong: using id = u64;
    // wrong: using id = short;
    // wrong: using id = float;
    using id = i64;

    // refuses: read_back: scales are no_scale, cache_scale, head_scale or scale_view
    // wrong: using scale = float const*;
    using scale = cache_scale;
};
template struct kvloom::read_back_types<problem>;

struct large_pages : read_back_problem
{
    // refuses: read_back: a page must have at most 1024 tokens
    // wrong: using cache = token_rows<bf16, 128, 1025>;
    using cache = token_rows<bf16, 128, 1024>;
};
template struct kvloom::read_back_types<large_pages>;

struct other_elements : read_back_problem
{
    // refuses: read_back: caches hold bf16, fp16, fp8_e4m3 or fp8_e4m3_fnuz
    // wrong: using cache = token_rows<float, 128>;
    // wrong: using cache = token_rows<u16, 128>;
    using cache = token_rows<fp8_e4m3, 128>;
};
template struct kvloom::read_back_types<other_elements>;
