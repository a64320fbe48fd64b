// SPDX-License-Identifier: MIT
// Fragments: what one lane of a tile holds of a row, as fp32 values or as the bits that were loaded.
#pragma once

#include "kvloom/core/convert.hpp"
#include "kvloom/core/vec.hpp"
#include "kvloom/group/tile.hpp"

namespace kvloom {
inline namespace v0 {

/// A chunk of T as packed words: four for 16-bit types, two for fp8, eight for float.
template <class T>
using chunk_words = vec<u32, chunk_size* int(sizeof(T)) / 4>;

/// Chunks of a row of `Dim` elements, and the parts in which a tile of `Lanes` lanes holds them.
template <int Dim>
inline constexpr int chunk_count = Dim / chunk_size;
template <int Dim, int Lanes>
inline constexpr int part_count = (chunk_count<Dim> + Lanes - 1) / Lanes;

/// A lane's share of a row of `Dim` fp32 values. Chunks beyond the row hold zeros.
template <class Tile, int Dim>
struct row
{
    static_assert(Dim % chunk_size == 0, "row: the number of elements must be a multiple of 8");

    static constexpr int dim   = Dim;
    static constexpr int parts = part_count<Dim, Tile::size>;

    vec<float, chunk_size> part[parts];
};

/// `Count` rows.
template <class Tile, int Dim, int Count>
struct rows
{
    row<Tile, Dim> item[Count];

    KVLOOM_FN row<Tile, Dim>& operator[](int i) { return item[i]; }
    KVLOOM_FN row<Tile, Dim> const& operator[](int i) const { return item[i]; }
};

/// A lane's share of a row of `Dim` elements as they lie in memory: half the registers of a `row` while a
/// load is in flight.
template <class T, class Tile, int Dim>
struct stored_row
{
    static constexpr int parts = row<Tile, Dim>::parts;

    chunk_words<T> part[parts];
};

/// Whether part `part` of this lane lies inside a row of `Dim` elements; known at compile time where the tile
/// is filled.
template <int Dim, class Tile>
KVLOOM_FN bool holds(Tile tile, int part)
{
    if constexpr (chunk_count<Dim> % Tile::size == 0) {
        return true;
    } else {
        return tile.chunk(part) < chunk_count<Dim>;
    }
}

/// The eight values of a chunk.
template <class T>
KVLOOM_FN vec<float, chunk_size> unpack(chunk_words<T> const& words)
{
    vec<float, chunk_size> values;
    if constexpr (sizeof(T) == 4) {
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; ++i) {
            values[i] = bit_cast<float>(words[i]);
        }
    } else {
        constexpr int elements = 4 / int(sizeof(T));
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; i += elements) {
            auto const some = detail::widen_word<T>(words[i / elements]);
            KVLOOM_UNROLL
            for (int j = 0; j < elements; ++j) {
                values[i + j] = some[j];
            }
        }
    }
    return values;
}

/// The chunk's values rounded to T, as words.
template <class T, class Overflow = saturate>
KVLOOM_FN chunk_words<T> pack(vec<float, chunk_size> const& values)
{
    if constexpr (sizeof(T) == 4) {
        return bit_cast<chunk_words<T>>(values);
    } else {
        return detail::narrow_words<T, Overflow>(values);
    }
}

/// The same without a branch, each value asked for NaN by itself: for who converts many chunks in a row and is short of
/// registers.
template <class T, class Overflow = saturate>
KVLOOM_FN chunk_words<T> pack_each(vec<float, chunk_size> const& values)
{
    if constexpr (sizeof(T) == 4) {
        return bit_cast<chunk_words<T>>(values);
    } else {
        return detail::narrow_words<T, Overflow, detail::values::any>(values);
    }
}

/// A stored row as fp32 values.
template <class T, class Tile, int Dim>
KVLOOM_FN row<Tile, Dim> widen(stored_row<T, Tile, Dim> const& stored)
{
    row<Tile, Dim> values;
    KVLOOM_UNROLL
    for (int k = 0; k < row<Tile, Dim>::parts; ++k) {
        values.part[k] = unpack<T>(stored.part[k]);
    }
    return values;
}

/// A row rounded to T (nearest even), as it would lie in memory.
template <class T, class Tile, int Dim>
KVLOOM_FN stored_row<T, Tile, Dim> narrowed(row<Tile, Dim> const& values)
{
    stored_row<T, Tile, Dim> stored;
    KVLOOM_UNROLL
    for (int k = 0; k < row<Tile, Dim>::parts; ++k) {
        stored.part[k] = pack<T>(values.part[k]);
    }
    return stored;
}

namespace detail {

/// A stored row after `change` of each of its words.
template <class T, class Tile, int Dim, class Change>
KVLOOM_FN void change_words(stored_row<T, Tile, Dim>& stored, Change const& change)
{
    KVLOOM_UNROLL
    for (int k = 0; k < stored.parts; ++k) {
        stored.part[k] = with_each_word(stored.part[k], change);
    }
}

} // namespace detail

/// Says that a stored row will be widened anew at its next use. Without it a compiler keeps the fp32 values
/// of the first use alive, twice the registers of the words. Changes no value.
template <class T, class Tile, int Dim>
KVLOOM_FN void forget_widened(Tile tile, stored_row<T, Tile, Dim>& stored)
{
    detail::change_words(stored, [&](u32 word) {
        tile.wave.forget(word);
        return word;
    });
}

/// Says that a stored row is worked out here: the compiler may not do it elsewhere. Changes no value.
template <class T, class Tile, int Dim>
KVLOOM_FN void hold(Tile tile, stored_row<T, Tile, Dim>& stored)
{
    detail::change_words(stored, [&](u32 word) {
        tile.wave.hold(word);
        return word;
    });
}

} // namespace v0
} // namespace kvloom
