// SPDX-License-Identifier: MIT
// RoPE's angles: which dims turn together, whose position a frequency follows, and a lane's share of the table.
#pragma once

#include "kvloom/core/math.hpp"
#include "kvloom/group/row.hpp"
#include "kvloom/layout/view.hpp"
#include "kvloom/op/memory.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// What the type of a tile says about its rotation.
template <class Tile>
struct turned
{
    static constexpr int dims  = Tile::rotary::dims;
    static constexpr int half  = dims / 2;
    static constexpr int parts = part_count<(dims + chunk_size - 1) / chunk_size * chunk_size, Tile::size>;

    /// NeoX partners sit in the same place of their chunks.
    static constexpr bool whole_chunks = half % chunk_size == 0;
    static constexpr int half_chunks   = half / chunk_size;
};

} // namespace detail

/// NeoX pairing: dims i and i + R/2 turn together, by frequency i.
struct neox_pairs
{
    static constexpr int frequencies_a_chunk = chunk_size;

    KVLOOM_FN static constexpr int frequency(int dim, int half) { return dim < half ? dim : dim - half; }
    KVLOOM_FN static constexpr bool first(int dim, int half) { return dim < half; }
};

/// GPT-J pairing: dims 2i and 2i + 1 turn together, by frequency i.
struct interleaved_pairs
{
    static constexpr int frequencies_a_chunk = chunk_size / 2;

    KVLOOM_FN static constexpr int frequency(int dim, int) { return dim / 2; }
    KVLOOM_FN static constexpr bool first(int dim, int) { return dim % 2 == 0; }
};

/// Frequencies in three sections one after the other, each with a position of its own (mrope: temporal, height,
/// width).
template <int Temporal, int Height, int Width>
struct sections
{
    static constexpr int count       = 3;
    static constexpr int frequencies = Temporal + Height + Width;

    KVLOOM_FN static constexpr int of(int frequency)
    {
        return frequency < Temporal ? 0 : frequency < Temporal + Height ? 1 : 2;
    }
};

/// The same three kinds of frequencies in turn (Qwen3-VL): of each three the second follows the height, the third
/// the width, as long as there are any.
template <int Temporal, int Height, int Width>
struct interleaved_sections
{
    static constexpr int count       = 3;
    static constexpr int frequencies = Temporal + Height + Width;

    KVLOOM_FN static constexpr int of(int frequency)
    {
        int const place = frequency % 3;
        bool const own  = (place == 1 && frequency < 3 * Height) || (place == 2 && frequency < 3 * Width);
        return own ? place : 0;
    }
};

/// The positions of one token's sections.
template <class Sections>
struct section_positions
{
    i64 of[Sections::count];
};

namespace detail {

KVLOOM_FN constexpr i64 position_of(i64 position, int)
{
    return position;
}
template <class Sections>
KVLOOM_FN constexpr i64 position_of(section_positions<Sections> const& positions, int frequency)
{
    int const section = Sections::of(frequency);
    return section == 0 ? positions.of[0] : section == 1 ? positions.of[1] : positions.of[2];
}

} // namespace detail

/// Whether a chunk's angles are read as vectors: one position, and frequencies that fall into whole vectors.
/// The table's base and stride must then be multiples of 16 bytes.
template <class Pairs, class Positions, int RotaryDims>
inline constexpr bool angles_are_vectors =
    is_same_v<Positions, i64>&& RotaryDims / 2 % Pairs::frequencies_a_chunk == 0;

/// A lane's share of a position's angles: the vectors that lie in the table, or fp32 values read one by one, a
/// pair of them for each dim.
template <class T, class Tile, class Pairs, bool Vectors>
struct stored_angles
{
    static constexpr int parts = detail::turned<Tile>::parts;
    static constexpr int count = Vectors ? Pairs::frequencies_a_chunk : chunk_size;
    using held                 = conditional_t<Vectors, T, float>;
    using words                = vec<u32, count* int(sizeof(held)) / 4>;

    words cosine[parts > 0 ? parts : 1];
    words sine[parts > 0 ? parts : 1];
};

/// A lane's share of a position's angles: factors of the own value and of the partner's, the sine negative in
/// the first dim of a pair.
template <class Tile>
struct angles
{
    static constexpr int parts = detail::turned<Tile>::parts;

    vec<float, chunk_size> cosine[parts > 0 ? parts : 1];
    vec<float, chunk_size> sine[parts > 0 ? parts : 1];
};

namespace detail {

template <class Pairs, reading How, class Tile, class T, class Positions>
KVLOOM_FN auto fetch_angles(Tile tile, angle_table<T> const& table, Positions const& positions)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 2, "fetch_angles: a table holds bf16, fp16 or float");
    using turned           = detail::turned<Tile>;
    constexpr bool vectors = angles_are_vectors<Pairs, Positions, turned::dims>;
    stored_angles<T, Tile, Pairs, vectors> stored{};
    KVLOOM_UNROLL
    for (int k = 0; k < turned::parts; ++k) {
        int const first = tile.chunk(k) * chunk_size;
        if constexpr (vectors) {
            // Lanes beyond the rotated dims read along: to leave them out would cost zeros in their place.
            constexpr int words = stored.count * int(sizeof(T)) / 4;
            int const last      = turned::dims - chunk_size;
            T const* const from = table.data + detail::position_of(positions, 0) * table.stride
                                  + Pairs::frequency(first < last ? first : last, turned::half);
            stored.cosine[k] = load_words<words, How>(tile.wave, from);
            stored.sine[k]   = load_words<words, How>(tile.wave, from + turned::half);
        } else {
            KVLOOM_UNROLL
            for (int i = 0; i < chunk_size; ++i) {
                if (first + i < turned::dims) {
                    using bits          = conditional_t<sizeof(T) == 4, u32, u16>;
                    int const frequency = Pairs::frequency(first + i, turned::half);
                    T const* const from =
                        table.data + detail::position_of(positions, frequency) * table.stride + frequency;
                    bits const cosine   = read_unit<bits, How>(tile.wave, from);
                    bits const sine     = read_unit<bits, How>(tile.wave, from + turned::half);
                    stored.cosine[k][i] = bit_cast<u32>(widen(bit_cast<T>(cosine)));
                    stored.sine[k][i]   = bit_cast<u32>(widen(bit_cast<T>(sine)));
                }
            }
        }
    }
    return stored;
}

} // namespace detail

/// Reads the angles of a position (an i64), or of a token's section_positions; each must lie inside the table.
/// Nothing may write the table while the kernel runs, nor the kernel just before it in the stream. See
/// angles_are_vectors for its alignment.
template <class Pairs = neox_pairs, class Tile, class T, class Positions>
KVLOOM_FN auto fetch_angles(Tile tile, angle_table<T> const& table, Positions const& positions)
{
    return detail::fetch_angles<Pairs, detail::reading::constant>(tile, table, positions);
}

/// The same ahead of dependency(), for a position that is only a guess.
template <class Pairs = neox_pairs, class Tile, class T, class Positions>
KVLOOM_FN auto fetch_angles_early(Tile tile, angle_table<T> const& table, Positions const& positions)
{
    return detail::fetch_angles<Pairs, detail::reading::early>(tile, table, positions);
}

namespace detail {

/// `Count` values of T from packed words.
template <class T, int Count, int Words>
KVLOOM_FN vec<float, Count> unpack_some(vec<u32, Words> const& words)
{
    vec<float, Count> values;
    KVLOOM_UNROLL
    for (int i = 0; i < Count; i += 4 / int(sizeof(T))) {
        if constexpr (sizeof(T) == 4) {
            values[i] = bit_cast<float>(words[i]);
        } else {
            float_pair const pair = widen_pair<T>(words[i / 2]);
            values[i]             = pair.low;
            values[i + 1]         = pair.high;
        }
    }
    return values;
}

} // namespace detail

/// The angles as factors.
template <class T, class Tile, class Pairs, bool Vectors>
KVLOOM_FN angles<Tile> widen(Tile tile, stored_angles<T, Tile, Pairs, Vectors> const& stored)
{
    using turned      = detail::turned<Tile>;
    using kept        = stored_angles<T, Tile, Pairs, Vectors>;
    constexpr int per = chunk_size / kept::count; // dims of a chunk that share a frequency
    // A whole chunk has one sign: on CDNA that of packed words is turned, elsewhere an operand's sign is free.
    constexpr bool of_chunk = is_same_v<Pairs, neox_pairs> && turned::whole_chunks;
    constexpr bool of_words = of_chunk && Tile::wave_type::quad_rows;
    angles<Tile> factors;
    KVLOOM_UNROLL
    for (int k = 0; k < turned::parts; ++k) {
        bool const chunk_first = tile.chunk(k) < turned::half_chunks;
        auto sines             = stored.sine[k];
        if constexpr (of_words) {
            constexpr u32 signs = sizeof(typename kept::held) == 4 ? 0x80000000u : 0x80008000u;
            KVLOOM_UNROLL
            for (int w = 0; w < int(sizeof(sines) / 4); ++w) {
                sines[w] ^= chunk_first ? signs : 0u;
            }
        }
        auto const cosine = detail::unpack_some<typename kept::held, kept::count>(stored.cosine[k]);
        auto const sine   = detail::unpack_some<typename kept::held, kept::count>(sines);
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; ++i) {
            bool const first =
                of_chunk ? chunk_first : Pairs::first(tile.chunk(k) * chunk_size + i, turned::half);
            factors.cosine[k][i] = cosine[i / per];
            factors.sine[k][i]   = first && !of_words ? -sine[i / per] : sine[i / per];
        }
    }
    return factors;
}

/// fetch_angles, then widen.
template <class Pairs = neox_pairs, class Tile, class T, class Positions>
KVLOOM_FN angles<Tile> load_angles(Tile tile, angle_table<T> const& table, Positions const& positions)
{
    if constexpr (is_index_v<Positions>) {
        return widen(tile, fetch_angles<Pairs>(tile, table, i64(positions)));
    } else {
        return widen(tile, fetch_angles<Pairs>(tile, table, positions));
    }
}

} // namespace v0
} // namespace kvloom
