// SPDX-License-Identifier: MIT
// A plain loop in double precision, what goes into it, and how far a rounded result may lie from it.
#pragma once

#include <kvloom/core/bf16.hpp>
#include <kvloom/core/convert.hpp>
#include <kvloom/core/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

namespace plain {

inline constexpr int dim    = 128;
inline constexpr int rotary = 64;

inline std::vector<kvloom::bf16> random_values(int const count, unsigned const seed, float const width)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-width, width);
    std::vector<kvloom::bf16> values;
    for (int i = 0; i < count; ++i) {
        values.push_back(kvloom::encode<kvloom::bf16>(uniform(random)));
    }
    return values;
}

/// [position][cos of 32 | sin of 32].
inline std::vector<kvloom::bf16> angles(int const positions)
{
    std::vector<kvloom::bf16> table;
    for (int p = 0; p < positions; ++p) {
        for (int i = 0; i < rotary; ++i) {
            double const angle = p * std::pow(5e6, -2.0 * (i % (rotary / 2)) / rotary);
            table.push_back(
                kvloom::encode<kvloom::bf16>(float(i < rotary / 2 ? std::cos(angle) : std::sin(angle))));
        }
    }
    return table;
}

/// A head's row as it stands.
inline std::vector<double> copied(kvloom::bf16 const* const row)
{
    std::vector<double> result;
    for (int d = 0; d < dim; ++d) {
        result.push_back(kvloom::decode(row[d]));
    }
    return result;
}

/// A head's row normalised with a gain of one plus weight, then rotated.
inline std::vector<double> prepared(kvloom::bf16 const* const row, kvloom::bf16 const* const weight,
                                    kvloom::bf16 const* const turn)
{
    std::vector<double> x = copied(row);
    double squares        = 0;
    for (double const value : x) {
        squares += value * value;
    }
    for (int d = 0; d < dim; ++d) {
        x[d] *= (1.0 + kvloom::decode(weight[d])) / std::sqrt(squares / dim + 1e-6);
    }
    for (int d = 0; d < rotary / 2; ++d) {
        double const cosine = kvloom::decode(turn[d]);
        double const sine   = kvloom::decode(turn[rotary / 2 + d]);
        double const low    = x[d];
        double const high   = x[d + rotary / 2];
        x[d]                = low * cosine - high * sine;
        x[d + rotary / 2]   = high * cosine + low * sine;
    }
    return x;
}

/// The most that rounding to a format moves a number: half a step.
struct rounding
{
    int precision; ///< significant bits
    int smallest;  ///< exponent of the smallest normal number

    double half_step(double const number) const
    {
        int const exponent = number == 0.0 ? smallest : std::max(std::ilogb(number), smallest);
        return std::ldexp(1.0, exponent - precision);
    }
};
inline constexpr rounding to_bf16{8, -126};
inline constexpr rounding to_fp8{4, -6};

/// What fp32 arithmetic may add where values of this size are normalised and rotated.
inline constexpr double fp32_slack = 4e-6;

/// Counts comparisons.
struct tally
{
    char const* name;
    long compared = 0;
    long wrong    = 0;

    void compare(double const got, double const want, double const tolerance)
    {
        ++compared;
        wrong += std::fabs(got - want) <= tolerance ? 0 : 1;
    }

    bool report() const
    {
        std::printf("  %-12s %7ld values compared, %ld wrong\n", name, compared, wrong);
        return wrong == 0 && compared > 0;
    }
};

} // namespace plain
