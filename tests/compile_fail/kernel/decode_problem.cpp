// SPDX-License-Identifier: MIT
// What kernel/decode_problem.hpp refuses; unsigned, narrow and floating integers among it.
#include "kvloom/kernel/decode_problem.hpp"

using namespace kvloom;

// refuses: by_chiplet: there must be at least one chiplet
// wrong: constexpr int share = placing::by_chiplet<0>::share<arch_id::gfx942>(0, 1);
constexpr int share = placing::by_chiplet<1>::share<arch_id::gfx942>(0, 1);

// refuses: token_offsets: an offset must be a signed integer of 32 or 64 bits
// wrong: token_offsets<u32> offsets;
// wrong: token_offsets<u64> offsets;
// wrong: token_offsets<short> offsets;
// wrong: token_offsets<float> offsets;
token_offsets<i64> offsets;

struct problem : decode_problem
{
    // refuses: paged_decode: query rows hold bf16 or fp16
    // wrong: using query = float;
    // wrong: using query = fp8_e4m3;
    using query = fp16;

    // refuses: paged_decode: output rows hold bf16, fp16 or float
    // wrong: using output = fp8_e4m3;
    // wrong: using output = double;
    using output = float;

    // refuses: paged_decode: lengths are signed integers of 32 or 64 bits
    // wrong: using length = u32;
    // wrong: using length = u64;
    // wrong: using length = short;
    // wrong: using length = float;
    using length = i64;

    // refuses: paged_decode: scales are no_scale, cache_scale, head_scale or scale_view
    // wrong: using key_scale = float const*;
    using key_scale = cache_scale;

    // refuses: paged_decode: scales are no_scale, cache_scale, head_scale or scale_view
    // wrong: using value_scale = float const*;
    using value_scale = scale_view;
};
template struct kvloom::decode_types<problem>;

struct other_elements : decode_problem
{
    // refuses: paged_decode: caches hold bf16, fp16, fp8_e4m3 or fp8_e4m3_fnuz
    // wrong: using element = float;
    // wrong: using element = u16;
    using element = fp8_e4m3;

    using key_cache   = token_rows<element, 128>;
    using value_cache = token_rows<element, 128>;
};
template struct kvloom::decode_types<other_elements>;

struct other_values : decode_problem
{
    // refuses: paged_decode: K and V must have one element type
    // wrong: using value_cache = shuffled_values<fp16, 128>;
    // wrong: using value_cache = shuffled_values<fp8_e4m3, 128>;
    using value_cache = shuffled_values<bf16, 128>;
};
template struct kvloom::decode_types<other_values>;

struct other_pages : decode_problem
{
    // refuses: paged_decode: K and V must have one page size
    // wrong: using value_cache = shuffled_values<bf16, 128, 32>;
    using value_cache = transposed_values<bf16, 128>;
};
template struct kvloom::decode_types<other_pages>;

struct other_dims : decode_problem
{
    // refuses: paged_decode: head sizes must be 64, 128, 256 or 512
    // wrong: using key_cache = shuffled_keys<bf16, 96>;
    // wrong: using key_cache = shuffled_keys<bf16, 1024>;
    using key_cache = shuffled_keys<bf16, 512>;

    // refuses: paged_decode: head sizes must be 64, 128, 256 or 512
    // wrong: using value_cache = shuffled_values<bf16, 96>;
    // wrong: using value_cache = shuffled_values<bf16, 32>;
    using value_cache = shuffled_values<bf16, 64>;
};
template struct kvloom::decode_types<other_dims>;
struct other_operands : decode_problem
{
    using key_cache   = shuffled_keys<fp8_e4m3, 128>;
    using value_cache = shuffled_values<fp8_e4m3, 128>;
    using value_scale = scale_view;

    // refuses: paged_decode: multiplied is operands::exact, operands::of_query or operands::of_cache
    // wrong: using multiplied = fp16;
    using multiplied = operands::of_query;
};
template struct kvloom::decode_types<other_operands>;

struct scaled_operands : other_operands
{
    // refuses: paged_decode: probabilities times a scale of each token need operands of bf16
    // wrong: using query = fp16;
    using query = bf16;
};
template struct kvloom::decode_types<scaled_operands>;
