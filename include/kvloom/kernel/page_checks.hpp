// SPDX-License-Identifier: MIT
// Checks of dequant scales and of memory shared between views, for validate() of the kernels that read pages.
#pragma once

#include "kvloom/kernel/checks.hpp"
#include "kvloom/kernel/page_rows.hpp"

#if !KVLOOM_RTC // host functions: run-time compilers take the functors alone

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Scales of any kind of a cache of `pages` pages of `page_size` tokens.
template <class Scale>
void check_page_scale(checks& check, [[maybe_unused]] Scale const& scale, [[maybe_unused]] int pages,
                      [[maybe_unused]] int heads, [[maybe_unused]] int page_size,
                      [[maybe_unused]] scale_names const& names)
{
    if constexpr (is_same_v<Scale, scale_view>) {
        check_scales(check, scale, pages, heads, page_size, names);
    } else if constexpr (!is_same_v<Scale, no_scale>) {
        check.pointer(names.data, scale.data, sizeof(float));
    }
}

/// The bytes of a view: `period` apart from one outermost unit to the next, each unit `inner` bytes, `total`
/// in all.
struct byte_extent
{
    i64 begin  = 0;
    i64 inner  = 0;
    i64 period = 0;
    i64 total  = 0;
};

inline i64 address_of(void const* p)
{
    return static_cast<i64>(reinterpret_cast<usize>(p));
}

template <class Layout, int BlockPages>
byte_extent extent_of(paged_view<Layout, BlockPages> const& cache)
{
    if (cache.pages <= 0 || cache.heads <= 0) {
        return {};
    }
    constexpr bool strided = strided_tokens_v<Layout>;
    i64 const bytes        = sizeof(typename Layout::element);
    i64 const in_block     = BlockPages < cache.pages ? BlockPages : cache.pages;
    i64 const blocks       = (cache.pages + in_block - 1) / in_block;
    i64 const span =
        strided ? (Layout::page_size - 1) * cache.token_stride + Layout::dim : i64(Layout::elements);
    i64 const inner = span + (cache.heads - 1) * cache.head_stride
                      + (BlockPages > 1 ? in_block - 1 : 0) * cache.page_stride;
    i64 const period = BlockPages > 1 ? cache.block_stride : cache.page_stride;
    return {address_of(cache.data), inner * bytes, period * bytes, ((blocks - 1) * period + inner) * bytes};
}

template <class T, int Dim, class Heads>
byte_extent extent_of(head_rows<T, Dim, Heads> const& rows, int tokens)
{
    i64 const inner = extent(1, 0, rows.heads, rows.head_stride, Dim);
    i64 const total = extent(tokens, rows.token_stride, rows.heads, rows.head_stride, Dim);
    return {address_of(rows.data), inner * i64(sizeof(T)), rows.token_stride * i64(sizeof(T)),
            total * i64(sizeof(T))};
}

/// Whether two extents share a byte: exact where both have one period that holds their units, else by first
/// and last.
inline bool share_bytes(byte_extent const& a, byte_extent const& b)
{
    i64 const ahead = b.begin - a.begin;
    if (a.total == 0 || b.total == 0 || ahead >= a.total || -ahead >= b.total) {
        return false;
    }
    i64 const period = a.period;
    if (period != b.period || a.inner > period || b.inner > period) {
        return true;
    }
    i64 const offset = (ahead % period + period) % period;
    return offset < a.inner || offset + b.inner > period;
}

/// A launch of `items` items, `a_block` of them for a block in one turn; beyond a million blocks they take
/// turns.
template <class Stream, class Kernel, class Work>
status start_pages(Stream const& stream, Kernel kernel, Work const& work, i64 items, i64 a_block)
{
    i64 const blocks = (items + a_block - 1) / a_block;
    i64 const most   = i64(1) << 20;
    return launch(stream, kernel, work, blocks < most ? blocks : most);
}

} // namespace detail
} // namespace v0
} // namespace kvloom

#endif
