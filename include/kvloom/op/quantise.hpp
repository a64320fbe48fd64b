// SPDX-License-Identifier: MIT
// Quantisers: how a value becomes the number that is stored, which the element type then rounds; and the scale
// that a row finds for itself.
#pragma once

#include "kvloom/core/math.hpp"
#include "kvloom/core/numeric.hpp"
#include "kvloom/group/algorithm.hpp"
#include "kvloom/group/row.hpp"

namespace kvloom {
inline namespace v0 {

/// A dequant scale to divide by: zero, infinity and NaN count as one, so that no zero becomes NaN.
KVLOOM_FN float usable_scale(float dequant_scale)
{
    float const size = magnitude(dequant_scale);
    return size > 0.0F && size <= numeric<float>::largest ? dequant_scale : 1.0F;
}

/// x / Divisor::value, correctly rounded, for x from 2^-100 up: a product and one correction, as in
/// divided_by.
template <class Divisor>
KVLOOM_FN float divided_by_constant(float x)
{
    constexpr float inverse = 1.0F / Divisor::value;
    float const quotient    = multiply(x, inverse);
    return fma(-fma(quotient, Divisor::value, -x), inverse, quotient);
}

/// The largest magnitude of some values, NaN left out.
template <int N>
KVLOOM_FN float largest_magnitude(vec<float, N> const& x)
{
    float largest = 0.0F;
    KVLOOM_UNROLL
    for (int i = 0; i < N; ++i) {
        largest = larger(largest, magnitude(x[i]));
    }
    return largest;
}

struct as_it_is ///< no scale, or a scale of one
{
    template <int N>
    KVLOOM_FN vec<float, N> operator()(vec<float, N> const& values) const
    {
        return values;
    }
};

/// stored = value * factor, the factor a rounded reciprocal.
struct multiplied_by
{
    float factor = 1.0F;

    template <int N>
    KVLOOM_FN vec<float, N> operator()(vec<float, N> values) const
    {
        KVLOOM_UNROLL
        for (int i = 0; i < N; ++i) {
            values[i] = multiply(values[i], factor);
        }
        return values;
    }
};

/// stored = value / dequant_scale, as if by one correctly rounded division: a product with the rounded
/// reciprocal and one correction.
///
/// Equal to `/` wherever the magnitude of the quotient lies between 2^-12 and 2^50. For the reciprocal r of a
/// scale s, fma(-fma(v r, s, -v), r, v r) was compared with the correctly rounded quotient for all 2^46 pairs of
/// significands of v and s (CUDA, exhaustively; tests/law/quantise.test.cpp holds a part of it). Smaller
/// quotients are zero in fp8 and larger ones beyond its range, either way. Scales outside 2^-80 .. 2^80 are
/// lifted by a power of two together with the value, so that nothing is lost to subnormals. @cost five operations
/// a value, six on NVIDIA
struct divided_by
{
    KVLOOM_FN explicit divided_by(float dequant_scale)
    {
        float const usable = usable_scale(dequant_scale);
        float const size   = magnitude(usable);
        float const lift   = size < 0x1p-80F ? 0x1p100F : size > 0x1p80F ? 0x1p-60F : 1.0F;
        lift_              = usable < 0.0F ? -lift : lift;
        scale_             = multiply(size, lift);
        inverse_           = reciprocal(scale_);
    }

    template <int N>
    KVLOOM_FN vec<float, N> operator()(vec<float, N> values) const
    {
        KVLOOM_UNROLL
        for (int i = 0; i < N; ++i) {
            float const lifted = multiply(values[i], lift_);
            // Kept finite: from an infinite quotient the correction would make NaN, so it makes the infinity.
            float const quotient = between(multiply(lifted, inverse_), -0x1p101F, 0x1p101F);
            // The rest is taken negative, so that a zero keeps its sign.
            values[i] = fma(-fma(quotient, scale_, -lifted), inverse_, quotient);
        }
        return values;
    }

private:
    float lift_;
    float scale_;
    float inverse_;
};

/// The same for a scale that was found from the values themselves, which no finite one exceeds by much: three
/// operations a value.
struct divided_by_own_scale
{
    KVLOOM_FN explicit divided_by_own_scale(float dequant_scale)
        : scale_(dequant_scale), inverse_(reciprocal(dequant_scale)),
          ordinary_(dequant_scale >= 0x1p-80F && dequant_scale <= 0x1p80F)
    {}

    template <int N>
    KVLOOM_FN vec<float, N> operator()(vec<float, N> values) const
    {
        if (!ordinary_) { // an infinity among the values makes the scale large
            return divided_by{scale_}(values);
        }
        KVLOOM_UNROLL
        for (int i = 0; i < N; ++i) {
            float const quotient = multiply(values[i], inverse_);
            values[i]            = fma(-fma(quotient, scale_, -values[i]), inverse_, quotient);
        }
        return values;
    }

private:
    float scale_;
    float inverse_;
    bool ordinary_;
};

/// A quantiser whose result is clamped to +-Limit::value, for stacks that stop short of the format's largest
/// number (224 in FNUZ). NaN stays NaN.
template <class Quantiser, class Limit>
struct limited
{
    Quantiser inner;

    template <int N>
    KVLOOM_FN vec<float, N> operator()(vec<float, N> const& values) const
    {
        auto scaled = inner(values);
        KVLOOM_UNROLL
        for (int i = 0; i < N; ++i) {
            float const bound = scaled[i] < 0.0F ? -Limit::value : Limit::value;
            scaled[i]         = magnitude(scaled[i]) > Limit::value ? bound : scaled[i];
        }
        return scaled;
    }
};

/// The largest magnitude that a lane holds of a row, NaN left out; zero where it holds none.
template <class Tile, int Dim>
KVLOOM_FN float largest_held(row<Tile, Dim> const& x)
{
    float largest = largest_magnitude(x.part[0]);
    KVLOOM_UNROLL
    for (int k = 1; k < row<Tile, Dim>::parts; ++k) {
        largest = larger(largest, largest_magnitude(x.part[k]));
    }
    return largest;
}

/// `finish` of the largest magnitude of each of `Count` (1, 2 or 4) rows, in every lane of the tile, from what
/// largest_held() found in each lane. Every lane of the wave calls. @cost as sum_rows
template <class Tile, int Count, class Finish>
KVLOOM_FN vec<float, Count> of_largest(Tile tile, vec<float, Count> held, Finish finish,
                                       site at = site::here())
{
    return reduce_rows<1>(tile, held, larger_magnitude{}, finish, at);
}

} // namespace v0
} // namespace kvloom
