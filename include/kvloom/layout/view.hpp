// SPDX-License-Identifier: MIT
// Views: dense rows of tokens and heads, vectors of one row, and paged caches. A view is passed by value to a
// kernel.
#pragma once

#include "kvloom/core/types.hpp"
#include "kvloom/layout/page_table.hpp"
#include "kvloom/layout/span.hpp"

namespace kvloom {
inline namespace v0 {

/// One row of `Dim` neighbouring elements.
template <class T, int Dim>
struct row_span
{
    T* data = nullptr;
};

/// How the heads of a token lie: one after the other, a distance that the compiler knows, or as the view
/// says.
struct dense_heads
{};
struct strided_heads
{};

/// Rows of `Dim` elements, one for each token and head; strides in elements. With dense_heads `head_stride`
/// must be `Dim`.
template <class T, int Dim, class Heads = strided_heads>
struct head_rows
{
    using element            = T;
    static constexpr int dim = Dim;

    T* data          = nullptr;
    int heads        = 0;
    i64 token_stride = 0;
    i64 head_stride  = Dim; ///< with dense_heads always Dim

    /// Elements from a head to the one `heads` further on.
    KVLOOM_FN i64 ahead(int heads) const
    {
        if constexpr (is_same_v<Heads, dense_heads>) {
            return heads * Dim;
        } else {
            return heads * head_stride;
        }
    }

    /// The row of a token and a head, neither of them negative.
    KVLOOM_FN row_span<T, Dim> row(int token, int head) const
    {
        return {data + u64(u32(token)) * u64(token_stride) + ahead(head)};
    }
};

/// The place of a token in a paged cache. Not valid: nothing is stored.
struct token_place
{
    i64 page   = 0;
    int slot   = 0;
    bool valid = false;
};

/// A paged cache: spans of `Layout`, one for each page and head; strides in elements, each a multiple of 16
/// bytes.
///
/// Pages lie `page_stride` apart. With BlockPages above 1 only the pages of a block do, and blocks lie
/// `block_stride` apart (packed caches: 8 pages of K, then 8 of V, then the next block); slots and page ids
/// count through all blocks as if they were dense.
template <class Layout, int BlockPages = 1>
struct paged_view
{
    static_assert(BlockPages > 0, "paged_view: a block must have at least one page");

    using layout                     = Layout;
    using element                    = typename Layout::element;
    static constexpr int block_pages = BlockPages;

    element* data    = nullptr;
    int pages        = 0;
    int heads        = 0;
    i64 page_stride  = 0;
    i64 head_stride  = Layout::elements;
    i64 token_stride = Layout::dim; ///< used by layouts whose tokens are strided
    i64 block_stride = 0;           ///< used where BlockPages is above 1

    /// First element of the span of (page, head).
    KVLOOM_FN element* span(i64 page, int head) const
    {
        return data + page_offset(page) + head * head_stride; // signed: in a loop over heads one addition
    }

    /// Elements from the first page to page `page`.
    KVLOOM_FN i64 page_offset(i64 page) const
    {
        u64 const all = u64(page);
        if constexpr (BlockPages == 1) {
            return i64(all * u64(page_stride));
        } else {
            u64 const block = all / BlockPages;
            return i64(block * u64(block_stride) + (all - block * BlockPages) * u64(page_stride));
        }
    }

    /// Elements from the start of a span to element `dim` of the token in `slot`.
    KVLOOM_FN i64 within_span(int slot, int dim) const
    {
        if constexpr (strided_tokens_v<Layout>) {
            return i64(u64(slot) * u64(token_stride) + u64(dim));
        } else {
            return Layout::offset(slot, dim);
        }
    }

    /// Elements from `data` to element `dim` of the token at `place` in head 0: what all heads share of an address.
    KVLOOM_FN i64 offset(token_place place, int dim) const
    {
        return i64(u64(page_offset(place.page)) + u64(within_span(place.slot, dim)));
    }

    /// Elements from head 0 to head `head`, which is not negative.
    KVLOOM_FN i64 head_offset(int head) const { return i64(u64(u32(head)) * u64(head_stride)); }

    /// Address of element `dim` of the token at `place`. The head comes last: what is before it is the same for all heads.
    /// Where a place is met for one head alone, span() plus within_span() take fewer registers.
    KVLOOM_FN element* address(token_place place, int head, int dim) const
    {
        return data + offset(place, dim) + head * head_stride; // signed, as in span()
    }
};

template <class T>
inline constexpr bool is_paged_view_v = false;
template <class Layout, int BlockPages>
inline constexpr bool is_paged_view_v<paged_view<Layout, BlockPages>> = true;

/// Where slot `slot` lies in `cache`. A negative slot, or one beyond the last page, has no place.
template <class Layout, int BlockPages, class Slot>
KVLOOM_FN token_place place(paged_view<Layout, BlockPages> const& cache, Slot slot)
{
    static_assert(is_index_v<Slot>, "place: a slot must be a signed integer of 32 or 64 bits");
    constexpr int size = Layout::page_size;
    u64 const wide     = u64(i64(slot)); // a negative slot lies beyond every page
    bool const valid   = wide < u64(cache.pages) * size;
    return {i64(wide / size), int(wide % size), valid};
}

/// One number for each stored row, the dequant scale of a token and head: element
/// page * page_stride + head * head_stride + slot in the page.
struct scale_view
{
    float* data     = nullptr;
    i64 page_stride = 0;
    i64 head_stride = 0;

    KVLOOM_FN float* address(token_place place, int head) const
    {
        return data + place.page * page_stride + head * head_stride + place.slot;
    }
};

/// Scales [page][head][slot], AITER's for SHUFFLE pages.
KVLOOM_FN constexpr scale_view page_scales(float* data, int heads, int page_size)
{
    return {data, i64(heads) * page_size, page_size};
}

/// Scales [head][slot] with `slots` slots to a head, AITER's for token rows.
KVLOOM_FN constexpr scale_view head_scales(float* data, int page_size, i64 slots)
{
    return {data, page_size, slots};
}

/// RoPE's table: `rows` positions, each cos of half the rotated dims, then sin of the same.
template <class T>
struct angle_table
{
    using element = T;

    T const* data = nullptr;
    i64 rows      = 0;
    i64 stride    = 0; ///< elements from one position's row to the next
};

} // namespace v0
} // namespace kvloom
