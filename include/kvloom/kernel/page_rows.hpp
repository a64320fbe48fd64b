// SPDX-License-Identifier: MIT
// What kernels that read whole pages have in common: kinds of dequant scales, several tokens of a page in a
// tile, and their conversion between element types.
#pragma once

#include "kvloom/core/fp16.hpp"
#include "kvloom/core/fp8.hpp"
#include "kvloom/group/algorithm.hpp"
#include "kvloom/op/token_lines.hpp"

namespace kvloom {
inline namespace v0 {

/// The dequant scales of a cache: value = stored number * scale. A scale for each token and head is a
/// scale_view.
struct no_scale ///< the stored numbers are the values
{};
struct cache_scale ///< one for the whole cache, in device memory
{
    float const* data = nullptr;
};
struct head_scale ///< one for each head, in device memory
{
    float const* data = nullptr; ///< [heads]
};

/// Whether a type is one of them.
template <class Scale>
inline constexpr bool is_page_scale_v = false;
template <>
inline constexpr bool is_page_scale_v<no_scale> = true;
template <>
inline constexpr bool is_page_scale_v<cache_scale> = true;
template <>
inline constexpr bool is_page_scale_v<head_scale> = true;
template <>
inline constexpr bool is_page_scale_v<scale_view> = true;

/// Whether a kernel that reads pages takes a head size.
template <int Dim>
inline constexpr bool is_page_dim_v = Dim == 64 || Dim == 128 || Dim == 256 || Dim == 512;

namespace detail {

/// Lanes of the tile that holds rows of `Dim` elements: a chunk a lane, on machines of every width.
template <int Dim>
inline constexpr int page_lanes = Dim / chunk_size < 32 ? Dim / chunk_size : 32;

/// A page id. 64 bits, so that none is folded onto a page that exists.
template <class Wave, class Id>
KVLOOM_FN i64 load_page_id(Wave wave, Id const* from)
{
    using bits = conditional_t<sizeof(Id) == 8, u64, u32>;
    return bit_cast<Id>(wave.template load<bits>(from));
}

/// The dequant scale of a token and head; 1 where there is none.
template <class Wave, class Scale>
KVLOOM_FN float scale_at([[maybe_unused]] Wave wave, [[maybe_unused]] Scale const& scale,
                         [[maybe_unused]] token_place where, [[maybe_unused]] int head)
{
    static_assert(is_page_scale_v<Scale>,
                  "scale_at: scales are no_scale, cache_scale, head_scale or scale_view");
    if constexpr (is_same_v<Scale, no_scale>) {
        return 1.0F;
    } else {
        float const* from = scale.data;
        if constexpr (is_same_v<Scale, head_scale>) {
            from += head;
        } else if constexpr (is_same_v<Scale, scale_view>) {
            from = scale.address(where, head);
        }
        return bit_cast<float>(wave.template load<u32>(from));
    }
}

/// A scale to divide by: zero, infinity and NaN count as one, as they do where rows are inserted.
KVLOOM_FN float page_divisor(float scale)
{
    float const size = magnitude(scale);
    return size > 0.0F && size <= numeric<float>::largest ? scale : 1.0F;
}

/// Where the tokens lie that a tile takes together.
template <int Tokens>
struct token_places
{
    token_place at[Tokens];
};

/// One number for each of these tokens.
template <int Tokens>
using token_numbers = vec<float, Tokens>;

template <class Scale, class Wave, int Tokens>
KVLOOM_FN token_numbers<Tokens> scales_at(Wave wave, Scale const& scale, token_places<Tokens> const& places,
                                          int head)
{
    token_numbers<Tokens> numbers;
    KVLOOM_UNROLL
    for (int i = 0; i < Tokens; ++i) {
        numbers[i] = places.at[i].valid ? scale_at(wave, scale, places.at[i], head) : 1.0F;
    }
    return numbers;
}

/// The order of lines along slots that are read along `From` and written along `To`.
template <axis From, axis To>
inline constexpr line_order order_between = From == To ? line_order::spread : line_order::chunk;

/// The tokens at `places` as lines along `To`. From a layout whose vectors run along slots the tokens are
/// eight neighbours, and the first place stands for all.
template <axis To, class Tile, class Layout, int BlockPages, int Tokens>
KVLOOM_FN auto fetch_tokens(Tile tile, paged_view<Layout, BlockPages> const& cache,
                            token_places<Tokens> const& places, int head)
{
    constexpr axis from = Layout::vector_axis;
    if constexpr (from == axis::dim) {
        stored_lines<typename Layout::element, Tile, Layout::dim, Tokens> rows;
        KVLOOM_UNROLL
        for (int i = 0; i < Tokens; ++i) {
            rows.line[i] = fetch(tile, cache, places.at[i], head);
        }
        if constexpr (To == axis::dim) {
            return rows;
        } else {
            return transposed(rows);
        }
    } else {
        auto const lines = fetch_lines<order_between<from, To>>(tile, cache, places.at[0], head);
        if constexpr (To == axis::dim) {
            return transposed(lines);
        } else {
            return lines;
        }
    }
}

/// The values of one lane's chunk of a line, dequantised where `Scaled`.
template <axis Along, bool Scaled, class T, int Tokens>
KVLOOM_FN vec<float, chunk_size> chunk_values(chunk_words<T> const& words, [[maybe_unused]] int line,
                                              [[maybe_unused]] token_numbers<Tokens> const& scales)
{
    auto values = unpack<T>(words);
    if constexpr (Scaled) {
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; ++i) {
            values[i] = multiply(values[i], scales[Along == axis::dim ? line : i]);
        }
    }
    return values;
}

/// For each token the scale with which T holds its row: largest magnitude / largest number of T. NaN does not
/// count, an infinity counts as the largest finite number, and the scale of a row of zeros is 1. Every lane
/// of the wave calls. @cost for each token log2(Tile::size) cross-lane moves and a division
template <class T, axis Along, bool Scaled, class From, class Tile, int Dim, int Count, int Tokens>
KVLOOM_FN token_numbers<Tokens> find_scales(Tile tile, stored_lines<From, Tile, Dim, Count> const& lines,
                                            token_numbers<Tokens> const& scales, site at = site::here())
{
    token_numbers<Tokens> found;
    KVLOOM_UNROLL
    for (int i = 0; i < Tokens; ++i) {
        found[i] = 0.0F;
    }
    KVLOOM_UNROLL
    for (int j = 0; j < Count; ++j) {
        KVLOOM_UNROLL
        for (int k = 0; k < lines.parts; ++k) {
            auto const values = chunk_values<Along, Scaled, From>(lines.line[j].part[k], j, scales);
            KVLOOM_UNROLL
            for (int i = 0; i < chunk_size; ++i) {
                float& largest = found[Along == axis::dim ? j : i];
                largest        = larger(largest, magnitude(values[i]));
            }
        }
    }
    KVLOOM_UNROLL
    for (int i = 0; i < Tokens; ++i) {
        float const most  = all_reduce(tile, found[i], maximum{}, at);
        float const limit = numeric<float>::largest;
        float const scale = divide(most < limit ? most : limit, numeric<T>::largest);
        found[i]          = scale > 0.0F ? scale : 1.0F;
    }
    return found;
}

/// Lines of T: each element times its token's scale where `Scaled`, over its token's divisor where `Divided`,
/// rounded once more to T.
template <class T, class Overflow, axis Along, bool Scaled, bool Divided, class From, class Tile, int Dim,
          int Count, int Tokens>
KVLOOM_FN stored_lines<T, Tile, Dim, Count> convert_lines(stored_lines<From, Tile, Dim, Count> const& lines,
                                                          token_numbers<Tokens> const& scales,
                                                          token_numbers<Tokens> const& divisors)
{
    stored_lines<T, Tile, Dim, Count> converted;
    KVLOOM_UNROLL
    for (int j = 0; j < Count; ++j) {
        KVLOOM_UNROLL
        for (int k = 0; k < lines.parts; ++k) {
            auto values = chunk_values<Along, Scaled, From>(lines.line[j].part[k], j, scales);
            if constexpr (Divided) {
                KVLOOM_UNROLL
                for (int i = 0; i < chunk_size; ++i) {
                    values[i] = divide(values[i], divisors[Along == axis::dim ? j : i]);
                }
            }
            converted.line[j].part[k] = pack_each<T, Overflow>(values);
        }
    }
    return converted;
}

} // namespace detail
} // namespace v0
} // namespace kvloom
