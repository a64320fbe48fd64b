// SPDX-License-Identifier: MIT
// The fused insert in double precision, straight from the formula, and how far fp32 and later roundings may stray.
//
//   n[d] = x[d] / sqrt(mean(x^2) + eps) * f[d]             f = 1 + w, w, or 1; n = x where nothing is normalised
//   y[d] = n[d] cos[d] - n[d + R/2] sin[d]                 d < R/2
//   y[d + R/2] = n[d + R/2] cos[d] + n[d] sin[d]
//   y[d] = n[d]                                            d >= R
//
// This folder includes no header of the library: only standard headers, double arrays and sizes.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace oracle {

/// A number, and the distance within which a correct result must lie. An infinite slack accepts anything (overflow
/// of a type that has infinities).
struct value
{
    double exact = 0.0;
    double slack = 0.0;
};

/// A binary floating-point format: significant bits, exponent of the smallest normal number, largest finite number.
struct format
{
    int precision;
    int smallest_exponent;
    double largest;
    bool has_infinity;
};

inline constexpr format fp32{24, -126, 3.4028234663852886e38, true};
inline constexpr format bf16{8, -126, 3.3895313892515355e38, true};
inline constexpr format fp16{11, -14, 65504.0, true};
inline constexpr format fp8_e4m3{4, -6, 448.0, false};
inline constexpr format fp8_e4m3_fnuz{4, -7, 240.0, false};

/// Relative error of one fp32 operation, rounded to nearest: 2^-24.
inline constexpr double unit = 1.0 / 16777216.0;

/// Half of the smallest subnormal fp32 number, the most that one operation loses where its result is subnormal.
inline constexpr double speck = 7.006492321624085e-46;

/// The most that rounding to nearest can move a number of this magnitude: half a step of the format.
inline double half_step(format const f, double const magnitude)
{
    int const exponent =
        magnitude == 0.0 ? f.smallest_exponent : std::max(std::ilogb(magnitude), f.smallest_exponent);
    return std::ldexp(1.0, exponent - f.precision);
}

/// `v` rounded to `f` (nearest even). A format with infinities accepts anything once its largest number may be
/// passed; one without saturates, and clamping never widens a distance.
inline value rounded(value v, format const f)
{
    if (std::isnan(v.exact) || std::isinf(v.slack)) {
        return v;
    }
    if (std::isinf(v.exact)) {
        return {std::copysign(f.largest, v.exact), f.has_infinity ? std::fabs(v.exact) : 0.0};
    }
    if (f.has_infinity && std::fabs(v.exact) + v.slack > f.largest) {
        return {v.exact, std::numeric_limits<double>::infinity()};
    }
    v.exact = std::clamp(v.exact, -f.largest, f.largest);
    v.slack += half_step(f, std::min(std::fabs(v.exact) + v.slack, f.largest));
    return v;
}

/// `v / scale` computed in fp32 with `operations` roundings: 1 for a division, 2 for the reciprocal and a product.
inline value scaled(value const v, double const scale, int const operations)
{
    double const exact = v.exact / scale;
    if (std::isinf(exact)) {
        return {exact, v.slack};
    }
    double const reach = std::fabs(exact) + v.slack / scale;
    return {exact, v.slack / scale + operations * (1.001 * unit * reach + speck)};
}

/// True where `got` is a correct result for `v`: within its slack, or NaN where the formula is NaN.
inline bool accepts(value const v, double const got)
{
    if (std::isnan(v.exact)) {
        return std::isnan(got);
    }
    return std::isinf(v.slack) || got == v.exact || std::fabs(got - v.exact) <= v.slack;
}

/// What happens to a row: only a rotation (normalised = false), or a norm with a gain (null: 1) to which
/// `gain_offset` is added.
struct row_formula
{
    int head_dim       = 128;
    int rotary_dim     = 0;
    bool normalised    = true;
    double eps         = 1e-6;
    double const* gain = nullptr;
    double gain_offset = 0.0;

    // Numbers over which the mean square is taken, in place of the row itself.
    double const* vector = nullptr;
    int vector_size      = 0;
    bool interleaved     = false; // pairs (2i, 2i + 1) in place of (i, i + R / 2)

    // Roundings to `type` on the way: of x / rms before the gain, of the norm's result, of a rotation's products and sum.
    format type      = bf16;
    bool before_gain = false;
    bool after_norm  = false;
    bool in_rotation = false;
};

/// Normalises and rotates one row of `head_dim` numbers; `cosines` and `sines` hold rotary_dim / 2 numbers each.
///
/// The slack is that of fp32 arithmetic, u = 2^-24 an operation. All inputs are exact.
///  * Sum of squares: a square enters a chain of at most 4 operations, then even + odd, then `levels` =
///    ceil(log2(D / 8)) pairwise additions. No term is negative, so the sum is off by (5 + levels) u at most.
///  * Mean + eps: one rounding of 1 / D and one of the fma: + 2 u. The root halves what it is given and adds u, the
///    reciprocal adds u: r is off by at most (7 + levels) / 2 u + 2 u.
///  * n = (x r) f: two roundings, and one more where f = 1 + w was itself rounded.
///    In all N u |n| with N = (7 + levels) / 2 + 5, which is 10.5 for D = 128. Nothing where no norm is asked for.
///  * A rotated number: one product is rounded alone, then the fma, so a pair (a, b) is off by at most
///    (N + 2) u (|a cos| + |b sin|). The rotation may cancel: this is a bound per pair, not relative to the result.
///  * Second-order terms: a factor 1.001. Subnormal results: one speck an operation, amplified by what follows it.
///  * A sum of squares beyond fp32 makes r zero: there the formula says nothing and any result is accepted.
inline std::vector<value> prepared_row(double const* const x, row_formula const& row,
                                       double const* const cosines, double const* const sines)
{
    int const size           = row.head_dim;
    int levels               = 0;
    double const* const span = row.vector != nullptr ? row.vector : x;
    int const span_size      = row.vector != nullptr ? row.vector_size : size;
    for (int runs = 1; runs * 8 < span_size; runs *= 2) {
        ++levels;
    }
    std::vector<value> n(size);
    double relative = 0.0;
    double root     = 1.0;
    bool beyond     = false;
    if (row.normalised) {
        double squares = 0.0;
        for (int d = 0; d < span_size; ++d) {
            squares += span[d] * span[d];
        }
        double const mean = squares / span_size + row.eps;
        root              = std::sqrt(mean);
        beyond            = squares * 1.001 > fp32.largest;
        relative          = 1.001 * unit * ((7 + levels) / 2.0 + 5.0) + 4 * speck / mean;
    }
    for (int d = 0; d < size; ++d) {
        double const factor = row.normalised && row.gain != nullptr ? row.gain[d] + row.gain_offset : 1.0;
        n[d].exact          = row.normalised ? x[d] / root * factor : x[d];
        n[d].slack =
            row.normalised ? std::fabs(n[d].exact) * relative + (std::fabs(factor) + 1.0) * speck : 0.0;
    }
    for (int d = 0; d < size && row.normalised; ++d) {
        double const factor = row.gain != nullptr ? std::fabs(row.gain[d] + row.gain_offset) : 1.0;
        if (row.before_gain) {
            n[d].slack += 1.001 * factor * half_step(row.type, std::fabs(x[d] / root) * 1.001);
        }
        if (row.after_norm) {
            n[d].slack += half_step(row.type, std::fabs(n[d].exact) + n[d].slack);
        }
    }
    if (beyond) {
        for (value& element : n) {
            element.slack = std::numeric_limits<double>::infinity();
        }
        return n;
    }
    std::vector<value> y(n);
    int const half = row.rotary_dim / 2;
    for (int i = 0; i < half; ++i) {
        int const one       = row.interleaved ? 2 * i : i;
        int const two       = row.interleaved ? 2 * i + 1 : i + half;
        value const low     = n[one];
        value const high    = n[two];
        double const cosine = cosines[i];
        double const sine   = sines[i];
        double const rounds = 2 * 1.001 * unit;
        y[one].exact        = low.exact * cosine - high.exact * sine;
        y[one].slack        = low.slack * std::fabs(cosine) + high.slack * std::fabs(sine) + 2 * speck
                       + rounds * (std::fabs(low.exact * cosine) + std::fabs(high.exact * sine));
        y[two].exact = high.exact * cosine + low.exact * sine;
        y[two].slack = high.slack * std::fabs(cosine) + low.slack * std::fabs(sine) + 2 * speck
                       + rounds * (std::fabs(high.exact * cosine) + std::fabs(low.exact * sine));
    }
    for (int i = 0; i < half && row.in_rotation; ++i) {
        int const one     = row.interleaved ? 2 * i : i;
        int const two     = row.interleaved ? 2 * i + 1 : i + half;
        double const low  = std::fabs(n[one].exact) + n[one].slack;
        double const high = std::fabs(n[two].exact) + n[two].slack;
        double const c    = std::fabs(cosines[i]);
        double const s    = std::fabs(sines[i]);
        y[one].slack += half_step(row.type, low * c) + half_step(row.type, high * s);
        y[one].slack += half_step(row.type, std::fabs(y[one].exact) + y[one].slack);
        y[two].slack += half_step(row.type, high * c) + half_step(row.type, low * s);
        y[two].slack += half_step(row.type, std::fabs(y[two].exact) + y[two].slack);
    }
    return y;
}

} // namespace oracle
