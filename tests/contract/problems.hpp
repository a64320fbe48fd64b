// SPDX-License-Identifier: MIT
// The problems with which the fused insert is tested: every value of every axis, most pairs of values.
#pragma once

#include "contract/scalar_model.hpp"

#include "kvloom/kernel/insert_problem.hpp"

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

/// A contract of a user's own: fp8 straight from fp32 for keys, through the activation type for index queries, NaN on overflow.
struct own_numerics : insert_numerics
{
    using scaling  = division;
    using overflow = to_nan;

    static constexpr bool keys_through_activation          = false;
    static constexpr bool index_queries_through_activation = true;
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

template <class T>
constexpr scalar_model::dtype dtype_of()
{
    using scalar_model::dtype;
    return is_same_v<T, bf16>            ? dtype::bf16
           : is_same_v<T, fp16>          ? dtype::fp16
           : is_same_v<T, fp8_e4m3>      ? dtype::fp8_e4m3
           : is_same_v<T, fp8_e4m3_fnuz> ? dtype::fp8_e4m3_fnuz
                                         : dtype::fp32;
}

/// A problem type in the words of the scalar model. The contracts are put down by name, not by what their types say of themselves.
template <class Problem>
scalar_model::problem describe()
{
    using types    = insert_types<Problem>;
    using numerics = typename Problem::numerics;
    using norm     = typename Problem::norm;
    using scalar_model::norm_kind;
    using scalar_model::scale_mode;

    scalar_model::problem p;
    p.activation      = dtype_of<typename types::activation>();
    p.cache           = dtype_of<typename types::element>();
    p.angle           = dtype_of<typename types::angle>();
    p.norm            = is_same_v<norm, no_norm>      ? norm_kind::none
                        : is_same_v<norm, plain_gain> ? norm_kind::plain_gain
                        : is_same_v<norm, weightless> ? norm_kind::weightless
                                                      : norm_kind::unit_offset;
    p.has_index       = types::index::present;
    p.index_cache     = dtype_of<typename types::index_key>();
    p.index_query     = dtype_of<typename types::index_query>();
    p.head_dim        = types::dim;
    p.rotary_dim      = types::rotary;
    p.page_size       = types::keys::page_size;
    p.index_page_size = types::index::page_size;
    if (types::values::vector == types::values::page_size
        && types::values::page_size > 16 / int(sizeof(typename types::element))) {
        p.value_order = scalar_model::layout::transposed;
    }
    if (types::values_by_rows) {
        p.key_order = p.value_order = scalar_model::layout::rows;
    }

    constexpr bool own = is_same_v<numerics, own_numerics>;
    constexpr bool native =
        is_same_v<numerics, contract::vllm_native> || is_same_v<numerics, contract::trtllm_direct>;
    constexpr bool last   = is_same_v<numerics, contract::huggingface_weights_last>;
    constexpr bool hf     = last || is_same_v<numerics, contract::huggingface>;
    constexpr bool scaled = own || is_same_v<numerics, contract::aiter_static>;
    p.scale               = is_same_v<numerics, contract::seed> ? scale_mode::reciprocal
                            : scaled                            ? scale_mode::divide
                            : scalar_model::is_fp8(p.cache)     ? scale_mode::unit
                                                                : scale_mode::none;

    p.keys_through_activation          = !own && !native;
    p.index_queries_through_activation = own || hf || is_same_v<numerics, contract::trtllm_through_bf16>;
    p.round_before_gain                = last;
    p.round_after_norm                 = hf;
    p.rotate_in_activation             = hf;
    p.fp8_overflow = own ? scalar_model::overflow::to_nan : scalar_model::overflow::saturate;
    return p;
}

} // namespace kvloom_test
