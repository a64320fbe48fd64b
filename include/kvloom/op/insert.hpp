// SPDX-License-Identifier: MIT
// insert: one row of one token into a paged cache, whatever its layout and element type.
#pragma once

#include "kvloom/group/row.hpp"
#include "kvloom/layout/view.hpp"
#include "kvloom/op/memory.hpp"
#include "kvloom/op/quantise.hpp"

namespace kvloom {
inline namespace v0 {

/// Writes a row as the token at `where` of head `head`: nothing where the place is not valid.
///
/// A layout whose vectors run along dims takes a chunk a lane in one store (16 bytes of 16-bit elements, 8 of
/// fp8); one whose vectors run along slots takes eight single elements a lane, so that no store touches
/// another token's bytes. Every lane of the tile calls; lanes of one wave may name different places. @cost no
/// communication
template <class Overflow = saturate, class Tile, class Cache, int Dim, class Quantiser = as_it_is>
KVLOOM_FN void insert(Tile tile, Cache const& cache, token_place where, int head,
                      row<Tile, Dim> const& values, Quantiser const& quantiser = {})
{
    static_assert(is_tile_v<Tile>, "insert: the first argument must be a tile");
    static_assert(is_paged_view_v<Cache>, "insert: the second argument must be a paged view");
    static_assert(Cache::layout::dim == Dim, "insert: the row's length is not the cache's head size");
    using element = typename Cache::layout::element;
    if (!where.valid) {
        return;
    }
    KVLOOM_UNROLL
    for (int k = 0; k < row<Tile, Dim>::parts; ++k) {
        if (!holds<Dim>(tile, k)) {
            continue;
        }
        int const first  = tile.chunk(k) * chunk_size;
        auto const words = pack<element, Overflow>(quantiser(values.part[k]));
        if constexpr (Cache::layout::vector_axis == axis::dim && Cache::layout::vector % chunk_size == 0) {
            detail::store_words(tile.wave, cache.address(where, head, first), words);
        } else {
            using bits =
                conditional_t<sizeof(element) == 1, u8, conditional_t<sizeof(element) == 2, u16, u32>>;
            constexpr int words_per_32 = 4 / int(sizeof(element));
            KVLOOM_UNROLL
            for (int i = 0; i < chunk_size; ++i) {
                u32 const word = words[i / words_per_32] >> (i % words_per_32 * 8 * int(sizeof(element)));
                tile.wave.store(cache.address(where, head, first + i), bits(word));
            }
        }
    }
}

} // namespace v0
} // namespace kvloom
