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

} // namespace contract
} // namespace v0
} // namespace kvloom
