// SPDX-License-Identifier: MIT
// The rounding points of other systems: the fused insert writes the model's bytes.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert writes the model's bytes: fp8 straight from fp32", "[contract][kernel]")
{
    check_problem<native_unit>(19);
    check_problem<trtllm_exact>(23);
}

TEST_CASE("the fused insert writes the model's bytes: index rows through bf16", "[contract][kernel]")
{
    check_problem<trtllm_rounded>(20);
}

TEST_CASE("the fused insert writes the model's bytes: norm and rotation rounded", "[contract][kernel]")
{
    check_problem<transformers_m3>(21);
    check_problem<transformers_qwen3>(22);
}

TEST_CASE("the fused insert writes the model's bytes: quant scales", "[contract][kernel]")
{
    check_problem<flashinfer_rows>(24);
}

namespace {

struct native_like : native_unit
{
    using numerics = contract::aiter_unit;
};

struct m3_last : transformers_m3
{
    using numerics = contract::huggingface_weights_last;
};

/// MiniMax-M3 by other rules for scales per token, by a reciprocal of a given scale, and by a scale for each head.
struct zero_of_zeros : token_scales
{
    using numerics = contract::aiter_per_token_writer;
};
struct with_least : token_scales
{
    using numerics = contract::aiter_quant_shuffle;
};
struct with_limit : token_scales
{
    using numerics = per_token_limited;
};
struct from_fp32 : token_scales
{
    using numerics = per_token_exact;
};
struct by_reciprocal : m3_static
{
    using numerics = contract::seed;
};
struct by_head : m3_static
{
    using query    = fp8_e4m3;
    using numerics = scales_by_head;
};
struct quant_scales : m3_static
{
    using query    = fp8_e4m3;
    using numerics = contract::flashinfer_append;
};

/// What a problem's outputs and caches hold after one scene.
template <class Problem>
image image_of(scene_options const& options)
{
    return expected_image(scene_of<Problem>(options));
}

} // namespace

TEST_CASE("each rounding point decides bytes", "[contract]")
{
    auto const o = call_of(33, {5, 2, 1}, slot_pattern::consecutive, slot_pattern::consecutive);
    CHECK(image_of<native_unit>(o)[block_keys] != image_of<native_like>(o)[block_keys]);
    CHECK(image_of<native_unit>(o)[block_index_keys] != image_of<native_like>(o)[block_index_keys]);
    CHECK(image_of<trtllm_rounded>(o)[block_index_q_out] != image_of<native_like>(o)[block_index_q_out]);
    CHECK(image_of<transformers_m3>(o)[block_q_out] != image_of<m3_bf16>(o)[block_q_out]);
    CHECK(image_of<transformers_m3>(o)[block_q_out] != image_of<m3_last>(o)[block_q_out]);
}

TEST_CASE("each choice of a scale decides bytes", "[contract]")
{
    auto o           = call_of(75, {5, 3, 1}, slot_pattern::consecutive, slot_pattern::consecutive);
    o.key_scale      = 7.0F;
    o.value_scale    = 28.0F;
    auto const token = image_of<token_scales>(o);
    CHECK(image_of<zero_of_zeros>(o)[block_key_scales] != token[block_key_scales]);
    CHECK(image_of<zero_of_zeros>(o)[block_values] != token[block_values]); // by the reciprocal
    CHECK(image_of<with_least>(o)[block_value_scales] != token[block_value_scales]);
    CHECK(image_of<with_limit>(o)[block_values] != token[block_values]);
    CHECK(image_of<from_fp32>(o)[block_keys] != token[block_keys]);
    auto const given = image_of<m3_static>(o);
    CHECK(image_of<by_reciprocal>(o)[block_values] != given[block_values]);
    CHECK(image_of<by_head>(o)[block_keys] != given[block_keys]);
    CHECK(image_of<quant_scales>(o)[block_values] != given[block_values]);
}
