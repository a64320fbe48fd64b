// SPDX-License-Identifier: MIT
// The fused insert as a ready kernel: RMSNorm and RoPE of q, k and index rows, and K, V and the index key
// into paged caches.
#pragma once

#include "kvloom/kernel/insert_long.hpp"
#include "kvloom/kernel/insert_validate.hpp"

#if !KVLOOM_RTC // host functions: run-time compilers take the functors alone

namespace kvloom {
inline namespace v0 {

namespace detail {

/// As many blocks as the plan's waves fill, through the backend's launch.
template <class Stream, class Kernel, class Problem>
status start_insert(Stream const& stream, Kernel kernel, insert_launch<Problem> const& work, arch_id arch)
{
    int const waves = Kernel::bounds.threads / insert_tuning_for(arch, work.plan.shape).wave;
    return launch(stream, kernel, work, (work.plan.waves + waves - 1) / waves);
}

/// What the plan sees of the arguments.
template <class Problem>
insert_sizes sizes_of(insert_args<Problem> const& a)
{
    using types = insert_types<Problem>;
    insert_sizes s;
    s.tokens         = a.tokens;
    s.q_heads        = a.q.heads;
    s.kv_heads       = a.k.heads;
    s.value_heads    = a.v.heads;
    s.index_heads    = types::index::present ? a.index_q.heads : 0;
    s.index_keys     = types::index::present ? a.index_k.heads : 0;
    s.values_by_rows = types::values_by_rows;
    s.whole_rows     = types::whole_values;
    s.window         = vector_size<typename types::element>;
    s.chunks         = types::dim / chunk_size;
    s.lanes          = types::lanes;
    s.rows_at_once   = types::rows_at_once;
    return s;
}

/// Plans and starts a launch of valid arguments with at least one token.
template <class Stream, class Problem>
status start_planned(Stream const& stream, insert_args<Problem> const& a)
{
    arch_id const arch = arch_of(stream);
    insert_launch<Problem> const work{plan_insert(sizes_of(a), arch), a};
    if (work.plan.shape == insert_shape::short_rows) {
        return start_insert(stream, insert_short<Problem>{}, work, arch);
    }
    if constexpr (Stream::has_transpose) { // no other machine's plan takes the narrow shape
        if (work.plan.shape == insert_shape::long_narrow) {
            return start_insert(stream, insert_long<Problem, insert_shape::long_narrow>{}, work, arch);
        }
    }
    return start_insert(stream, insert_long<Problem, insert_shape::long_wide>{}, work, arch);
}

/// Validates, plans and starts a launch of the sections that the arguments have.
template <class Stream, class Problem>
status launch_insert(Stream const& stream, insert_args<Problem> const& a, needed_sections const& needed)
{
    status const valid = validate_insert(a, needed);
    return !valid.ok() || a.tokens == 0 ? valid : start_planned(stream, a);
}

} // namespace detail

/// One launch in place of three: for each token of a projection row [q | k | v | index_q | index_k]
///
///     q, index_q    RMSNorm, RoPE                      -> dense outputs
///     k, index_k    RMSNorm, RoPE, rounding, scale     -> paged caches
///     v             scale                              -> paged cache
///
/// with the types, layouts and contract of `Problem` (insert_problem.hpp). Bits do not depend on the machine.
template <class Problem>
struct qk_norm_rope_insert
{
    using args  = insert_args<Problem>;
    using types = insert_types<Problem>;

    /// The first argument that breaks a rule, or none; reads no device memory.
    static status validate(args const& a) { return validate_insert(a); }

    /// Starts the kernel on a host, hip or cuda stream; zero tokens succeed without a launch. Validates
    /// first, allocates nothing, does not synchronise, and may be captured in a graph.
    template <class Stream>
    static status launch(Stream const& stream, args const& a)
    {
        return detail::launch_insert(stream, a, {});
    }
};

} // namespace v0
} // namespace kvloom

#endif
