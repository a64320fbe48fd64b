// SPDX-License-Identifier: MIT
// A problem type in the words of the scalar model.
#pragma once

#include "contract/cover_problems.hpp"
#include "contract/model_problems.hpp"
#include "contract/problems.hpp"
#include "contract/scalar_model.hpp"

namespace kvloom_test {

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

template <class Norm>
constexpr scalar_model::norm_kind norm_of()
{
    using scalar_model::norm_kind;
    return is_same_v<Norm, no_norm>      ? norm_kind::none
           : is_same_v<Norm, plain_gain> ? norm_kind::plain_gain
           : is_same_v<Norm, weightless> ? norm_kind::weightless
                                         : norm_kind::unit_offset;
}

/// Section sizes of an angle source.
template <class Source>
struct sections_of
{
    static constexpr std::array<int, 3> sizes = {};
    static constexpr bool in_turn             = false;
};
template <int T, int H, int W>
struct sections_of<sections<T, H, W>>
{
    static constexpr std::array<int, 3> sizes = {T, H, W};
    static constexpr bool in_turn             = false;
};
template <int T, int H, int W>
struct sections_of<interleaved_sections<T, H, W>>
{
    static constexpr std::array<int, 3> sizes = {T, H, W};
    static constexpr bool in_turn             = true;
};

/// What a contract chooses, put down by its name, not by what its type says of itself.
template <class Numerics>
void choose(scalar_model::problem& p)
{
    using namespace contract;
    using scalar_model::scale_mode;
    auto const is = [](auto one) { return is_same_v<Numerics, decltype(one)>; };

    bool const own     = is(own_numerics{});
    bool const inverse = is(flashinfer_append{});
    bool const native  = is(vllm_native{}) || is(trtllm_direct{}) || inverse;
    bool const last    = is(huggingface_weights_last{});
    bool const hf      = last || is(huggingface{});
    bool const writer  = is(aiter_per_token_writer{});
    bool const quant   = is(aiter_quant_shuffle{});
    bool const limit   = is(per_token_limited{});
    bool const exact   = is(per_token_exact{});
    bool const token   = is(aiter_per_token{}) || writer || quant || limit || exact;
    bool const heads   = is(scales_by_head{});
    bool const alone   = is(head_scales_alone{});
    p.scale            = is(seed{}) || is(aiter_pts_quant{}) || is(queries_scaled{}) ? scale_mode::reciprocal
                         : own || is(aiter_static{}) || heads || alone               ? scale_mode::divide
                         : writer || quant                                           ? scale_mode::reciprocal
                         : token                                                     ? scale_mode::divide
                         : scalar_model::is_fp8(p.cache)                             ? scale_mode::unit
                                                                                     : scale_mode::none;
    p.scale            = inverse ? scale_mode::multiply : p.scale;
    p.head_scales      = heads || alone;
    p.rule.found       = token;
    p.rule.of_zeros    = writer ? 0.0 : 1.0;
    p.rule.least       = quant ? 1e-8 : 0.0;
    p.rule.least_divisor  = writer ? 1e-12 : 0.0;
    p.rule.after_rounding = writer || quant;
    p.limit               = limit ? 224.0 : heads ? 200.0 : 0.0;

    p.query_scale                      = is(queries_scaled{}) ? scale_mode::divide
                                         : heads              ? scale_mode::reciprocal
                                         : inverse            ? scale_mode::multiply
                                                              : scale_mode::none;
    p.queries_through_activation       = is(queries_scaled{});
    p.keys_through_activation          = !own && !native && !exact;
    p.index_queries_through_activation = own || hf || is(trtllm_through_bf16{});
    p.round_before_gain                = last;
    p.round_after_norm                 = hf || quant || is(aiter_pts_quant{});
    p.rotate_in_activation             = hf;
    p.fp8_overflow = own ? scalar_model::overflow::to_nan : scalar_model::overflow::saturate;
}

template <class Problem>
scalar_model::problem describe()
{
    using types = insert_types<Problem>;
    using scalar_model::layout;

    scalar_model::problem p;
    p.activation       = dtype_of<typename types::activation>();
    p.query            = dtype_of<typename types::query>();
    p.cache            = dtype_of<typename types::element>();
    p.angle            = dtype_of<typename types::angle>();
    p.q_norm           = norm_of<typename types::q_norm>();
    p.k_norm           = norm_of<typename types::k_norm>();
    p.v_norm           = norm_of<typename types::v_norm>();
    p.index_norm       = norm_of<typename types::index_norm>();
    p.over_vector      = is_same_v<typename Problem::norm_scope, over_vector>;
    p.interleaved      = is_same_v<typename Problem::pairing, interleaved_pairs>;
    p.sections         = sections_of<typename Problem::angle_source>::sizes;
    p.sections_in_turn = sections_of<typename Problem::angle_source>::in_turn;
    p.has_index        = types::index::present;
    p.index_cache      = dtype_of<typename types::index_key>();
    p.index_query      = dtype_of<typename types::index_query>();
    p.head_dim         = types::dim;
    p.rotary_dim       = types::rotary;
    p.page_size        = types::keys::page_size;
    p.block_pages      = Problem::cache::block_pages;
    p.index_page_size  = types::index::page_size;
    p.keys_out         = Problem::keys_out;
    p.counts_faults    = is_same_v<typename Problem::faults, count_faults>;

    bool const rows = is_same_v<typename types::keys,
                                token_rows<typename types::element, types::dim, types::keys::page_size>>;
    bool const transposed =
        is_same_v<typename types::values,
                  transposed_values<typename types::element, types::dim, types::values::page_size>>;
    p.key_order   = rows ? layout::rows : layout::keys;
    p.value_order = rows ? layout::rows : transposed ? layout::transposed : layout::values;
    choose<typename Problem::numerics>(p);
    return p;
}

} // namespace kvloom_test
