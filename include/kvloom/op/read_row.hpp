// SPDX-License-Identifier: MIT
// fetch and load from a paged cache: one row of one token, whatever the layout and element type.
#pragma once

#include "kvloom/group/row.hpp"
#include "kvloom/layout/view.hpp"
#include "kvloom/op/memory.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// The unsigned integer of as many bits as an element.
template <class T>
using element_bits = conditional_t<sizeof(T) == 1, u8, conditional_t<sizeof(T) == 2, u16, u32>>;

/// Whether a chunk of a row lies together in memory.
template <class Layout>
inline constexpr bool whole_chunks_v = Layout::vector_axis == axis::dim&& Layout::vector % chunk_size == 0;

} // namespace detail

/// The row of the token at `where` and head `head`, as it lies in the cache; widen() makes values of it.
/// Where the place is not valid nothing is read and the row is zeros.
///
/// A layout whose vectors run along dims gives a chunk a lane in one load (16 bytes of 16-bit elements, 8 of
/// fp8); one whose vectors run along slots gives eight single elements a lane. Every lane of the tile calls;
/// lanes of one wave may name different places. @cost no communication
template <class Tile, class Layout, int BlockPages>
KVLOOM_FN stored_row<typename Layout::element, Tile, Layout::dim>
fetch(Tile tile, paged_view<Layout, BlockPages> const& cache, token_place where, int head)
{
    static_assert(is_tile_v<Tile>, "fetch: the first argument must be a tile");
    using element       = typename Layout::element;
    constexpr int words = chunk_size * int(sizeof(element)) / 4;
    stored_row<element, Tile, Layout::dim> stored{};
    KVLOOM_UNROLL
    for (int k = 0; k < stored.parts; ++k) {
        if (!where.valid || !holds<Layout::dim>(tile, k)) {
            continue;
        }
        int const first = tile.chunk(k) * chunk_size;
        if constexpr (detail::whole_chunks_v<Layout>) {
            element const* const at = cache.address(where, head, first);
            stored.part[k]          = detail::load_words<words, detail::reading::plain>(tile.wave, at);
        } else {
            constexpr int each = chunk_size / words;
            KVLOOM_UNROLL
            for (int i = 0; i < chunk_size; ++i) {
                using bits     = detail::element_bits<element>;
                bits const got = tile.wave.template load<bits>(cache.address(where, head, first + i));
                stored.part[k][i / each] |= u32(got) << (i % each * 8 * int(sizeof(element)));
            }
        }
    }
    return stored;
}

/// The same as fp32 values: fetch, then widen. A dequant scale is the caller's to multiply by.
template <class Tile, class Layout, int BlockPages>
KVLOOM_FN row<Tile, Layout::dim> load(Tile tile, paged_view<Layout, BlockPages> const& cache,
                                      token_place where, int head)
{
    return widen(fetch(tile, cache, where, head));
}

} // namespace v0
} // namespace kvloom
