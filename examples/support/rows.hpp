// SPDX-License-Identifier: MIT
// Rows of a head and what becomes of them, as plain loops in double precision.
#pragma once

#include <kvloom/core/bf16.hpp>
#include <kvloom/core/convert.hpp>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace plain {

inline constexpr int dim    = 128;
inline constexpr int rotary = 64;

using row = std::vector<double>; ///< of one head

inline std::vector<kvloom::bf16> random_values(std::size_t const count, unsigned const seed,
                                               float const width)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-width, width);
    std::vector<kvloom::bf16> values(count);
    for (auto& value : values) {
        value = kvloom::encode<kvloom::bf16>(uniform(random));
    }
    return values;
}

/// [position][cos of 32 | sin of 32], whose slowest turn follows from `base`.
inline std::vector<kvloom::bf16> angles(int const positions, double const base)
{
    std::vector<kvloom::bf16> table;
    for (int p = 0; p < positions; ++p) {
        for (int i = 0; i < rotary; ++i) {
            double const angle = p * std::pow(base, -2.0 * (i % (rotary / 2)) / rotary);
            table.push_back(
                kvloom::encode<kvloom::bf16>(float(i < rotary / 2 ? std::cos(angle) : std::sin(angle))));
        }
    }
    return table;
}

/// A head's row as it stands.
inline row copied(kvloom::bf16 const* const from)
{
    row result;
    for (int d = 0; d < dim; ++d) {
        result.push_back(kvloom::decode(from[d]));
    }
    return result;
}

/// A head's row normalised with a gain of one plus weight, then rotated.
inline row prepared(kvloom::bf16 const* const from, kvloom::bf16 const* const weight,
                    kvloom::bf16 const* const turn)
{
    row x          = copied(from);
    double squares = 0;
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

} // namespace plain
