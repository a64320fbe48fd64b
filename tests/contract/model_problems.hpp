// SPDX-License-Identifier: MIT
// Problems that follow models: norms over the vector, positions by sections, head sizes of 64, 256 and 512.
#pragma once

#include "kvloom/kernel/insert_problem.hpp"

namespace kvloom_test {

using namespace kvloom;

/// MiniMax-M2: one mean square for all heads of a token.
struct minimax_m2 : insert_problem
{
    using norm       = plain_gain;
    using norm_scope = over_vector;
};

struct vector_half : insert_problem
{
    using activation = fp16;
    using heads      = strided_heads;
    using cache      = token_cache<fp16, 64>;
    using index      = index_branch<fp8_e4m3_fnuz>;
    using norm_scope = over_vector;
    using angle      = float;
    using faults     = count_faults;

    static constexpr int head_dim  = 64;
    static constexpr bool keys_out = true;
};

/// Qwen3-VL: positions by sections that take turns.
struct qwen3_vl : insert_problem
{
    using norm         = plain_gain;
    using angle_source = interleaved_sections<24, 20, 20>;
    using numerics     = contract::aiter_pts_quant;
    using cache        = shuffled_cache<fp8_e4m3, 1024>;

    static constexpr int rotary_dim = 128;
};

struct sectioned_pairs : insert_problem
{
    using heads        = strided_heads;
    using angle_source = sections<4, 10, 6>;
    using pairing      = interleaved_pairs;
    using index        = index_branch<as_activation, as_activation, 1>;
    using position     = i32;
    using angle        = float;

    static constexpr int rotary_dim = 40;
};

/// Qwen3-Next: heads of 256 interleaved with a gate.
struct qwen3_next : insert_problem
{
    using heads = strided_heads;

    static constexpr int head_dim = 256;
};

struct wide_token_scales : insert_problem
{
    using cache    = shuffled_cache<fp8_e4m3>;
    using numerics = contract::aiter_per_token;
    using v_norm   = weightless;
    using slot     = i32;

    static constexpr int head_dim   = 256;
    static constexpr int rotary_dim = 256;
};

/// Gemma 4's full layers: heads of 512, V normalised without weights.
struct gemma4 : insert_problem
{
    using norm   = plain_gain;
    using v_norm = weightless;

    static constexpr int head_dim   = 512;
    static constexpr int rotary_dim = 128;
};

struct gemma4_fp8 : insert_problem
{
    using cache    = transposed_cache<fp8_e4m3_fnuz, 64>;
    using norm     = weightless;
    using v_norm   = weightless;
    using numerics = contract::aiter_per_token;
    using index    = index_branch<>;
    using pairing  = interleaved_pairs;

    static constexpr int head_dim   = 512;
    static constexpr int rotary_dim = 512;
};

/// gpt-oss: heads of 64, no norm.
struct narrow_heads : insert_problem
{
    using cache    = shuffled_cache<fp8_e4m3>;
    using norm     = no_norm;
    using numerics = contract::aiter_static;
    using index    = index_branch<fp8_e4m3>;

    static constexpr int head_dim = 64;
};

} // namespace kvloom_test
