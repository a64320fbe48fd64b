// SPDX-License-Identifier: MIT
// Checks of the fused insert's arguments on the host: the first argument that breaks a rule is named.
#pragma once

#include "kvloom/kernel/checks.hpp"
#include "kvloom/kernel/insert_rows.hpp"
#include "kvloom/kernel/overlap.hpp"

#if !KVLOOM_RTC // host functions: run-time compilers take the functors alone

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Sections that a launch cannot do without. The unfused kernels leave some out.
struct needed_sections
{
    bool q       = true;
    bool k       = true;
    bool v       = true;
    bool index_k = true;
};

/// Heads, weights and dense outputs of the sections.
template <class Problem>
void check_sections(checks& check, insert_args<Problem> const& args, needed_sections const& needed)
{
    using types          = insert_types<Problem>;
    int const tokens     = args.tokens;
    auto const with_gain = [&](char const* name, auto const* gain, bool weighted, int heads) {
        if (weighted && heads > 0) {
            check.pointer(name, gain, 16);
        }
    };
    check_source(check, args.q, needed.q, {"q.data", "q.heads", "q.token_stride", "q.head_stride"});
    check_source(check, args.k, needed.k, {"k.data", "k.heads", "k.token_stride", "k.head_stride"});
    check_source(check, args.v, needed.v, {"v.data", "v.heads", "v.token_stride", "v.head_stride"});
    if (needed.v || args.v.heads > 0) {
        check.equal("v.heads", args.v.heads, args.k.heads);
    }
    if (types::whole_vector) {
        check.below("q.heads", args.q.heads, most_vector_heads + 1);
        check.below("k.heads", args.k.heads, most_vector_heads + 1);
    }
    check_target(check, args.q_out, tokens, args.q.heads,
                 {"q_out.data", "q_out.heads", "q_out.token_stride", "q_out.head_stride"});
    with_gain("q_gain", args.q_gain, types::template weighted<typename types::q_norm>, args.q.heads);
    with_gain("k_gain", args.k_gain, types::template weighted<typename types::k_norm>, args.k.heads);
    with_gain("v_gain", args.v_gain, types::template weighted<typename types::v_norm>, args.v.heads);
    if constexpr (types::numerics::query_scaling::source == scale_source::given) {
        check.pointer("query_scale", args.query_scale, sizeof(float));
    }
    if constexpr (Problem::keys_out) {
        check_target(check, args.k_out, tokens, args.k.heads,
                     {"k_out.data", "k_out.heads", "k_out.token_stride", "k_out.head_stride"});
    }
    if constexpr (types::index::present) {
        check_source(check, args.index_q, 0,
                     {"index_q.data", "index_q.heads", "index_q.token_stride", "index_q.head_stride"});
        check_source(check, args.index_k, needed.index_k,
                     {"index_k.data", "index_k.heads", "index_k.token_stride", "index_k.head_stride"});
        if (needed.index_k) {
            check.equal("index_k.heads", args.index_k.heads, 1);
        }
        check.below("index_k.heads", args.index_k.heads, 2);
        check_target(
            check, args.index_q_out, tokens, args.index_q.heads,
            {"index_q_out.data", "index_q_out.heads", "index_q_out.token_stride", "index_q_out.head_stride"});
        constexpr bool weighted = types::template weighted<typename types::index_norm>;
        with_gain("index_q_gain", args.index_q_gain, weighted, args.index_q.heads);
        with_gain("index_k_gain", args.index_k_gain, weighted, args.index_k.heads);
        if constexpr (Problem::keys_out) {
            check_target(check, args.index_k_out, tokens, args.index_k.heads,
                         {"index_k_out.data", "index_k_out.heads", "index_k_out.token_stride",
                          "index_k_out.head_stride"});
        }
    }
}

/// Outputs, caches and written scales share nothing with each other, nor with any row that is read, but dense outputs
/// may be the rows that they are computed from; with norms over the vector not even that, since other waves still
/// read those.
template <class Problem>
void check_overlaps(checks& check, insert_args<Problem> const& a)
{
    using types           = insert_types<Problem>;
    constexpr bool index  = types::index::present;
    constexpr bool keys   = Problem::keys_out;
    constexpr bool scales = types::found_scales;
    constexpr int alone   = named_bytes::alone;
    constexpr int q       = types::template over_vector_of<row_kind::query> ? alone : 0;
    constexpr int k       = types::template over_vector_of<row_kind::key> ? alone : 1;
    bool const stores     = a.k.heads > 0 && a.v.heads > 0;
    int const page_size   = types::keys::page_size;
    int const pages       = a.keys.pages < a.values.pages ? a.keys.pages : a.values.pages;
    auto const rows       = [&](bool present, auto const& view) {
        return present ? bytes_of(view, a.tokens) : strided_bytes{};
    };
    auto const cache = [](bool present, auto const& view) {
        return present ? bytes_of(view) : strided_bytes{};
    };
    auto const written = [&](scale_view const& view) {
        return scales && stores ? bytes_of(view, pages, a.k.heads, page_size) : strided_bytes{};
    };
    named_bytes const views[] = {
        {rows(true, a.q), "q.data", named_bytes::source, nullptr, a.q.token_stride},
        {rows(true, a.k), "k.data", named_bytes::source, nullptr, a.k.token_stride},
        {rows(true, a.v), "v.data"},
        {rows(index, a.index_q), "index_q.data", named_bytes::source, nullptr, a.index_q.token_stride},
        {rows(index, a.index_k), "index_k.data", named_bytes::source, nullptr, a.index_k.token_stride},
        {rows(true, a.q_out), "q_out.data", q, "q_out.token_stride", a.q_out.token_stride},
        {rows(keys, a.k_out), "k_out.data", k, "k_out.token_stride", a.k_out.token_stride},
        {rows(index, a.index_q_out), "index_q_out.data", 3, "index_q_out.token_stride",
         a.index_q_out.token_stride},
        {rows(index && keys, a.index_k_out), "index_k_out.data", 4, "index_k_out.token_stride",
         a.index_k_out.token_stride},
        {cache(a.k.heads > 0, a.keys), "keys.data", alone},
        {cache(a.v.heads > 0, a.values), "values.data", alone},
        {cache(index && a.index_k.heads > 0, a.index_keys), "index_keys.data", alone},
        {written(a.key_scales), "key_scales.data", alone},
        {written(a.value_scales), "value_scales.data", alone}};
    check.first = first_overlap(views);
}

template <class Problem>
void check_angles(checks& check, insert_args<Problem> const& args)
{
    using types = insert_types<Problem>;
    using angle = typename types::angle;
    check.at_least("angles.rows", args.angles.rows, 1);
    check.at_least("angles.stride", args.angles.stride, types::rotary);
    check.pointer("positions", args.positions, sizeof(typename types::position));
    if (angles_are_vectors<typename types::pairing, token_positions<Problem>, types::rotary>) {
        check.pointer("angles.data", args.angles.data, 16);
        check.stride("angles.stride", args.angles.stride, sizeof(angle));
    } else {
        check.pointer("angles.data", args.angles.data, sizeof(angle));
    }
    if (Problem::angle_source::count > 1) {
        check.at_least("position_stride", args.position_stride, args.tokens);
    }
}

/// Caches with their slots and scales.
template <class Problem>
void check_caches(checks& check, insert_args<Problem> const& args)
{
    using types        = insert_types<Problem>;
    int const kv_heads = args.k.heads;
    if (kv_heads > 0) {
        check_list(check, "slots", args.slots, "slot_count", args.slot_count);
        check_cache(check, args.keys, kv_heads,
                    {"keys.data", "keys.pages", "keys.heads", "keys.page_stride", "keys.head_stride",
                     "keys.token_stride", "keys.block_stride"});
    }
    if (args.v.heads > 0) {
        check_cache(check, args.values, kv_heads,
                    {"values.data", "values.pages", "values.heads", "values.page_stride",
                     "values.head_stride", "values.token_stride", "values.block_stride"});
    }
    bool const stores = kv_heads > 0 && args.v.heads > 0 && check.first.ok();
    if (types::given_scales && stores) {
        check.pointer("key_scale", args.key_scale, sizeof(float));
        check.pointer("value_scale", args.value_scale, sizeof(float));
    }
    if (types::found_scales && stores && slot_limit(args) > 0) {
        int const pages    = args.keys.pages < args.values.pages ? args.keys.pages : args.values.pages;
        constexpr int size = types::keys::page_size;
        check_scales(check, args.key_scales, pages, kv_heads, size,
                     {"key_scales.data", "key_scales.page_stride", "key_scales.head_stride"});
        check_scales(check, args.value_scales, pages, kv_heads, size,
                     {"value_scales.data", "value_scales.page_stride", "value_scales.head_stride"});
    }
    if constexpr (types::index::present) {
        if (args.index_k.heads > 0) {
            check_cache(check, args.index_keys, 1,
                        {"index_keys.data", "index_keys.pages", "index_keys.heads", "index_keys.page_stride",
                         "index_keys.head_stride", "index_keys.token_stride", "index_keys.block_stride"});
            check_list(check, "index_slots", args.index_slots, "index_slot_count", args.index_slot_count);
        }
    }
}

} // namespace detail

/// The first argument of the fused insert that breaks a rule, or none. Looks at no device memory. Zero tokens
/// are always fine.
template <class Problem>
status validate_insert(insert_args<Problem> const& args, detail::needed_sections const& needed = {})
{
    using types = insert_types<Problem>;
    detail::checks check;
    check.at_least("tokens", args.tokens, 0);
    if (args.tokens <= 0) {
        return check.first;
    }
    if constexpr (types::normalises) {
        bool const fine = args.eps > 0.0F && args.eps <= numeric<float>::largest;
        check.report(!fine, fault::not_positive, "eps", 0, 0);
    }
    detail::check_sections(check, args, needed);
    i64 const index_rows = types::index::present ? i64(args.index_q.heads) + args.index_k.heads : 0;
    i64 const rows       = i64(args.q.heads) + i64(args.k.heads) + i64(args.v.heads) + index_rows;
    check.below("q.heads", rows, i64(1) << 20);
    check.below("tokens", args.tokens,
                (i64(1) << 31) / (16 * rows + 64)); // any plan's work items fit 31 bits
    if constexpr (types::turns) {
        detail::check_angles(check, args);
    }
    detail::check_caches(check, args);
    if constexpr (Problem::faults::counted) {
        check.pointer("faults", args.faults, sizeof(u32));
    }
    if (check.first.ok()) {
        detail::check_overlaps(check, args);
    }
    return check.first;
}

} // namespace v0
} // namespace kvloom

#endif
