// SPDX-License-Identifier: MIT
// load and store: dense rows between memory and the lanes of a tile.
#pragma once

#include "kvloom/group/row.hpp"
#include "kvloom/layout/view.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// The widest accesses that move `Bytes` bytes: pieces of 16, or one of 8, 4, 2 or 1.
template <int Bytes>
using piece =
    conditional_t<Bytes % 16 == 0, vec<u32, 4>,
                  conditional_t<Bytes % 8 == 0, vec<u32, 2>, conditional_t<Bytes % 4 == 0, u32, u16>>>;

/// How memory is read: as what the kernel before may have written, as what nothing writes, or the latter ahead of
/// dependency().
enum class reading { plain, constant, early };

template <class Unit, reading How, class Wave>
KVLOOM_FN Unit read_unit(Wave wave, void const* from)
{
    if constexpr (How == reading::early) {
        return wave.template load_early<Unit>(from);
    } else if constexpr (How == reading::constant) {
        return wave.template load_constant<Unit>(from);
    } else {
        return wave.template load<Unit>(from);
    }
}

template <int Words, reading How, class Wave>
KVLOOM_FN vec<u32, Words> load_words(Wave wave, void const* from)
{
    using unit          = piece<Words * 4>;
    constexpr int steps = Words * 4 / int(sizeof(unit));
    vec<u32, Words> words;
    KVLOOM_UNROLL
    for (int i = 0; i < steps; ++i) {
        char const* const at = static_cast<char const*>(from) + i * sizeof(unit);
        unit const got       = read_unit<unit, How>(wave, at);
        KVLOOM_UNROLL
        for (int j = 0; j < Words / steps; ++j) {
            words[i * (Words / steps) + j] = got[j];
        }
    }
    return words;
}

template <class Wave, int Words>
KVLOOM_FN void store_words(Wave wave, void* to, vec<u32, Words> const& words)
{
    using unit          = piece<Words * 4>;
    constexpr int steps = Words * 4 / int(sizeof(unit));
    KVLOOM_UNROLL
    for (int i = 0; i < steps; ++i) {
        unit out;
        KVLOOM_UNROLL
        for (int j = 0; j < Words / steps; ++j) {
            out[j] = words[i * (Words / steps) + j];
        }
        wave.store(static_cast<char*>(to) + i * sizeof(unit), out);
    }
}

template <reading How, class Tile, class T, int Dim>
KVLOOM_FN stored_row<remove_const_t<T>, Tile, Dim> fetch_row(Tile tile, row_span<T, Dim> source, bool present)
{
    static_assert(is_tile_v<Tile>, "fetch: the first argument must be a tile");
    using element = remove_const_t<T>;
    stored_row<element, Tile, Dim> stored{};
    KVLOOM_UNROLL
    for (int k = 0; k < stored.parts; ++k) {
        if (present && holds<Dim>(tile, k)) {
            constexpr int words = chunk_size * int(sizeof(T)) / 4;
            T* const at         = source.data + tile.chunk(k) * chunk_size;
            stored.part[k]      = load_words<words, How>(tile.wave, at);
        }
    }
    return stored;
}

} // namespace detail

/// A row's bits, 16 bytes a lane where the element has 16 bits; widen() makes values of them. Where `present`
/// is false nothing is read and the row is zeros. The base must be aligned to 16 bytes. No lane waits for
/// another.
template <class Tile, class T, int Dim>
KVLOOM_FN stored_row<remove_const_t<T>, Tile, Dim> fetch(Tile tile, row_span<T, Dim> source,
                                                         bool present = true)
{
    return detail::fetch_row<detail::reading::plain>(tile, source, present);
}

/// The same for a row that nothing writes while the kernel runs, nor the kernel before it in the stream
/// (weights).
template <class Tile, class T, int Dim>
KVLOOM_FN stored_row<remove_const_t<T>, Tile, Dim> fetch_constant(Tile tile, row_span<T, Dim> source,
                                                                  bool present = true)
{
    return detail::fetch_row<detail::reading::constant>(tile, source, present);
}

/// A row as fp32 values: fetch, then widen.
template <class Tile, class T, int Dim>
KVLOOM_FN row<Tile, Dim> load(Tile tile, row_span<T, Dim> source)
{
    return widen(fetch(tile, source));
}

/// Rounds a row to T (nearest even) and writes it, 16 bytes a lane where T has 16 bits.
template <class Overflow = saturate, class Tile, class T, int Dim>
KVLOOM_FN void store(Tile tile, row_span<T, Dim> target, row<Tile, Dim> const& values)
{
    static_assert(is_tile_v<Tile>, "store: the first argument must be a tile");
    KVLOOM_UNROLL
    for (int k = 0; k < row<Tile, Dim>::parts; ++k) {
        if (holds<Dim>(tile, k)) {
            detail::store_words(tile.wave, target.data + tile.chunk(k) * chunk_size,
                                pack<T, Overflow>(values.part[k]));
        }
    }
}

/// The row's values rounded to T (nearest even), as fp32.
template <class T, class Overflow = saturate, class Tile, int Dim>
KVLOOM_FN row<Tile, Dim> round_to(row<Tile, Dim> const& values)
{
    row<Tile, Dim> rounded;
    KVLOOM_UNROLL
    for (int k = 0; k < row<Tile, Dim>::parts; ++k) {
        rounded.part[k] = unpack<T>(pack<T, Overflow>(values.part[k]));
    }
    return rounded;
}

} // namespace v0
} // namespace kvloom
