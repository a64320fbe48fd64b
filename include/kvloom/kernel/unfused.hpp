// SPDX-License-Identifier: MIT
// The steps of the fused insert as kernels of their own: norm and RoPE of dense rows, K and V into their caches, the
// index key into its cache.
#pragma once

#include "kvloom/kernel/qk_norm_rope_insert.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// The rounding points of a contract that stores nothing in a cache.
template <class Numerics>
struct norm_rope_numerics : Numerics
{
    using scaling       = no_scaling;
    using query_scaling = no_scaling;

    static constexpr float limit = 0.0F;
};

/// The scales and rounding points of a contract's caches.
template <class Numerics>
struct cache_numerics : Numerics
{
    using query_scaling = no_scaling;
};

} // namespace detail

/// A problem's norms and rotations alone: every prepared row leaves densely in the activation type.
template <class Problem>
struct norm_rope_problem : Problem
{
    using query    = as_activation;
    using index    = conditional_t<Problem::index::present, index_branch<>, no_index>;
    using cache    = shuffled_cache<typename Problem::activation>;
    using v_norm   = no_norm;
    using numerics = detail::norm_rope_numerics<typename Problem::numerics>;

    static constexpr bool keys_out = true;
};

/// A problem's writes to the caches alone, of rows that are prepared already.
template <class Problem>
struct cache_problem : Problem
{
    using query      = as_activation;
    using norm       = no_norm;
    using q_norm     = no_norm;
    using k_norm     = no_norm;
    using index_norm = no_norm;
    using numerics   = detail::cache_numerics<typename Problem::numerics>;

    static constexpr int rotary_dim = 0;
    static constexpr bool keys_out  = false;
};

#if !KVLOOM_RTC // host functions: run-time compilers take the functors alone

/// Norm and RoPE of q, k, index_q and index_k, each in place or to rows of its own: q_out, k_out, index_q_out,
/// index_k_out of the arguments, all in the activation type. Caches, slots and scales are not looked at; sections
/// without heads are absent.
///
/// Followed by reshape_and_cache and index_insert it stores what the fused insert stores wherever the contract rounds
/// K and the index key to the activation type on their way (see docs/contracts.md for the others).
template <class Problem>
struct qk_norm_rope
{
    using problem = norm_rope_problem<Problem>;
    using args    = insert_args<problem>;

    static status validate(args const& a)
    {
        return validate_insert(prepared(a), {false, false, false, false});
    }

    /// As qk_norm_rope_insert::launch.
    template <class Stream>
    static status launch(Stream const& stream, args const& a)
    {
        return detail::launch_insert(stream, prepared(a), {false, false, false, false});
    }

private:
    static args prepared(args a)
    {
        a.v                = {};
        a.slot_count       = 0;
        a.index_slot_count = 0;
        a.keys             = {};
        a.keys.heads       = a.k.heads;
        a.index_keys       = {};
        a.index_keys.heads = 1;
        return a;
    }
};

/// K and V of each token with a slot into their caches, with the problem's scales; k is prepared already. q and the
/// index rows of the arguments are not looked at.
template <class Problem>
struct reshape_and_cache
{
    using problem = cache_problem<Problem>;
    using args    = insert_args<problem>;

    static status validate(args const& a) { return validate_insert(prepared(a), {false, true, true, false}); }

    /// As qk_norm_rope_insert::launch.
    template <class Stream>
    static status launch(Stream const& stream, args const& a)
    {
        return detail::launch_insert(stream, prepared(a), {false, true, true, false});
    }

private:
    static args prepared(args a)
    {
        a.q                = {};
        a.q_out            = {};
        a.index_q          = {};
        a.index_q_out      = {};
        a.index_k          = {};
        a.index_slot_count = 0;
        return a;
    }
};

/// The index key of each token with an index slot into its cache; it is prepared already. Other rows of the arguments
/// are not looked at.
template <class Problem>
struct index_insert
{
    static_assert(Problem::index::present, "index_insert: the problem has no index branch");

    using problem = cache_problem<Problem>;
    using args    = insert_args<problem>;

    static status validate(args const& a)
    {
        return validate_insert(prepared(a), {false, false, false, true});
    }

    /// As qk_norm_rope_insert::launch.
    template <class Stream>
    static status launch(Stream const& stream, args const& a)
    {
        return detail::launch_insert(stream, prepared(a), {false, false, false, true});
    }

private:
    static args prepared(args a)
    {
        a.q           = {};
        a.q_out       = {};
        a.k           = {};
        a.v           = {};
        a.slot_count  = 0;
        a.index_q     = {};
        a.index_q_out = {};
        return a;
    }
};

#endif

} // namespace v0
} // namespace kvloom
