// SPDX-License-Identifier: MIT
// Numerics of the insert: where values are rounded and how scales are found and applied, one type for each
// system's choices.
#pragma once

#include "kvloom/core/numeric.hpp"
#include "kvloom/op/quantise.hpp"

namespace kvloom {
inline namespace v0 {

/// Where the dequant scale of a stored value comes from.
enum class scale_source {
    none,  ///< there is none
    given, ///< read from memory
    found  ///< found from the row itself, and written to memory
};

/// How a contract applies the dequant scale of the K and V caches.
struct no_scaling ///< values are stored as they are: 16-bit caches, and fp8 with a scale of one
{
    static constexpr scale_source source = scale_source::none;
    KVLOOM_FN static as_it_is quantiser(float) { return {}; }
};
struct division ///< stored = value / dequant_scale
{
    static constexpr scale_source source = scale_source::given;
    KVLOOM_FN static divided_by quantiser(float dequant_scale) { return divided_by{dequant_scale}; }
};
struct reciprocal_product ///< stored = value * (1 / dequant_scale), the reciprocal rounded first
{
    static constexpr scale_source source = scale_source::given;
    KVLOOM_FN static multiplied_by quantiser(float dequant_scale)
    {
        return {reciprocal(usable_scale(dequant_scale))};
    }
};

struct
    quant_product ///< stored = value * scale: the scale that is given is a quant scale, not a dequant scale
{
    static constexpr scale_source source = scale_source::given;
    KVLOOM_FN static multiplied_by quantiser(float quant_scale) { return {quant_scale}; }
};

/// A scale for each token and head, largest magnitude / limit, written out. NaN does not count; an infinity
/// counts as the largest finite number. A rule of your own derives from this and overrides what differs.
struct token_scaling
{
    static constexpr scale_source source = scale_source::found;

    static constexpr float least    = 0.0F; ///< a largest magnitude below this counts as this
    static constexpr float of_zeros = 1.0F; ///< the scale written for a row of zeros where `least` is 0

    /// Whether the largest magnitude is taken after the row was rounded to the activation type.
    static constexpr bool through_activation = false;

    KVLOOM_FN static divided_by_own_scale quantiser(float dequant_scale)
    {
        return divided_by_own_scale{dequant_scale};
    }
};

/// The dequant scale that `Rule` gives a row by its largest magnitude; Limit::value is what that becomes.
template <class Rule, class Limit>
KVLOOM_FN float found_scale(float largest)
{
    if (Rule::least == 0.0F && largest == 0.0F) {
        return Rule::of_zeros;
    }
    float const clipped = between(largest, Rule::least, numeric<float>::largest);
    return divided_by_constant<Limit>(clipped);
}

/// Whether K and V have one given scale each, or one for each head.
enum class scale_shape { tensor, head };

/// The members of a contract with their usual values. A contract of your own derives from this and overrides
/// what differs.
struct insert_numerics
{
    using scaling =
        no_scaling; ///< of K and V: no_scaling, division, reciprocal_product, quant_product, token_scaling
    using query_scaling = no_scaling; ///< of fp8 queries: one of the first four
    using overflow      = saturate;   ///< of fp8 outputs

    /// Of given scales.
    static constexpr scale_shape scales = scale_shape::tensor;
    /// The largest magnitude that K and V are stored with, for scales that are found and for clamping; 0: the
    /// format's.
    static constexpr float limit = 0.0F;

    /// Whether K and the index key are rounded to the activation type before they are narrowed to another
    /// cache type.
    static constexpr bool keys_through_activation = true;
    /// The same for queries and for index queries that leave in fp8.
    static constexpr bool queries_through_activation       = false;
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

/// The same op with "fp8": fp8 with a scale for each token and head, the largest fp32 magnitude over the format's,
/// one for a row of zeros.
struct aiter_per_token : insert_numerics
{
    using scaling = token_scaling;
};

/// AITER's reshape_and_cache_with_pertoken_quant: value * (1 / max(scale, 1e-12)), a scale of zero for a row of
/// zeros.
struct aiter_per_token_writer : insert_numerics
{
    struct scaling : token_scaling
    {
        static constexpr float of_zeros          = 0.0F;
        static constexpr bool through_activation = true;

        KVLOOM_FN static multiplied_by quantiser(float dequant_scale)
        {
            return {reciprocal(larger(dequant_scale, 1e-12F))};
        }
    };
};

/// AITER's fused_qk_norm_rope_cache_quant_shuffle: rounded after the norm and after the rotation, a largest
/// magnitude of at least 1e-8.
struct aiter_quant_shuffle : insert_numerics
{
    struct scaling : token_scaling
    {
        static constexpr float least             = 1e-8F;
        static constexpr bool through_activation = true;

        KVLOOM_FN static multiplied_by quantiser(float dequant_scale) { return {reciprocal(dequant_scale)}; }
    };

    static constexpr bool round_after_norm = true;
};

/// AITER's fused_qk_norm_(m)rope_cache_pts_quant: rounded after the norm, fp8 of value * (1 / scale).
struct aiter_pts_quant : insert_numerics
{
    using scaling = reciprocal_product;

    static constexpr bool round_after_norm = true;
};

/// AITER pull request 4813: fp8 of value * (1 / scale).
struct seed : insert_numerics
{
    using scaling = reciprocal_product;
};

/// SGLang on top of fused_qknorm_idxrqknorm: fp8 with a scale of one, in token rows with a page a token.
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

/// FlashInfer's rope_quantize_fp8_append_paged_kv_cache: fp8 of value * quant scale, the inverse of what the others
/// call a scale, straight from fp32; queries too.
struct flashinfer_append : insert_numerics
{
    using scaling       = quant_product;
    using query_scaling = quant_product;

    static constexpr bool keys_through_activation = false;
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
