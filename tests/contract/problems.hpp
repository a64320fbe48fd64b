// SPDX-License-Identifier: MIT
// The problems with which the fused insert is tested: every value of every axis, most pairs of values.
#pragma once

#include "contract/own_contracts.hpp"

namespace kvloom_test {

using namespace kvloom;

/// MiniMax-M3 with a 16-bit cache.
struct m3_bf16 : insert_problem
{
    using index = index_branch<>;
};

/// The same with heads that lie where the views say.
struct m3_strided : m3_bf16
{
    using heads = strided_heads;
};

/// MiniMax-M3 with static scales, everything else in fp8 too.
struct m3_static : insert_problem
{
    using cache    = shuffled_cache<fp8_e4m3>;
    using index    = index_branch<fp8_e4m3, fp8_e4m3>;
    using numerics = contract::aiter_static;
};

struct m3_seed : insert_problem
{
    using heads    = strided_heads;
    using cache    = shuffled_cache<fp8_e4m3>;
    using index    = index_branch<bf16, fp8_e4m3>;
    using norm     = plain_gain;
    using slot     = i32;
    using numerics = contract::seed;
};

struct fnuz_static_96 : insert_problem
{
    using heads    = strided_heads;
    using cache    = shuffled_cache<fp8_e4m3_fnuz>;
    using index    = index_branch<fp8_e4m3_fnuz, fp8_e4m3_fnuz>;
    using angle    = float;
    using slot     = i32;
    using position = i32;
    using numerics = contract::aiter_static;

    static constexpr int rotary_dim = 96;
};

struct half_fnuz_unit : insert_problem
{
    using activation = fp16;
    using cache      = shuffled_cache<fp8_e4m3_fnuz>;
    using norm       = plain_gain;
    using numerics   = contract::aiter_unit;

    static constexpr int rotary_dim = 128;
};

struct half_page_64 : insert_problem
{
    using heads      = strided_heads;
    using activation = fp16;
    using cache      = shuffled_cache<fp16, 64>;
    using index      = index_branch<>;
    using norm       = weightless;
    using slot       = i32;

    static constexpr int rotary_dim = 128;
};

struct half_cache_20 : insert_problem
{
    using heads = strided_heads;
    using cache = shuffled_cache<fp16>;
    using norm  = no_norm;
    using angle = float;

    static constexpr int rotary_dim = 20;
};

struct half_to_bf16_32 : insert_problem
{
    using heads      = strided_heads;
    using activation = fp16;
    using cache      = shuffled_cache<bf16>;
    using index      = index_branch<bf16, bf16>;
    using norm       = plain_gain;
    using angle      = float;

    static constexpr int rotary_dim = 32;
};

struct half_seed_no_rope : insert_problem
{
    using activation = fp16;
    using cache      = shuffled_cache<fp8_e4m3, 64>;
    using index      = index_branch<fp8_e4m3, fp16>;
    using norm       = weightless;
    using numerics   = contract::seed;

    static constexpr int rotary_dim = 0;
};

/// Nothing but copies.
struct bare_page_64 : insert_problem
{
    using heads = strided_heads;
    using cache = shuffled_cache<bf16, 64>;
    using norm  = no_norm;
    using slot  = i32;

    static constexpr int rotary_dim = 0;
};

struct unit_96 : insert_problem
{
    using cache    = shuffled_cache<fp8_e4m3>;
    using index    = index_branch<bf16, bf16, 64>;
    using slot     = i32;
    using numerics = contract::aiter_unit;

    static constexpr int rotary_dim = 96;
};

struct half_fnuz_seed_20 : insert_problem
{
    using activation = fp16;
    using cache      = shuffled_cache<fp8_e4m3_fnuz>;
    using index      = index_branch<fp8_e4m3_fnuz, fp8_e4m3_fnuz>;
    using position   = i32;
    using numerics   = contract::seed;

    static constexpr int rotary_dim = 20;
};

struct weightless_32 : insert_problem
{
    using heads    = strided_heads;
    using index    = index_branch<fp8_e4m3, as_activation, 64>;
    using norm     = weightless;
    using slot     = i32;
    using position = i32;

    static constexpr int rotary_dim = 32;
};

struct own_contract : insert_problem
{
    using heads    = strided_heads;
    using cache    = shuffled_cache<fp8_e4m3>;
    using index    = index_branch<fp8_e4m3_fnuz, fp8_e4m3>;
    using norm     = plain_gain;
    using numerics = own_numerics;
};

/// SGLang's cache: token rows, a page a token, fp8 with a scale of one.
struct rows_page_1 : insert_problem
{
    using cache    = token_cache<fp8_e4m3, 1>;
    using index    = index_branch<as_activation, as_activation, 1>;
    using numerics = contract::aiter_unit;
};

/// vLLM's: token rows in pages of 128.
struct rows_page_128 : insert_problem
{
    using cache = token_cache<bf16, 128>;
    using index = index_branch<fp8_e4m3, fp8_e4m3, 128>;
};

/// vLLM's older paged attention: V with the slots of a dim together.
struct transposed_bf16 : insert_problem
{
    using cache = transposed_cache<bf16>;
};

struct transposed_unit_64 : insert_problem
{
    using cache    = transposed_cache<fp8_e4m3, 64>;
    using numerics = contract::aiter_unit;
};

struct rows_static_16 : insert_problem
{
    using activation = fp16;
    using heads      = strided_heads;
    using cache      = token_cache<fp8_e4m3_fnuz>;
    using norm       = plain_gain;
    using slot       = i32;
    using numerics   = contract::aiter_static;

    static constexpr int rotary_dim = 128;
};

struct native_unit : insert_problem
{
    using cache    = token_cache<fp8_e4m3, 128>;
    using index    = index_branch<fp8_e4m3, fp8_e4m3, 128>;
    using numerics = contract::vllm_native;
};

struct trtllm_rounded : insert_problem
{
    using cache    = token_cache<fp8_e4m3>;
    using index    = index_branch<fp8_e4m3, fp8_e4m3>;
    using numerics = contract::trtllm_through_bf16;
};

/// TensorRT-LLM's other order of roundings: e4m3 straight from fp32.
struct trtllm_exact : insert_problem
{
    using cache    = token_cache<fp8_e4m3>;
    using norm     = plain_gain;
    using index    = index_branch<fp8_e4m3, fp8_e4m3>;
    using numerics = contract::trtllm_direct;
};

/// FlashInfer's writer: no norm, an fp32 table, quant scales, queries in fp8 too.
struct flashinfer_rows : insert_problem
{
    using query    = fp8_e4m3;
    using cache    = token_cache<fp8_e4m3>;
    using norm     = no_norm;
    using angle    = float;
    using slot     = i32;
    using position = i32;
    using numerics = contract::flashinfer_append;

    static constexpr int rotary_dim = 128;
};

struct transformers_m3 : insert_problem
{
    using index    = index_branch<>;
    using numerics = contract::huggingface;
};

struct transformers_qwen3 : insert_problem
{
    using norm     = plain_gain;
    using numerics = contract::huggingface_weights_last;

    static constexpr int rotary_dim = 128;
};

/// AITER with a scale for each token and head: MiniMax-M3 as ATOM runs it.
struct token_scales : insert_problem
{
    using cache    = shuffled_cache<fp8_e4m3>;
    using index    = index_branch<fp8_e4m3>;
    using numerics = contract::aiter_per_token;
};

struct token_scales_rows : insert_problem
{
    using heads    = strided_heads;
    using cache    = token_cache<fp8_e4m3_fnuz, 1>;
    using index    = index_branch<>;
    using v_norm   = weightless;
    using slot     = i32;
    using numerics = per_token_limited;

    static constexpr bool keys_out = true;
};

struct token_scales_exact : insert_problem
{
    using activation = fp16;
    using query      = fp8_e4m3;
    using cache      = shuffled_cache<fp8_e4m3, 64>;
    using q_norm     = plain_gain;
    using k_norm     = weightless;
    using numerics   = per_token_exact;
    using faults     = count_faults;
};

/// AITER's writers with scales per token: pages of 1024, V transposed.
struct token_writer : insert_problem
{
    using cache    = transposed_cache<fp8_e4m3, 1024>;
    using norm     = no_norm;
    using position = i32;
    using numerics = contract::aiter_per_token_writer;

    static constexpr int rotary_dim = 0;
};

struct quant_shuffle : insert_problem
{
    using cache    = shuffled_cache<fp8_e4m3_fnuz, 128>;
    using norm     = plain_gain;
    using pairing  = interleaved_pairs;
    using numerics = contract::aiter_quant_shuffle;

    static constexpr int head_dim   = 64;
    static constexpr int rotary_dim = 64;
};

/// Scales for each head, K and V in blocks of eight pages, queries in fp8 with a scale.
struct packed_head_scales : insert_problem
{
    using query    = fp8_e4m3_fnuz;
    using cache    = packed_cache<shuffled_cache<fp8_e4m3>>;
    using index    = index_branch<bf16, bf16, 128>;
    using numerics = scales_by_head;
    using faults   = count_faults;
};

struct packed_bf16 : insert_problem
{
    using heads      = strided_heads;
    using cache      = packed_cache<shuffled_cache<bf16>>;
    using index      = index_branch<>;
    using index_norm = plain_gain;
    using v_norm     = plain_gain;

    static constexpr bool keys_out = true;
};

struct packed_rows : insert_problem
{
    using cache    = packed_cache<token_cache<fp8_e4m3, 16>, 8>;
    using query    = fp8_e4m3;
    using numerics = queries_scaled;
    using pairing  = interleaved_pairs;

    static constexpr int rotary_dim = 96;
};

} // namespace kvloom_test
