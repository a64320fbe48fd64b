// SPDX-License-Identifier: MIT
// What copy_pages computes: its problem type and its arguments.
#pragma once

#include "kvloom/kernel/page_rows.hpp"

namespace kvloom {
inline namespace v0 {

/// Defaults of a problem. A user's problem derives from this and overrides what differs; a new member breaks
/// nobody.
struct copy_pages_problem
{
    using source       = token_rows<bf16, 128>; ///< layout of a page of the source, with its element type
    using target       = token_rows<bf16, 128>; ///< the same of the target: same page size and head size
    using id           = int;                   ///< of page ids: signed, 32 or 64 bits
    using overflow     = saturate;              ///< of fp8 targets
    using source_scale = no_scale;              ///< no_scale, cache_scale, head_scale or scale_view
    using target_scale = no_scale;              ///< the same; the numbers of a scale_view are written

    static constexpr int source_block_pages = 1; ///< pages of a block, as in paged_view
    static constexpr int target_block_pages = 1;
};

/// The types that follow from a problem.
template <class Problem>
struct copy_pages_types
{
    using source       = typename Problem::source;
    using target       = typename Problem::target;
    using id           = typename Problem::id;
    using source_scale = typename Problem::source_scale;
    using target_scale = typename Problem::target_scale;
    using source_view  = paged_view<source, Problem::source_block_pages>;
    using target_view  = paged_view<target, Problem::target_block_pages>;
    using from         = typename source::element;
    using to           = typename target::element;

    static constexpr int dim       = source::dim;
    static constexpr int page_size = source::page_size;
    static constexpr bool same     = is_same_v<from, to>;

    /// A scale for each token and head on both sides of one element type: the numbers are copied as they are.
    static constexpr bool moves_scales =
        same && is_same_v<source_scale, scale_view> && is_same_v<target_scale, scale_view>;
    static constexpr bool finds_scales = is_same_v<target_scale, scale_view> && !moves_scales;

    /// Elements are copied as they are, bits of NaN too.
    static constexpr bool moves_bits =
        moves_scales || (same && is_same_v<source_scale, no_scale> && is_same_v<target_scale, no_scale>);
    /// Whole 16-byte vectors are copied as they are.
    static constexpr bool moves_vectors = moves_bits && source::vector_axis == target::vector_axis;

    static_assert(page_size == target::page_size,
                  "copy_pages: both caches must have pages of the same number of tokens");
    static_assert(dim == target::dim, "copy_pages: both caches must have the same head size");
    static_assert(is_page_dim_v<dim>, "copy_pages: the head size must be 64, 128, 256 or 512");
    static_assert(page_size <= 1024, "copy_pages: a page must have at most 1024 tokens");
    static_assert(is_cache_element_v<from> && is_cache_element_v<to>,
                  "copy_pages: caches hold bf16, fp16, fp8_e4m3 or fp8_e4m3_fnuz");
    static_assert(is_index_v<id>, "copy_pages: page ids are signed integers of 32 or 64 bits");
    static_assert(is_page_scale_v<source_scale> && is_page_scale_v<target_scale>,
                  "copy_pages: scales are no_scale, cache_scale, head_scale or scale_view");
    static_assert(!finds_scales || sizeof(to) == 1,
                  "copy_pages: only scales of fp8 targets can be found from rows");
};

/// Arguments. Strides are in elements; bases and strides of the caches are multiples of 16 bytes. Pointers
/// are to device memory. The caches must have equally many heads and must not overlap each other; no page may
/// be a target twice.
///
/// Page `source_ids[i]` is copied to page `target_ids[i]`. A pair of which one id is negative or beyond its
/// cache is skipped. Values are stored numbers times the source's dequant scale, rounded to fp32; what is
/// stored is value / dequant scale of the target, rounded to fp32 and then to the target's type. A given
/// target scale of zero, infinity or NaN counts as one.
///
/// A scale for each token and head is copied with the numbers where both sides have one and hold the same
/// type. Any other that the target has is found from the row, largest magnitude / largest number of the type,
/// and written: NaN does not count, an infinity counts as the largest finite number, and the scale of a row
/// of zeros is 1.
template <class Problem>
struct copy_pages_args
{
    using types = copy_pages_types<Problem>;

    typename types::source_view source;
    typename types::target_view target;
    typename types::id const* source_ids = nullptr; ///< [count]
    typename types::id const* target_ids = nullptr; ///< [count]
    int count                            = 0;
    typename types::source_scale source_scale;
    typename types::target_scale target_scale;
};

} // namespace v0
} // namespace kvloom
