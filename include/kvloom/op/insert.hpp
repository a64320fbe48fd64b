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
    using element       = typename Cache::layout::element;
    constexpr int parts = row<Tile, Dim>::parts;
    // Ahead of the question, so that the rows of one token share it; a number, since no pointer may lie there.
    vec<usize, parts> at;
    KVLOOM_UNROLL
    for (int k = 0; k < parts; ++k) {
        usize const offset = usize(cache.offset(where, tile.chunk(k) * chunk_size));
        at[k]              = reinterpret_cast<usize>(cache.data) + offset * sizeof(element);
    }
    if (!where.valid) {
        return;
    }
    KVLOOM_UNROLL
    for (int k = 0; k < parts; ++k) {
        if (!holds<Dim>(tile, k)) {
            continue;
        }
        auto const words = pack_by<element, Overflow>(quantiser, values.part[k]);
        if constexpr (Cache::layout::vector_axis == axis::dim && Cache::layout::vector % chunk_size == 0) {
            usize const address = at[k] + usize(cache.head_offset(head)) * sizeof(element);
            detail::store_words(tile.wave, reinterpret_cast<element*>(address), words);
        } else {
            using bits =
                conditional_t<sizeof(element) == 1, u8, conditional_t<sizeof(element) == 2, u16, u32>>;
            constexpr int words_per_32 = 4 / int(sizeof(element));
            KVLOOM_UNROLL
            for (int i = 0; i < chunk_size; ++i) {
                u32 const word = words[i / words_per_32] >> (i % words_per_32 * 8 * int(sizeof(element)));
                tile.wave.store(cache.address(where, head, tile.chunk(k) * chunk_size + i), bits(word));
            }
        }
    }
}

} // namespace v0
} // namespace kvloom
