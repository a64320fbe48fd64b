// SPDX-License-Identifier: MIT
// Softmax in flight (softmax_fragment) and at rest (softmax_partial), and how two of the latter become one.
#pragma once

#include "kvloom/core/exponential.hpp"
#include "kvloom/core/math.hpp"
#include "kvloom/group/algorithm.hpp"
#include "kvloom/matrix/attention_tile.hpp"

namespace kvloom {
inline namespace v0 {

/// The maximum of no scores: finite, so that no difference of maxima is NaN, and so low that any score's weight against
/// it is zero.
inline constexpr float no_maximum = -numeric<float>::largest;

/// How far scores may pass the reference before it follows them, in powers of two. fp8 has no range to spare: its
/// reference follows at once.
template <class Element>
inline constexpr float most_lag = sizeof(Element) == 1 ? 0.0F : 8.0F;

/// Powers of two by which the reference stays below the maximum: probabilities of fp16 then use its range up to 2^15,
/// those of fp8 up to 2^7 (either kind ends below 2^8), and lose less of small ones to subnormal numbers; bf16 has range
/// enough.
template <class Element>
inline constexpr float headroom = is_same_v<Element, bf16> ? 0.0F : 7.0F;

/// What a lane holds of a softmax in flight over 16 query rows and `Dim` dims: its rows' reference in powers of two
/// (equal in the four lanes that share a row), its own share of the sums, and its accumulators. The numbers stand for
/// sums of 2^(score - reference).
template <class Tile, int Dim>
struct softmax_fragment
{
    static constexpr int tiles = Dim / Tile::width;

    float top[Tile::lane_rows];
    float sum[Tile::lane_rows];
    typename Tile::sums out[tiles];

    KVLOOM_FN void reset()
    {
        KVLOOM_UNROLL
        for (int r = 0; r < Tile::lane_rows; ++r) {
            top[r] = no_maximum;
            sum[r] = 0.0F;
        }
        KVLOOM_UNROLL
        for (int i = 0; i < tiles; ++i) {
            out[i] = {};
        }
    }
};

/// The first scores that enter a fragment: their maxima are its references. Collective.
template <class Tile, class Wave, int Dim>
KVLOOM_FN void refer_to(Wave wave, softmax_fragment<Tile, Dim>& softmax,
                        float const (&largest)[Tile::lane_rows], site at = site::here())
{
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        softmax.top[r] =
            combine_groups<Tile>(wave, largest[r], maximum{}, at) - headroom<typename Tile::element>;
    }
}

/// Raises the references of a fragment to the true maxima of these scores, which are in powers of two. Collective.
template <class Tile, class Wave, int Dim>
KVLOOM_FN void raise(Wave wave, softmax_fragment<Tile, Dim>& softmax, float const (&largest)[Tile::lane_rows],
                     site at = site::here())
{
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        float const most = combine_groups<Tile>(wave, largest[r], maximum{}, at);
        float const top  = larger(softmax.top[r], most - headroom<typename Tile::element>);
        float const by   = approximate_exp2(softmax.top[r] - top);
        softmax.top[r]   = top;
        softmax.sum[r] *= by;
        KVLOOM_UNROLL
        for (int i = 0; i < softmax.tiles; ++i) {
            KVLOOM_UNROLL
            for (int e = 0; e < Tile::unit::c_numbers; ++e) {
                if (Tile::counts(e) && Tile::own_row(e) == r) {
                    softmax.out[i][e] *= by;
                }
            }
        }
    }
}

/// A softmax at rest: reference in powers of two, sum, and some dims of the unnormalised output, all fp32. What no
/// token has entered is {no_maximum, 0, zeros}.
template <int Dims>
struct softmax_partial
{
    float top = no_maximum;
    float sum = 0.0F;
    vec<float, Dims> out{};
};

/// Both together. Merging with what no token has entered changes no bit; otherwise the result is within 3 roundings of
/// the exact one, and depends on the order.
template <int Dims>
KVLOOM_FN softmax_partial<Dims> merge(softmax_partial<Dims> const& a, softmax_partial<Dims> const& b)
{
    float const top      = larger(a.top, b.top);
    float const weight_a = approximate_exp2(a.top - top);
    float const weight_b = approximate_exp2(b.top - top);
    softmax_partial<Dims> both;
    both.top = top;
    both.sum = fma(b.sum, weight_b, multiply(a.sum, weight_a));
    KVLOOM_UNROLL
    for (int i = 0; i < Dims; ++i) {
        both.out[i] = fma(b.out[i], weight_b, multiply(a.out[i], weight_a));
    }
    return both;
}

/// The output of a finished softmax times `scale`; zeros where no score has entered.
template <int Dims>
KVLOOM_FN vec<float, Dims> normalise(softmax_partial<Dims> const& all, float scale)
{
    bool const empty = all.sum == 0.0F;
    float const by   = empty ? 0.0F : multiply(divide(1.0F, all.sum), scale);
    vec<float, Dims> out;
    KVLOOM_UNROLL
    for (int i = 0; i < Dims; ++i) {
        out[i] = empty ? 0.0F : multiply(all.out[i], by);
    }
    return out;
}

/// The logarithm of the sum of exponentials of all scores, natural or to base 2; -infinity where none has entered.
template <bool Natural, int Dims>
KVLOOM_FN float log_sum(softmax_partial<Dims> const& all)
{
    float const base2 = approximate_log2(all.sum) + all.top;
    return all.sum == 0.0F ? -__builtin_huge_valf() : base2 * (Natural ? natural_of_2 : 1.0F);
}

} // namespace v0
} // namespace kvloom
