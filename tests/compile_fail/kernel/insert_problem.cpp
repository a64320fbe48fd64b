// SPDX-License-Identifier: MIT
// What kernel/insert_problem.hpp refuses; unsigned, narrow and floating slots and positions among it.
#include "kvloom/kernel/insert_problem.hpp"

using namespace kvloom;

struct clamped : contract::aiter_static
{
    // refuses: qk_norm_rope_insert: the limit must be a number of the cache's format
    // wrong: static constexpr float limit = 449.0F;
    // wrong: static constexpr float limit = -1.0F;
    static constexpr float limit = 448.0F;

    // refuses: qk_norm_rope_insert: the scale of queries is given, or there is none
    // wrong: using query_scaling = token_scaling;
    using query_scaling = division;
};

struct problem : insert_problem
{
    // refuses: qk_norm_rope_insert: the angle table holds the activation type or float
    // wrong: using angle = fp16;
    using angle = bf16;

    // refuses: qk_norm_rope_insert: a norm is no_norm, weightless, plain_gain or unit_offset
    // wrong: using v_norm = no_gain;
    using v_norm = weightless;

    // refuses: qk_norm_rope_insert: norm_scope is over_head or over_vector
    // wrong: using norm_scope = no_norm;
    using norm_scope = over_vector;

    // refuses: qk_norm_rope_insert: pairing is neox_pairs or interleaved_pairs
    // wrong: using pairing = one_position;
    using pairing = interleaved_pairs;

    // refuses: qk_norm_rope_insert: the sections must add up to half of rotary_dim
    // wrong: using angle_source = sections<16, 24, 24>;
    using angle_source = sections<8, 12, 12>;

    // refuses: qk_norm_rope_insert: slots and positions are signed integers of 32 or 64 bits
    // wrong: using slot = u32;
    // wrong: using slot = u64;
    // wrong: using slot = short;
    // wrong: using slot = float;
    using slot = int;

    // refuses: qk_norm_rope_insert: slots and positions are signed integers of 32 or 64 bits
    // wrong: using position = u32;
    // wrong: using position = u64;
    // wrong: using position = short;
    // wrong: using position = float;
    using position = int;

    using cache    = shuffled_cache<fp8_e4m3>;
    using query    = fp8_e4m3;
    using numerics = clamped;
};
template struct kvloom::insert_types<problem>;

struct sizes : insert_problem
{
    // refuses: qk_norm_rope_insert: activations are bf16 or fp16
    // wrong: using activation = float;
    // wrong: using activation = u16;
    using activation = fp16;

    // refuses: qk_norm_rope_insert: head_dim must be 64, 128, 256 or 512
    // wrong: static constexpr int head_dim = 96;
    // wrong: static constexpr int head_dim = 1024;
    static constexpr int head_dim = 64;

    // refuses: qk_norm_rope_insert: rotary_dim must be even and at most head_dim
    // wrong: static constexpr int rotary_dim = 128;
    // wrong: static constexpr int rotary_dim = 33;
    // wrong: static constexpr int rotary_dim = -2;
    static constexpr int rotary_dim = 64;

    // refuses: qk_norm_rope_insert: queries leave in the activation type or in fp8
    // wrong: using query = bf16;
    // wrong: using query = float;
    using query = fp8_e4m3;
};
template struct kvloom::insert_types<sizes>;

struct wide_cache : insert_problem
{
    // refuses: qk_norm_rope_insert: caches hold bf16, fp16, fp8_e4m3 or fp8_e4m3_fnuz
    // wrong: using cache = shuffled_cache<float>;
    using cache = shuffled_cache<fp16>;
};
template struct kvloom::insert_types<wide_cache>;

struct scaled_cache : insert_problem
{
    // refuses: qk_norm_rope_insert: only fp8 caches have a scale
    // wrong: using cache = shuffled_cache<bf16>;
    using cache    = shuffled_cache<fp8_e4m3>;
    using numerics = contract::aiter_static;
};
template struct kvloom::insert_types<scaled_cache>;

struct scaled_queries : contract::aiter_auto
{
    using query_scaling = division;
};

struct queries : insert_problem
{
    // refuses: qk_norm_rope_insert: only fp8 queries have a scale
    // wrong: using query = bf16;
    using query    = fp8_e4m3;
    using numerics = scaled_queries;
};
template struct kvloom::insert_types<queries>;
