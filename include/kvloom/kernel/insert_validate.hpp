// SPDX-License-Identifier: MIT
// Checks of the fused insert's arguments on the host: the first argument that breaks a rule is named.
#pragma once

#include "kvloom/core/status.hpp"
#include "kvloom/kernel/insert_problem.hpp"

#if !KVLOOM_RTC // host functions: run-time compilers take the functors alone

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Collects the first fault.
struct checks
{
    status first{};

    void report(bool broken, fault code, char const* argument, i64 got, i64 need)
    {
        if (first.ok() && broken) {
            first = {code, argument, got, need};
        }
    }

    void at_least(char const* argument, i64 got, i64 need)
    {
        report(got < need, fault::too_small, argument, got, need);
    }
    void below(char const* argument, i64 got, i64 need)
    {
        report(got >= need, fault::out_of_range, argument, got, need);
    }
    void equal(char const* argument, i64 got, i64 need)
    {
        report(got != need, fault::not_equal, argument, got, need);
    }
    void multiple(char const* argument, i64 got, i64 of)
    {
        report(got % of != 0, fault::misaligned, argument, got, of);
    }

    void pointer(char const* argument, void const* p, int alignment)
    {
        report(p == nullptr, fault::null_pointer, argument, 0, 0);
        multiple(argument, static_cast<i64>(reinterpret_cast<usize>(p)), alignment);
    }

    void stride(char const* argument, i64 elements, int bytes)
    {
        at_least(argument, elements, 0);
        below(argument, elements, i64(1) << 36); // with 2^25 tokens no product leaves 64 bits
        report(elements * bytes % 16 != 0, fault::misaligned, argument, elements, 16 / bytes);
    }
};

/// Names of a view's members, for messages.
struct view_names
{
    char const* data;
    char const* heads;
    char const* token_stride;
    char const* head_stride;
};

template <class T, int Dim, class Heads>
void check_source(checks& check, head_rows<T, Dim, Heads> const& rows, int heads, view_names const& names)
{
    check.at_least(names.heads, rows.heads, heads);
    if (rows.heads > 0) {
        check.pointer(names.data, rows.data, 16);
        check.stride(names.token_stride, rows.token_stride, sizeof(T));
        check.stride(names.head_stride, rows.head_stride, sizeof(T));
        if (is_same_v<Heads, dense_heads>) {
            check.equal(names.head_stride, rows.head_stride, Dim);
        }
    }
}

/// Elements from the first to one past the last of `outer` x `inner` rows.
KVLOOM_FN constexpr i64 extent(i64 tokens, i64 token_stride, i64 heads, i64 head_stride, i64 dim)
{
    return (tokens - 1) * token_stride + (heads - 1) * head_stride + dim;
}

/// Rows that are written must not share elements: heads inside a token, or tokens inside a head.
template <class T, int Dim, class Heads>
void check_target(checks& check, head_rows<T, Dim, Heads> const& rows, int tokens, int heads,
                  view_names const& names)
{
    check.equal(names.heads, rows.heads, heads);
    check_source(check, rows, 0, names);
    if (rows.heads <= 0 || !check.first.ok()) {
        return;
    }
    i64 const token_major = extent(1, 0, heads, rows.head_stride, Dim);
    bool const heads_inner =
        (heads == 1 || rows.head_stride >= Dim) && (tokens == 1 || rows.token_stride >= token_major);
    bool const heads_outer =
        (tokens == 1 || rows.token_stride >= Dim)
        && (heads == 1 || rows.head_stride >= extent(tokens, rows.token_stride, 1, 0, Dim));
    check.report(!heads_inner && !heads_outer, fault::wrong_stride, names.token_stride, rows.token_stride,
                 token_major);
}

/// Whether two views of rows share a byte. Views whose tokens lie equally far apart, with each token's heads
/// inside that distance, are told apart exactly; any others by their first and last byte.
template <class A, class B, int Dim, class Heads>
bool share_bytes(head_rows<A, Dim, Heads> const& a, head_rows<B, Dim, Heads> const& b, int tokens)
{
    if (a.heads <= 0 || b.heads <= 0) {
        return false;
    }
    auto const begin = [](auto const& rows) { return static_cast<i64>(reinterpret_cast<usize>(rows.data)); };
    auto const bytes = [](auto const& rows, int count) {
        return extent(count, rows.token_stride, rows.heads, rows.head_stride, Dim) * i64(sizeof(*rows.data));
    };
    i64 const ahead = begin(b) - begin(a);
    if (ahead >= bytes(a, tokens) || -ahead >= bytes(b, tokens)) {
        return false;
    }
    i64 const stride = a.token_stride * i64(sizeof(A));
    if (tokens == 1 || stride != b.token_stride * i64(sizeof(B)) || bytes(a, 1) > stride
        || bytes(b, 1) > stride) {
        return true;
    }
    i64 const offset = (ahead % stride + stride) % stride;
    return offset < bytes(a, 1) || offset + bytes(b, 1) > stride;
}

/// An output shares nothing with another view.
template <class A, class B, int Dim, class Heads>
void check_apart(checks& check, char const* argument, head_rows<A, Dim, Heads> const& out,
                 head_rows<B, Dim, Heads> const& other, int tokens)
{
    check.report(share_bytes(out, other, tokens), fault::overlapping, argument, 0, 0);
}

/// An output may be the very view it is computed from, or share nothing with it.
template <class A, class B, int Dim, class Heads>
void check_in_place(checks& check, char const* argument, head_rows<A, Dim, Heads> const& out,
                    head_rows<B, Dim, Heads> const& in, int tokens)
{
    bool const same = static_cast<void const*>(out.data) == static_cast<void const*>(in.data)
                      && sizeof(A) == sizeof(B) && (tokens == 1 || out.token_stride == in.token_stride)
                      && (in.heads == 1 || out.head_stride == in.head_stride);
    check.report(!same && share_bytes(out, in, tokens), fault::overlapping, argument, out.token_stride,
                 in.token_stride);
}

struct cache_names
{
    char const* data;
    char const* pages;
    char const* heads;
    char const* page_stride;
    char const* head_stride;
    char const* token_stride;
};

template <class Layout>
void check_cache(checks& check, paged_view<Layout> const& cache, int heads, cache_names const& names)
{
    constexpr int bytes = sizeof(typename Layout::element);
    check.at_least(names.pages, cache.pages, 0);
    check.equal(names.heads, cache.heads, heads);
    if (cache.pages <= 0 || !check.first.ok()) {
        return;
    }
    check.pointer(names.data, cache.data, 16);
    check.stride(names.page_stride, cache.page_stride, bytes);
    check.stride(names.head_stride, cache.head_stride, bytes);
    if (strided_tokens_v<Layout>) {
        check.stride(names.token_stride, cache.token_stride, bytes);
        check.report(Layout::page_size > 1 && cache.token_stride < Layout::dim, fault::wrong_stride,
                     names.token_stride, cache.token_stride, Layout::dim);
    }
    check.below(names.page_stride, cache.page_stride, (i64(1) << 60) / cache.pages);
    if (!check.first.ok()) {
        return;
    }
    // The smallest stride must span what lies inside it, and so on outwards; any of the axes may be inside.
    struct axis_of_rows
    {
        char const* name;
        i64 count;
        i64 stride;
    };
    axis_of_rows axes[3] = {
        {names.token_stride, strided_tokens_v<Layout> ? Layout::page_size : 1, cache.token_stride},
        {names.head_stride, heads, cache.head_stride},
        {names.page_stride, cache.pages, cache.page_stride}};
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2 - i; ++j) {
            if (axes[j].count == 1 || (axes[j + 1].count != 1 && axes[j].stride > axes[j + 1].stride)) {
                auto const swapped = axes[j];
                axes[j]            = axes[j + 1];
                axes[j + 1]        = swapped;
            }
        }
    }
    i64 inside = strided_tokens_v<Layout> ? Layout::dim : Layout::elements;
    for (auto const& axis : axes) {
        check.report(axis.count > 1 && axis.stride < inside, fault::wrong_stride, axis.name, axis.stride,
                     inside);
        inside += (axis.count - 1) * axis.stride;
    }
}

template <class T>
void check_list(checks& check, char const* pointer, T const* data, char const* argument, i64 count)
{
    check.at_least(argument, count, 0);
    if (count > 0) {
        check.pointer(pointer, data, sizeof(T));
    }
}

template <class Problem>
void check_index_branch(checks& check, insert_args<Problem> const& args)
{
    using types = insert_types<Problem>;
    check_source(check, args.index_q, 0,
                 {"index_q.data", "index_q.heads", "index_q.token_stride", "index_q.head_stride"});
    check_source(check, args.index_k, 1,
                 {"index_k.data", "index_k.heads", "index_k.token_stride", "index_k.head_stride"});
    check.equal("index_k.heads", args.index_k.heads, 1);
    check_target(
        check, args.index_q_out, args.tokens, args.index_q.heads,
        {"index_q_out.data", "index_q_out.heads", "index_q_out.token_stride", "index_q_out.head_stride"});
    check_cache(check, args.index_keys, 1,
                {"index_keys.data", "index_keys.pages", "index_keys.heads", "index_keys.page_stride",
                 "index_keys.head_stride", "index_keys.token_stride"});
    check_list(check, "index_slots", args.index_slots, "index_slot_count", args.index_slot_count);
    if constexpr (types::weighted) {
        if (args.index_q.heads > 0) {
            check.pointer("index_q_gain", args.index_q_gain, 16);
        }
        check.pointer("index_k_gain", args.index_k_gain, 16);
    }
    check_in_place(check, "index_q_out.token_stride", args.index_q_out, args.index_q, args.tokens);
    check_apart(check, "index_q_out.data", args.index_q_out, args.index_k, args.tokens);
    check_apart(check, "index_q_out.data", args.index_q_out, args.k, args.tokens);
    check_apart(check, "index_q_out.data", args.index_q_out, args.v, args.tokens);
    check_apart(check, "index_q_out.data", args.index_q_out, args.q, args.tokens);
    check_apart(check, "index_q_out.data", args.index_q_out, args.q_out, args.tokens);
    check_apart(check, "q_out.data", args.q_out, args.index_q, args.tokens);
    check_apart(check, "q_out.data", args.q_out, args.index_k, args.tokens);
}

template <class Problem>
void check_angles(checks& check, insert_args<Problem> const& args)
{
    using types = insert_types<Problem>;
    using angle = typename types::angle;
    check.at_least("angles.rows", args.angles.rows, 1);
    check.at_least("angles.stride", args.angles.stride, types::rotary);
    check.pointer("positions", args.positions, sizeof(typename types::position));
    if (types::rotary / 2 % chunk_size == 0) {
        check.pointer("angles.data", args.angles.data, 16);
        check.stride("angles.stride", args.angles.stride, sizeof(angle));
    } else {
        check.pointer("angles.data", args.angles.data, sizeof(angle));
    }
}

} // namespace detail

/// The first argument of the fused insert that breaks a rule, or none. Looks at no device memory. Zero tokens
/// are always fine.
template <class Problem>
status validate_insert(insert_args<Problem> const& args)
{
    using types = insert_types<Problem>;
    detail::checks check;
    check.at_least("tokens", args.tokens, 0);
    if (args.tokens <= 0) {
        return check.first;
    }
    int const kv_heads = args.k.heads;
    if constexpr (!is_same_v<typename Problem::norm, no_norm>) {
        bool const fine = args.eps > 0.0F && args.eps <= numeric<float>::largest;
        check.report(!fine, fault::not_positive, "eps", 0, 0);
    }
    detail::check_source(check, args.q, 1, {"q.data", "q.heads", "q.token_stride", "q.head_stride"});
    detail::check_source(check, args.k, 1, {"k.data", "k.heads", "k.token_stride", "k.head_stride"});
    detail::check_source(check, args.v, 1, {"v.data", "v.heads", "v.token_stride", "v.head_stride"});
    check.equal("v.heads", args.v.heads, kv_heads);
    if (types::index::present) {
        check.at_least("index_q.heads", args.index_q.heads, 0);
    }
    i64 const rows =
        i64(args.q.heads) + 2 * i64(kv_heads) + (types::index::present ? i64(args.index_q.heads) + 1 : 0);
    check.below("q.heads", rows, i64(1) << 20);
    check.below("tokens", args.tokens, (i64(1) << 31) / (4 * rows + 64)); // any plan's work items fit 31 bits
    detail::check_target(check, args.q_out, args.tokens, args.q.heads,
                         {"q_out.data", "q_out.heads", "q_out.token_stride", "q_out.head_stride"});
    if constexpr (types::weighted) {
        check.pointer("q_gain", args.q_gain, 16);
        check.pointer("k_gain", args.k_gain, 16);
    }
    if constexpr (types::turns) {
        detail::check_angles(check, args);
    }
    detail::check_list(check, "slots", args.slots, "slot_count", args.slot_count);
    detail::check_cache(check, args.keys, kv_heads,
                        {"keys.data", "keys.pages", "keys.heads", "keys.page_stride", "keys.head_stride",
                         "keys.token_stride"});
    detail::check_cache(check, args.values, kv_heads,
                        {"values.data", "values.pages", "values.heads", "values.page_stride",
                         "values.head_stride", "values.token_stride"});
    if constexpr (types::scaling::reads_scale) {
        check.pointer("key_scale", args.key_scale, sizeof(float));
        check.pointer("value_scale", args.value_scale, sizeof(float));
    }
    if (!check.first.ok()) {
        return check.first;
    }
    detail::check_in_place(check, "q_out.token_stride", args.q_out, args.q, args.tokens);
    detail::check_apart(check, "q_out.data", args.q_out, args.k, args.tokens);
    detail::check_apart(check, "q_out.data", args.q_out, args.v, args.tokens);
    if constexpr (types::index::present) {
        detail::check_index_branch(check, args);
    }
    return check.first;
}

} // namespace v0
} // namespace kvloom

#endif
