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

/// x / Divisor::value, correctly rounded, for finite x >= 0 and an ordinary divisor.
///
/// On NVIDIA a product and one correction, as in divided_by, from 2^-100 up. Elsewhere the same in double precision,
/// which takes no branch. The corrected quotient is off by 2^-53 of itself. A quotient of floats that does not lie midway
/// between two floats is at least 2^-49 of itself away from there (an integer is at least 1 from another: x from
/// 25 bits times 24); one that lies there, among subnormals, is a double, and the correction finds it.
template <class Divisor>
KVLOOM_FN float divided_by_constant(float x)
{
#if KVLOOM_ON_CUDA
    if (x < 0x1p-100F) {
        return divide(x, Divisor::value);
    }
    constexpr float inverse = 1.0F / Divisor::value;
    float const quotient    = multiply(x, inverse);
    return fma(-fma(quotient, Divisor::value, -x), inverse, quotient);
#else
    constexpr double divisor = Divisor::value;
    constexpr double inverse = 1.0 / divisor;
    double const quotient    = x * inverse;
    return static_cast<float>(__builtin_fma(__builtin_fma(-quotient, divisor, x), inverse, quotient));
#endif
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

namespace detail {

template <class Quantiser>
KVLOOM_FN auto short_form_or_whole(Quantiser const& by, int) -> decltype(by.short_form())
{
    return by.short_form();
}

template <class Quantiser>
KVLOOM_FN Quantiser short_form_or_whole(Quantiser const& by, long)
{
    return by;
}

/// A quantiser that gives what `by` does, or NaN, in fewer operations, for who asks for NaN anyway: `by` itself where it
/// has no member of this name.
template <class Quantiser>
KVLOOM_FN auto short_form(Quantiser const& by)
{
    return short_form_or_whole(by, 0);
}

/// What conversions may know of a quantiser's numbers: its member `gives`, if it has one.
template <class Quantiser, class = void>
inline constexpr values given_by = values::numbers;
template <class Quantiser>
inline constexpr values given_by<Quantiser, decltype(void(Quantiser::gives))> = Quantiser::gives;

} // namespace detail

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

/// value / scale by a product with the reciprocal and one correction: `divided_by` for scales from 2^-80 to 2^80, NaN
/// for any other, and for infinite quotients. @cost three operations a value
template <detail::values Gives>
struct short_division
{
    static constexpr detail::values gives = Gives;

    float scale;
    float inverse; ///< NaN for scales out of that range

    template <int N>
    KVLOOM_FN vec<float, N> operator()(vec<float, N> values) const
    {
        float_pair const by{scale, scale};
        float_pair const times{inverse, inverse};
        KVLOOM_UNROLL
        for (int i = 0; i < N; i += 2) {
            int const second = i + 1 < N ? i + 1 : i;
            float_pair const x{values[i], values[second]};
            float_pair const quotient = multiply(x, times);
            // The rest is taken negative, so that a zero keeps its sign.
            float_pair const rest  = fma(quotient, by, {-x.low, -x.high});
            float_pair const exact = fma({-rest.low, -rest.high}, times, quotient);
            values[second]         = exact.high;
            values[i]              = exact.low;
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

    KVLOOM_FN short_division<detail::values::numbers> short_form() const
    {
        return {scale_, lift_ == 1.0F ? inverse_ : detail::quiet_nan};
    }

private:
    float lift_;
    float scale_;
    float inverse_;
};

/// The same for a scale that was found from the values themselves: of finite ones the quotient is at most the format's
/// largest, and 2^-8 of that more (where the values were rounded after the scale was found). Conversions round that
/// down. @cost three operations a value; more for scales below 2^-80 and above 2^7
struct divided_by_own_scale
{
    KVLOOM_FN explicit divided_by_own_scale(float dequant_scale)
        : short_{dequant_scale, dequant_scale >= 0x1p-80F && dequant_scale <= 0x1p7F
                                    ? reciprocal(dequant_scale)
                                    : detail::quiet_nan}
    {}

    template <int N>
    KVLOOM_FN vec<float, N> operator()(vec<float, N> const& values) const
    {
        // An infinity among the values makes the scale large: also one that was finite when the scale was found and
        // that fp16 cannot hold, from 65520 on, which is more than 2^7 times any fp8 number.
        return is_nan(short_.inverse) ? divided_by{short_.scale}(values) : short_(values);
    }

    KVLOOM_FN auto short_form() const { return short_; }

private:
    short_division<detail::values::in_range> short_;
};

/// A quantiser whose result is clamped to +-Limit::value, for stacks that stop short of the format's largest
/// number (224 in FNUZ). NaN stays NaN.
template <class Quantiser, class Limit>
struct limited
{
    Quantiser inner;

    static constexpr detail::values gives = detail::values::in_range;

    KVLOOM_FN auto short_form() const
    {
        auto const by = detail::short_form(inner);
        return limited<remove_const_t<decltype(by)>, Limit>{by};
    }

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

namespace detail {

template <class Quantiser>
struct quantised_chunk
{
    Quantiser const& by;
    vec<float, chunk_size> const& values;

    KVLOOM_FN vec<float, chunk_size> operator()() const { return by(values); }
};

} // namespace detail

/// The chunk's values quantised and rounded to T, as words.
template <class T, class Overflow = saturate, class Quantiser>
KVLOOM_FN chunk_words<T> pack_by(Quantiser const& by, vec<float, chunk_size> const& values)
{
    if constexpr (sizeof(T) == 4) {
        return pack<T>(by(values));
    } else {
        auto const quick = detail::short_form(by);
        using short_type = remove_const_t<decltype(quick)>;
        return detail::narrow_words_of<T, Overflow, detail::given_by<short_type>,
                                       !is_same_v<short_type, Quantiser>>(
            detail::quantised_chunk<short_type>{quick, values},
            detail::quantised_chunk<Quantiser>{by, values});
    }
}

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

/// The largest magnitude of each of `Count` (1, 2 or 4) rows, from what largest_held() found in each lane: sorted into
/// lanes as by reduce_sorted(), of one row in every lane of the tile. Every lane of the wave calls.
template <class Tile, int Count>
KVLOOM_FN float largest_sorted(Tile tile, vec<float, Count> const& held, site at = site::here())
{
    if constexpr (Count == 1) {
        return all_reduce(tile, held[0], larger_magnitude{}, at);
    } else {
        return reduce_sorted<1>(tile, held, larger_magnitude{}, at);
    }
}

} // namespace v0
} // namespace kvloom
