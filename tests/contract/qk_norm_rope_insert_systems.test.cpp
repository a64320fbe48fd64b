// SPDX-License-Identifier: MIT
// The rounding points of other systems: the fused insert writes the model's bytes.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert writes the model's bytes: fp8 straight from fp32", "[contract][kernel]")
{
    check_problem<native_unit>(19);
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

namespace {

struct native_like : native_unit
{
    using numerics = contract::aiter_unit;
};

struct m3_last : transformers_m3
{
    using numerics = contract::huggingface_weights_last;
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
