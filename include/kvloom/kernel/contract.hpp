// SPDX-License-Identifier: MIT
// Numerics of the insert: where values are rounded and how a scale is applied, one type for each system's
// choices.
#pragma once

#include "kvloom/core/numeric.hpp"
#include "kvloom/op/insert.hpp"

namespace kvloom {
inline namespace v0 {

/// How a contract applies the dequant scale of the K and V caches.
struct no_scaling ///< values are stored as they are: 16-bit caches, and fp8 with a scale of one
{
    static constexpr bool reads_scale = false;
    KVLOOM_FN static as_it_is quantiser(float) { return {}; }
};
struct division ///< stored = value / dequant_scale
{
    static constexpr bool reads_scale = true;
    KVLOOM_FN static divided_by quantiser(float dequant_scale) { return {dequant_scale}; }
};
struct reciprocal_product ///< stored = value * (1 / dequant_scale), the reciprocal rounded first
{
    static constexpr bool reads_scale = true;
    KVLOOM_FN static multiplied_by quantiser(float dequant_scale) { return {reciprocal(dequant_scale)}; }
};

/// The members of a contract with their usual values. A contract of your own derives from this and overrides
/// what differs.
struct insert_numerics
{
    using scaling  = no_scaling;
    using overflow = saturate; ///< of fp8 outputs

    /// Whether K and the index key are rounded to the activation type before they are narrowed to another
    /// cache type.
    static constexpr bool keys_through_activation = true;
    /// The same for index queries that leave in fp8.
    static constexpr bool index_queries_through_activation = false;

    /// Whether x * r is rounded to the activation type before the weights multiply it.
    static constexpr bool round_before_gain = false;
    /// Whether the normalised row is rounded to the activation type before it is rotated.
    static constexpr bool round_after_norm = false;
    /// Whether the rotation is carried out in the activation type: both products and their sum are rounded.
    static constexpr bool rotate_in_activation = false;
};

namespace contract {

/// AITER's fused_qknorm_idxrqknorm with kv_cache_dtype "auto": a 16-bit cache, no scale.
struct aiter_auto : insert_numerics
{};

/// The same op with "fp8_e4m3_unit": fp8 with a scale of one. Saturates where the original may give NaN.
struct aiter_unit : insert_numerics
{};

/// The same op with "fp8_e4m3_static": fp8 of value / scale.
struct aiter_static : insert_numerics
{
    using scaling = division;
};

/// AITER pull request 4813: fp8 of value * (1 / scale).
struct seed : insert_numerics
{
    using scaling = reciprocal_product;
};

/// SGLang on top of the same op: fp8 with a scale of one, in token rows with a page a token.
struct sglang_unit : aiter_unit
{};

/// vLLM's own MiniMax-M3 kernel: fp8 with a scale of one, straight from fp32.
struct vllm_native : insert_numerics
{
    static constexpr bool keys_through_activation = false;
};

/// TensorRT-LLM's index insert: e4m3 straight from fp32, keys and queries.
struct trtllm_direct : vllm_native
{};

/// The same with both rounded to bf16 first.
struct trtllm_through_bf16 : insert_numerics
{
    static constexpr bool index_queries_through_activation = true;
};

/// The model as Hugging Face transformers runs it: the norm in fp32, rounded to the activation type, then a
/// rotation in that type.
struct huggingface : insert_numerics
{
    static constexpr bool round_after_norm                 = true;
    static constexpr bool rotate_in_activation             = true;
    static constexpr bool index_queries_through_activation = true;
};

/// The same for models whose norm multiplies by its weights after rounding (Llama's and Qwen3's).
struct huggingface_weights_last : huggingface
{
    static constexpr bool round_before_gain = true;
};

} // namespace contract
} // namespace v0
} // namespace kvloom
