// SPDX-License-Identifier: MIT
// Whether views share memory, for validate() functions: exact for views whose rows, heads and pages interleave.
#pragma once

#include "kvloom/core/status.hpp"
#include "kvloom/layout/view.hpp"

#if !KVLOOM_RTC // host functions: run-time compilers take the functors alone

namespace kvloom {
inline namespace v0 {
namespace detail {

/// The bytes of a view: `row` of them together, repeated along axes, the smallest stride first.
struct strided_bytes
{
    struct axis
    {
        i64 count;
        i64 stride;
    };

    i64 begin      = 0;
    i64 row        = 0; ///< 0: no bytes at all
    int axes       = 0;
    axis repeat[4] = {};

    strided_bytes() = default;
    strided_bytes(void const* data, i64 bytes)
        : begin(static_cast<i64>(reinterpret_cast<usize>(data))), row(bytes)
    {}

    /// Adds an axis, unless it repeats nothing.
    void along(i64 count, i64 stride)
    {
        if (count <= 1 || stride == 0) {
            return;
        }
        int at = axes++;
        for (; at > 0 && repeat[at - 1].stride > stride; --at) {
            repeat[at] = repeat[at - 1];
        }
        repeat[at] = {count, stride};
    }

    /// From the first byte to one past the last, along the innermost `inner` axes.
    i64 extent(int inner) const
    {
        i64 bytes = row;
        for (int i = 0; i < inner; ++i) {
            bytes += (repeat[i].count - 1) * repeat[i].stride;
        }
        return bytes;
    }
};

inline bool operator==(strided_bytes const& a, strided_bytes const& b)
{
    bool same = a.begin == b.begin && a.row == b.row && a.axes == b.axes;
    for (int i = 0; same && i < a.axes; ++i) {
        same = a.repeat[i].count == b.repeat[i].count && a.repeat[i].stride == b.repeat[i].stride;
    }
    return same;
}

/// Whether `b`, which begins `ahead` bytes behind `a`, shares a byte with it, along the innermost axes of each.
/// Of two units that repeat at one stride, two distances bring them together at most; so the answer is exact where
/// units fit the larger stride of the two views, and else `true` if first and last bytes enclose each other.
inline bool share_bytes(strided_bytes const& a, int a_axes, strided_bytes const& b, int b_axes, i64 ahead)
{
    if (a.row == 0 || b.row == 0 || ahead >= a.extent(a_axes) || -ahead >= b.extent(b_axes)) {
        return false;
    }
    i64 const a_stride = a_axes == 0 ? 0 : a.repeat[a_axes - 1].stride;
    i64 const b_stride = b_axes == 0 ? 0 : b.repeat[b_axes - 1].stride;
    i64 const stride   = a_stride > b_stride ? a_stride : b_stride;
    if (stride == 0) {
        return true;
    }
    int const a_inner = a_axes - int(a_stride == stride);
    int const b_inner = b_axes - int(b_stride == stride);
    if (a.extent(a_inner) > stride || b.extent(b_inner) > stride) {
        return true;
    }
    i64 const a_last      = a_inner < a_axes ? a.repeat[a_inner].count - 1 : 0;
    i64 const b_last      = b_inner < b_axes ? b.repeat[b_inner].count - 1 : 0;
    i64 const down        = (ahead % stride + stride) % stride; // in [0, stride)
    i64 const by          = (down - ahead) / stride;            // strides from `ahead` to it
    auto const unit_meets = [&](i64 strides, i64 distance) {
        return strides >= -a_last && strides <= b_last && share_bytes(a, a_inner, b, b_inner, distance);
    };
    return unit_meets(by, down) || unit_meets(by - 1, down - stride);
}

inline bool share_bytes(strided_bytes const& a, strided_bytes const& b)
{
    return share_bytes(a, a.axes, b, b.axes, b.begin - a.begin);
}

/// The bytes of logarithms [rows][heads], rows `stride` of them apart; none where there is no pointer.
inline strided_bytes bytes_of_logarithms(float const* data, i64 rows, int heads, i64 stride)
{
    if (data == nullptr || rows <= 0) {
        return {};
    }
    strided_bytes bytes(data, heads * i64(sizeof(float)));
    bytes.along(rows, stride * i64(sizeof(float)));
    return bytes;
}

template <class T, int Dim, class Heads>
strided_bytes bytes_of(head_rows<T, Dim, Heads> const& rows, int tokens)
{
    i64 const size = sizeof(T);
    if (rows.heads <= 0 || tokens <= 0) {
        return {};
    }
    strided_bytes bytes(rows.data, Dim * size);
    bytes.along(tokens, rows.token_stride * size);
    bytes.along(rows.heads, rows.head_stride * size);
    return bytes;
}

template <class Layout, int BlockPages>
strided_bytes bytes_of(paged_view<Layout, BlockPages> const& cache)
{
    i64 const size = sizeof(typename Layout::element);
    if (cache.heads <= 0 || cache.pages <= 0) {
        return {};
    }
    strided_bytes bytes(cache.data, (strided_tokens_v<Layout> ? Layout::dim : Layout::elements) * size);
    bytes.along(strided_tokens_v<Layout> ? Layout::page_size : 1, cache.token_stride * size);
    bytes.along(cache.heads, cache.head_stride * size);
    bytes.along(BlockPages > 1 && cache.pages > BlockPages ? BlockPages : cache.pages,
                cache.page_stride * size);
    bytes.along(BlockPages > 1 ? (cache.pages + BlockPages - 1) / BlockPages : 1, cache.block_stride * size);
    return bytes;
}

inline strided_bytes bytes_of(scale_view const& scales, i64 pages, int heads, int page_size)
{
    i64 const size = sizeof(float);
    if (pages <= 0 || heads <= 0 || scales.data == nullptr) {
        return {};
    }
    strided_bytes bytes(scales.data, page_size * size);
    bytes.along(heads, scales.head_stride * size);
    bytes.along(pages, scales.page_stride * size);
    return bytes;
}

/// A view that a launch reads or writes, and the names that stand for it in messages.
struct named_bytes
{
    static constexpr int source = -1; ///< only read
    static constexpr int alone  = -2; ///< written, and shares nothing with any view

    strided_bytes bytes;
    char const* data;
    int origin = source; ///< or the number of the view that it is computed from, and which it may be
    char const* token_stride = nullptr;
    i64 stride               = 0; ///< as the argument has it
};

/// Each output shares nothing with any other view, or is the very view that it is computed from.
template <int Count>
status first_overlap(named_bytes const (&views)[Count])
{
    for (int i = 0; i < Count; ++i) {
        named_bytes const& out = views[i];
        for (int j = 0; out.origin != named_bytes::source && j < Count; ++j) {
            named_bytes const& other = views[j];
            bool const later         = other.origin != named_bytes::source && j > i; // will look at this one
            if (i == j || later || !share_bytes(out.bytes, other.bytes)) {
                continue;
            }
            if (j != out.origin || out.bytes.begin != other.bytes.begin) {
                return {fault::overlapping, out.data, 0, 0};
            }
            if (!(out.bytes == other.bytes)) {
                return {fault::overlapping, out.token_stride, out.stride, other.stride};
            }
        }
    }
    return {};
}

} // namespace detail
} // namespace v0
} // namespace kvloom

#endif
