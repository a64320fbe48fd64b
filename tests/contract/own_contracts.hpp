// SPDX-License-Identifier: MIT
// Contracts of a user's own, for tests: choices that no preset makes.
#pragma once

#include "kvloom/kernel/insert_problem.hpp"

namespace kvloom_test {

using namespace kvloom;

/// A contract of a user's own: fp8 straight from fp32 for keys, through the activation type for index queries, NaN on overflow.
struct own_numerics : insert_numerics
{
    using scaling  = division;
    using overflow = to_nan;

    static constexpr bool keys_through_activation          = false;
    static constexpr bool index_queries_through_activation = true;
};

/// Scales per token and head with a limit below the format's: B12's 224 in FNUZ.
struct per_token_limited : contract::aiter_per_token
{
    static constexpr float limit = 224.0F;
};

/// The same straight from fp32.
struct per_token_exact : contract::aiter_per_token
{
    static constexpr bool keys_through_activation = false;
};

/// A given scale for each head of K and V, clamped at 200, and queries by the reciprocal of theirs.
struct scales_by_head : contract::aiter_static
{
    using query_scaling = reciprocal_product;

    static constexpr scale_shape scales = scale_shape::head;
    static constexpr float limit        = 200.0F;
};

/// A given scale for each head, and nothing else out of the ordinary.
struct head_scales_alone : contract::aiter_static
{
    static constexpr scale_shape scales = scale_shape::head;
};

/// Queries through the activation type, divided by their scale.
struct queries_scaled : contract::seed
{
    using query_scaling = division;

    static constexpr bool queries_through_activation = true;
};

} // namespace kvloom_test
