// SPDX-License-Identifier: MIT
// How far a rounded result may lie from the plain loop's, and who counts the comparisons.
#pragma once

#include "../support/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace plain {

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
