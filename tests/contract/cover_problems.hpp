// SPDX-License-Identifier: MIT
// Problems that, with those of problems.hpp and model_problems.hpp, let every pair of choices meet (pairs.test.cpp).
#pragma once

#include "contract/own_contracts.hpp"

namespace kvloom_test {

struct cover_0 : insert_problem
{
    using activation   = fp16;
    using query        = fp8_e4m3_fnuz;
    using cache        = packed_cache<transposed_cache<fp8_e4m3_fnuz>>;
    using index        = index_branch<fp8_e4m3, fp8_e4m3>;
    using norm         = weightless;
    using v_norm       = plain_gain;
    using norm_scope   = over_vector;
    using pairing      = interleaved_pairs;
    using angle_source = interleaved_sections<10, 5, 5>;
    using slot         = i32;
    using numerics     = scales_by_head;
    using faults       = count_faults;

    static constexpr int head_dim   = 256;
    static constexpr int rotary_dim = 40;
    static constexpr bool keys_out  = true;
};

struct cover_1 : insert_problem
{
    using cache        = packed_cache<token_cache<fp8_e4m3, 1>>;
    using heads        = strided_heads;
    using norm         = plain_gain;
    using norm_scope   = over_vector;
    using pairing      = interleaved_pairs;
    using angle_source = sections<128, 64, 64>;
    using angle        = float;
    using slot         = i32;
    using position     = i32;
    using numerics     = head_scales_alone;
    using faults       = count_faults;

    static constexpr int head_dim   = 512;
    static constexpr int rotary_dim = 512;
    static constexpr bool keys_out  = true;
};

struct cover_2 : insert_problem
{
    using activation = fp16;
    using query      = fp8_e4m3_fnuz;
    using cache      = packed_cache<token_cache<fp16, 1>>;
    using index      = index_branch<>;
    using heads      = strided_heads;
    using v_norm     = plain_gain;
    using norm_scope = over_vector;
    using position   = i32;

    static constexpr int head_dim   = 64;
    static constexpr int rotary_dim = 0;
};

struct cover_3 : insert_problem
{
    using activation   = fp16;
    using cache        = packed_cache<token_cache<fp16>>;
    using index        = index_branch<fp8_e4m3_fnuz, fp8_e4m3>;
    using heads        = strided_heads;
    using norm         = no_norm;
    using v_norm       = weightless;
    using pairing      = interleaved_pairs;
    using angle_source = sections<64, 32, 32>;
    using slot         = i32;

    static constexpr int head_dim   = 512;
    static constexpr int rotary_dim = 256;
    static constexpr bool keys_out  = true;
};

struct cover_4 : insert_problem
{
    using activation = fp16;
    using query      = fp8_e4m3_fnuz;
    using cache      = token_cache<fp8_e4m3_fnuz>;
    using index      = index_branch<>;
    using heads      = strided_heads;
    using norm       = no_norm;
    using v_norm     = plain_gain;
    using angle      = float;
    using slot       = i32;
    using numerics   = contract::aiter_static;
    using faults     = count_faults;

    static constexpr int head_dim   = 256;
    static constexpr int rotary_dim = 0;
};

struct cover_5 : insert_problem
{
    using activation   = fp16;
    using query        = fp8_e4m3;
    using cache        = packed_cache<transposed_cache<fp8_e4m3>>;
    using index        = index_branch<fp8_e4m3_fnuz, fp8_e4m3>;
    using heads        = strided_heads;
    using norm         = plain_gain;
    using norm_scope   = over_vector;
    using pairing      = interleaved_pairs;
    using angle_source = sections<10, 5, 5>;
    using position     = i32;
    using numerics     = contract::aiter_per_token;
    using faults       = count_faults;

    static constexpr int head_dim   = 512;
    static constexpr int rotary_dim = 40;
};

struct cover_6 : insert_problem
{
    using cache      = token_cache<fp8_e4m3>;
    using norm       = weightless;
    using v_norm     = plain_gain;
    using norm_scope = over_vector;
    using pairing    = interleaved_pairs;
    using slot       = i32;
    using numerics   = head_scales_alone;

    static constexpr int head_dim   = 64;
    static constexpr int rotary_dim = 0;
    static constexpr bool keys_out  = true;
};

struct cover_7 : insert_problem
{
    using activation   = fp16;
    using cache        = packed_cache<token_cache<bf16, 1>>;
    using index        = index_branch<fp8_e4m3_fnuz, fp8_e4m3>;
    using norm         = no_norm;
    using pairing      = interleaved_pairs;
    using angle_source = sections<10, 5, 5>;
    using angle        = float;
    using faults       = count_faults;

    static constexpr int head_dim   = 64;
    static constexpr int rotary_dim = 40;
};

struct cover_8 : insert_problem
{
    using activation = fp16;
    using cache      = packed_cache<token_cache<fp16, 1>>;
    using index      = index_branch<>;
    using norm       = plain_gain;
    using position   = i32;

    static constexpr int head_dim   = 256;
    static constexpr int rotary_dim = 0;
};

struct cover_9 : insert_problem
{
    using query        = fp8_e4m3;
    using cache        = packed_cache<token_cache<fp8_e4m3, 1>>;
    using index        = index_branch<fp8_e4m3_fnuz, fp8_e4m3>;
    using norm         = weightless;
    using v_norm       = weightless;
    using norm_scope   = over_vector;
    using pairing      = interleaved_pairs;
    using angle_source = sections<64, 32, 32>;
    using numerics     = contract::seed;

    static constexpr int head_dim   = 512;
    static constexpr int rotary_dim = 256;
    static constexpr bool keys_out  = true;
};

struct cover_10 : insert_problem
{
    using query    = fp8_e4m3_fnuz;
    using cache    = packed_cache<transposed_cache<bf16>>;
    using norm     = plain_gain;
    using v_norm   = plain_gain;
    using angle    = float;
    using slot     = i32;
    using position = i32;
    using faults   = count_faults;

    static constexpr int head_dim   = 64;
    static constexpr int rotary_dim = 32;
};

struct cover_11 : insert_problem
{
    using activation = fp16;
    using cache      = token_cache<fp8_e4m3>;
    using index      = index_branch<fp8_e4m3_fnuz, fp8_e4m3>;
    using v_norm     = weightless;
    using norm_scope = over_vector;
    using pairing    = interleaved_pairs;
    using position   = i32;
    using numerics   = contract::aiter_per_token;

    static constexpr int head_dim   = 512;
    static constexpr int rotary_dim = 0;
};

struct cover_12 : insert_problem
{
    using activation   = fp16;
    using query        = fp8_e4m3_fnuz;
    using cache        = packed_cache<token_cache<fp8_e4m3_fnuz>>;
    using norm         = no_norm;
    using v_norm       = plain_gain;
    using pairing      = interleaved_pairs;
    using angle_source = interleaved_sections<10, 5, 5>;
    using position     = i32;
    using numerics     = scales_by_head;
    using faults       = count_faults;

    static constexpr int head_dim   = 512;
    static constexpr int rotary_dim = 40;
};

struct cover_13 : insert_problem
{
    using activation   = fp16;
    using cache        = packed_cache<transposed_cache<fp16>>;
    using v_norm       = weightless;
    using angle_source = sections<10, 5, 5>;
    using angle        = float;
    using position     = i32;

    static constexpr int head_dim   = 64;
    static constexpr int rotary_dim = 40;
    static constexpr bool keys_out  = true;
};

struct cover_14 : insert_problem
{
    using query    = fp8_e4m3_fnuz;
    using cache    = packed_cache<transposed_cache<fp8_e4m3>>;
    using index    = index_branch<fp8_e4m3, bf16>;
    using heads    = strided_heads;
    using v_norm   = plain_gain;
    using numerics = contract::aiter_static;
    using faults   = count_faults;

    static constexpr int rotary_dim = 128;
    static constexpr bool keys_out  = true;
};

} // namespace kvloom_test
