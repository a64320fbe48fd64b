// SPDX-License-Identifier: MIT
// Checks of a kernel's arguments on the host, from which validate() functions are made: the first argument that
// breaks a rule is named.
#pragma once

#include "kvloom/core/status.hpp"
#include "kvloom/layout/view.hpp"

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

/// Logarithms [rows][heads], rows `stride` of them apart.
inline void check_logarithms(checks& check, float const* data, i64 stride, int heads, char const* data_name,
                             char const* stride_name)
{
    check.pointer(data_name, data, sizeof(float));
    check.at_least(stride_name, stride, heads);
    check.below(stride_name, stride, i64(1) << 36);
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

/// One axis of rows in memory.
struct axis_of_rows
{
    char const* name;
    i64 count;
    i64 stride;
};

/// The smallest stride must span the `inside` elements that lie inside it, and so on outwards; any of the axes may
/// be inside.
template <int Count>
void check_axes(checks& check, axis_of_rows (&axes)[Count], i64 inside)
{
    for (int i = 0; i < Count - 1; ++i) {
        for (int j = 0; j < Count - 1 - i; ++j) {
            if (axes[j].count == 1 || (axes[j + 1].count != 1 && axes[j].stride > axes[j + 1].stride)) {
                auto const swapped = axes[j];
                axes[j]            = axes[j + 1];
                axes[j + 1]        = swapped;
            }
        }
    }
    for (auto const& axis : axes) {
        check.report(axis.count > 1 && axis.stride < inside, fault::wrong_stride, axis.name, axis.stride,
                     inside);
        inside += (axis.count - 1) * axis.stride;
    }
}

struct cache_names
{
    char const* data;
    char const* pages;
    char const* heads;
    char const* page_stride;
    char const* head_stride;
    char const* token_stride;
    char const* block_stride;
};

/// Pages, heads, base and strides of a paged cache: spans, tokens, pages and blocks must not run into each
/// other, in whatever order they are nested.
template <class Layout, int BlockPages>
void check_cache(checks& check, paged_view<Layout, BlockPages> const& cache, int heads,
                 cache_names const& names)
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
    if (BlockPages > 1) {
        check.stride(names.block_stride, cache.block_stride, bytes);
        check.below(names.block_stride, cache.block_stride, (i64(1) << 60) / cache.pages);
    }
    check.below(names.page_stride, cache.page_stride, (i64(1) << 60) / cache.pages);
    if (!check.first.ok()) {
        return;
    }
    axis_of_rows axes[] = {
        {names.token_stride, strided_tokens_v<Layout> ? Layout::page_size : 1, cache.token_stride},
        {names.head_stride, heads, cache.head_stride},
        {names.page_stride, BlockPages > 1 && cache.pages > BlockPages ? BlockPages : cache.pages,
         cache.page_stride},
        {names.block_stride, BlockPages > 1 ? (cache.pages + BlockPages - 1) / BlockPages : 1,
         cache.block_stride}};
    check_axes(check, axes, strided_tokens_v<Layout> ? Layout::dim : Layout::elements);
}

/// Names of a scale view's members.
struct scale_names
{
    char const* data;
    char const* page_stride;
    char const* head_stride;
};

/// One number for each slot of each page and head.
inline void check_scales(checks& check, scale_view const& scales, i64 pages, int heads, int page_size,
                         scale_names const& names)
{
    check.pointer(names.data, scales.data, sizeof(float));
    check.at_least(names.page_stride, scales.page_stride, 0);
    check.below(names.page_stride, scales.page_stride, i64(1) << 32);
    check.at_least(names.head_stride, scales.head_stride, 0);
    check.below(names.head_stride, scales.head_stride, i64(1) << 40);
    if (check.first.ok()) {
        axis_of_rows axes[] = {{names.page_stride, pages, scales.page_stride},
                               {names.head_stride, heads, scales.head_stride}};
        check_axes(check, axes, page_size);
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

/// The launch of the stream's backend, out of sight of members of that name.
template <class Stream, class Kernel, class Args>
status start_kernel(Stream const& stream, Kernel kernel, Args const& args, i64 blocks)
{
    return launch(stream, kernel, args, blocks);
}

} // namespace detail
} // namespace v0
} // namespace kvloom

#endif
