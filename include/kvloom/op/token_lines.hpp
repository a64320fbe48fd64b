// SPDX-License-Identifier: MIT
// Several tokens of one head in a tile, as lines along the layout's vectors, and the turn from slots to dims
// and back.
#pragma once

#include "kvloom/core/math.hpp"
#include "kvloom/op/read_row.hpp"

namespace kvloom {
inline namespace v0 {

/// `Count` lines of stored elements.
///
/// Lines along dims are the rows of `Count` tokens. Lines along slots are eight: part k of line j holds one
/// dim of eight tokens, dim line_dim(tile, k, j).
template <class T, class Tile, int Dim, int Count>
struct stored_lines
{
    static constexpr int count = Count;
    static constexpr int parts = stored_row<T, Tile, Dim>::parts;

    stored_row<T, Tile, Dim> line[Count];
};

/// Which dims a lane's lines along slots hold.
enum class line_order {
    chunk, ///< the eight of its chunk, which a turn to rows needs
    spread ///< every `Tile::size`-th, so that the accesses of neighbouring lanes adjoin
};

/// The dim that part `part` of line `line` along slots holds in this lane.
template <line_order Order, class Tile>
KVLOOM_FN int line_dim(Tile tile, int part, int line)
{
    if constexpr (Order == line_order::chunk) {
        return tile.chunk(part) * chunk_size + line;
    } else {
        return (part * chunk_size + line) * Tile::size + tile.rank();
    }
}

namespace detail {

template <class Tile, class Layout>
KVLOOM_FN constexpr bool fits_lines()
{
    return Layout::vector_axis == axis::slot && Layout::page_size % chunk_size == 0
           && Layout::dim % (chunk_size * Tile::size) == 0;
}

} // namespace detail

/// Eight tokens of a head, of which `where` is the first, at a multiple of eight slots, from a layout whose
/// vectors run along slots: 16 bytes of 16-bit elements a load, 8 of fp8. Where the place is not valid
/// nothing is read and the lines are zeros. Every lane of the tile calls. @cost no communication
template <line_order Order, class Tile, class Layout, int BlockPages>
KVLOOM_FN stored_lines<typename Layout::element, Tile, Layout::dim, chunk_size>
fetch_lines(Tile tile, paged_view<Layout, BlockPages> const& cache, token_place where, int head)
{
    static_assert(detail::fits_lines<Tile, Layout>(),
                  "fetch_lines: the layout's vectors must run along slots, its rows fill the tile");
    using element       = typename Layout::element;
    constexpr int words = chunk_size * int(sizeof(element)) / 4;
    stored_lines<element, Tile, Layout::dim, chunk_size> lines{};
    if (!where.valid) {
        return lines;
    }
    KVLOOM_UNROLL
    for (int k = 0; k < lines.parts; ++k) {
        KVLOOM_UNROLL
        for (int j = 0; j < chunk_size; ++j) {
            element const* const at = cache.address(where, head, line_dim<Order>(tile, k, j));
            lines.line[j].part[k]   = detail::load_words<words, detail::reading::plain>(tile.wave, at);
        }
    }
    return lines;
}

/// Writes what fetch_lines reads.
template <line_order Order, class Tile, class Layout, int BlockPages>
KVLOOM_FN void store_lines(Tile tile, paged_view<Layout, BlockPages> const& cache, token_place where,
                           int head,
                           stored_lines<typename Layout::element, Tile, Layout::dim, chunk_size> const& lines)
{
    static_assert(detail::fits_lines<Tile, Layout>(),
                  "store_lines: the layout's vectors must run along slots, its rows fill the tile");
    if (!where.valid) {
        return;
    }
    KVLOOM_UNROLL
    for (int k = 0; k < lines.parts; ++k) {
        KVLOOM_UNROLL
        for (int j = 0; j < chunk_size; ++j) {
            detail::store_words(tile.wave, cache.address(where, head, line_dim<Order>(tile, k, j)),
                                lines.line[j].part[k]);
        }
    }
}

/// Lines along slots, in the order line_order::chunk, as the rows of the same eight tokens, and back.
/// Elements keep their bits. @cost no communication: 32 instructions a part for 16-bit elements, about 48 for
/// fp8
template <class T, class Tile, int Dim>
KVLOOM_FN stored_lines<T, Tile, Dim, chunk_size>
transposed(stored_lines<T, Tile, Dim, chunk_size> const& lines)
{
    static_assert(sizeof(T) <= 2, "transposed: elements have one or two bytes");
    constexpr int each = 4 / int(sizeof(T));
    stored_lines<T, Tile, Dim, chunk_size> turned;
    KVLOOM_UNROLL
    for (int k = 0; k < lines.parts; ++k) {
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; ++i) {
            KVLOOM_UNROLL
            for (int w = 0; w < chunk_size / each; ++w) {
                auto const word_of = [&](int j) { return lines.line[w * each + j].part[k][i / each]; };
                u32 word           = 0;
                if constexpr (sizeof(T) == 2) {
                    word = i % 2 == 0 ? interleave_low(word_of(0), word_of(1))
                                      : interleave_high(word_of(0), word_of(1));
                } else {
                    KVLOOM_UNROLL
                    for (int j = 0; j < each; ++j) {
                        word |= (word_of(j) >> (i % each * 8) & 0xffU) << (j * 8);
                    }
                }
                turned.line[i].part[k][w] = word;
            }
        }
    }
    return turned;
}

} // namespace v0
} // namespace kvloom
