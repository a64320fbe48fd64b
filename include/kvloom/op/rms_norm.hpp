// SPDX-License-Identifier: MIT
// RMSNorm of one row or several, y = x / sqrt(mean(x^2) + eps) * factor, in one order of summation on every
// machine.
#pragma once

#include "kvloom/core/math.hpp"
#include "kvloom/group/algorithm.hpp"
#include "kvloom/group/row.hpp"

namespace kvloom {
inline namespace v0 {

/// Kinds of norm, chosen by formula.
struct no_norm ///< y = x
{};
struct weightless ///< y = x * r
{};
struct plain_gain ///< y = (x * r) * w
{};
struct unit_offset ///< y = (x * r) * (1 + w), the sum in fp32
{};

/// The factor of a norm without weights.
struct no_gain
{};

/// The factor 1 + w of each element, from weights already widened to fp32.
template <class Tile, int Dim>
KVLOOM_FN row<Tile, Dim> one_plus(row<Tile, Dim> weights)
{
    KVLOOM_UNROLL
    for (int k = 0; k < row<Tile, Dim>::parts; ++k) {
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; ++i) {
            weights.part[k][i] = add(1.0F, weights.part[k][i]);
        }
    }
    return weights;
}

/// Sum of the squares of a chunk: an fma chain over its even elements, one over its odd elements, then even +
/// odd.
KVLOOM_FN float sum_of_squares(vec<float, chunk_size> const& x)
{
    float_pair sums{multiply(x[0], x[0]), multiply(x[1], x[1])};
    KVLOOM_UNROLL
    for (int i = 2; i < chunk_size; i += 2) {
        float_pair const two{x[i], x[i + 1]};
        sums = fma(two, two, sums);
    }
    return add(sums.low, sums.high);
}

/// Sum of the squares of a row, in every lane of the tile: runs of 8 (sum_of_squares), then pairwise at distance
/// 1, 2, 4, ... Every lane of the wave calls. @cost one all_reduce a part
template <class Tile, int Dim>
KVLOOM_FN float row_sum_of_squares(Tile tile, row<Tile, Dim> const& x, site at = site::here())
{
    constexpr int parts = row<Tile, Dim>::parts;
    constexpr int held  = parts == 3 ? 4 : parts;
    static_assert(held <= 4,
                  "row_sum_of_squares: a lane holds at most four chunks of a row; take a wider tile");
    vec<float, held> sums{};
    KVLOOM_UNROLL
    for (int k = 0; k < parts; ++k) {
        sums[k] = sum_of_squares(x.part[k]);
    }
    return sum_rows<held>(
        tile, sums, [](float sum) { return sum; }, at)[0];
}

/// 1 / sqrt(mean(x^2) + eps) of each row, in every lane of the tile; root and reciprocal correctly rounded.
///
/// The squares of a row are added in runs of 8 (sum_of_squares), the runs pairwise at distance 1, 2, 4, ...;
/// the mean is fma(sum, 1 / Dim, eps). Tile, number of rows and machine do not change the bits. The sum
/// overflows fp32 for rows whose magnitudes exceed about 1.6e18 (2^60.5 at Dim = 128): such a row comes out
/// as zeros.
///
/// Collective: every lane of the wave calls. @cost one sum_rows for each four sums
template <class Tile, int Dim, int Count>
KVLOOM_FN vec<float, Count> inverse_rms(Tile tile, rows<Tile, Dim, Count> const& x, float eps,
                                        site at = site::here())
{
    constexpr int parts = row<Tile, Dim>::parts;
    constexpr int held  = parts == 3 ? 4 : parts;
    static_assert(held <= 4, "inverse_rms: a lane holds at most four chunks of a row; take a wider tile");
    constexpr int rows_a_sum = Count * held <= 4 ? Count : held <= 4 ? 4 / held : 1;
    static_assert(Count % rows_a_sum == 0, "inverse_rms: the number of rows must be 1, 2 or a multiple of 4");

    auto const finish = [eps](float sum) {
        return reciprocal(square_root(fma(sum, 1.0F / float(Dim), eps)));
    };
    vec<float, Count> result;
    KVLOOM_UNROLL
    for (int first = 0; first < Count; first += rows_a_sum) {
        vec<float, rows_a_sum * held> sums{};
        KVLOOM_UNROLL
        for (int r = 0; r < rows_a_sum; ++r) {
            KVLOOM_UNROLL
            for (int k = 0; k < parts; ++k) {
                sums[r * held + k] = sum_of_squares(x[first + r].part[k]);
            }
        }
        auto const factors = sum_rows<held>(tile, sums, finish, at);
        KVLOOM_UNROLL
        for (int r = 0; r < rows_a_sum; ++r) {
            result[first + r] = factors[r];
        }
    }
    return result;
}

/// (x * r) * gain, element by element; without a gain x * r.
template <class Tile, int Dim, class Gain>
KVLOOM_FN row<Tile, Dim> scaled([[maybe_unused]] Tile tile, row<Tile, Dim> x, float r,
                                [[maybe_unused]] Gain const& gain)
{
    KVLOOM_UNROLL
    for (int k = 0; k < row<Tile, Dim>::parts; ++k) {
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; i += 2) {
            float_pair two = multiply(float_pair{x.part[k][i], x.part[k][i + 1]}, float_pair{r, r});
            if constexpr (!is_same_v<Gain, no_gain>) {
                static_assert(is_same_v<Gain, row<Tile, Dim>>,
                              "rms_norm: the gain was loaded under another tile");
                two = multiply(two, float_pair{gain.part[k][i], gain.part[k][i + 1]});
            }
            x.part[k][i]     = two.low;
            x.part[k][i + 1] = two.high;
        }
    }
    return x;
}

/// x * gain, element by element.
template <class Tile, int Dim>
KVLOOM_FN row<Tile, Dim> weighted([[maybe_unused]] Tile tile, row<Tile, Dim> x, row<Tile, Dim> const& gain)
{
    KVLOOM_UNROLL
    for (int k = 0; k < row<Tile, Dim>::parts; ++k) {
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; ++i) {
            x.part[k][i] = multiply(x.part[k][i], gain.part[k][i]);
        }
    }
    return x;
}

/// RMSNorm of several rows: inverse_rms, then scaled. `gain` is a row (load, or one_plus of it) or no_gain.
template <class Tile, int Dim, int Count, class Gain>
KVLOOM_FN rows<Tile, Dim, Count> rms_norm(Tile tile, rows<Tile, Dim, Count> x, Gain const& gain, float eps,
                                          site at = site::here())
{
    static_assert(is_tile_v<Tile>, "rms_norm: the first argument must be a tile");
    auto const r = inverse_rms(tile, x, eps, at);
    KVLOOM_UNROLL
    for (int i = 0; i < Count; ++i) {
        x[i] = scaled(tile, x[i], r[i], gain);
    }
    return x;
}

/// RMSNorm of one row.
template <class Tile, int Dim, class Gain>
KVLOOM_FN row<Tile, Dim> rms_norm(Tile tile, row<Tile, Dim> const& x, Gain const& gain, float eps,
                                  site at = site::here())
{
    return rms_norm(tile, rows<Tile, Dim, 1>{{x}}, gain, eps, at)[0];
}

} // namespace v0
} // namespace kvloom
