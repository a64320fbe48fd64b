// SPDX-License-Identifier: MIT
// Small float formats from their definition, in double: a table of all values and a search for the nearest.
// Includes no header of the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace kvloom_test {

inline float float_of(std::uint32_t const bits)
{
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

inline std::uint32_t bits_of(float const x)
{
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

/// A sign, an exponent and a mantissa, with subnormal values below the smallest exponent.
class number_format
{
public:
    static constexpr unsigned nan = ~0u; // what `nearest` gives for NaN, whatever its encoding

    /// `largest`: code of the largest finite value. `infinity`: whether the code after it is infinity.
    number_format(int const bits, int const mantissa_bits, int const bias, unsigned const largest,
                  bool const infinity, bool const negative_zero)
        : sign_bit(1u << (bits - 1)), largest(largest), infinity(infinity), negative_zero(negative_zero),
          mantissa_bits_(mantissa_bits), bias_(bias)
    {
        for (unsigned code = 0; code <= largest + 1; ++code) {
            values_.push_back(formula(code)); // the last is where the next value would be
        }
    }

    bool is_nan(unsigned const code) const
    {
        if (!negative_zero) {
            return code == sign_bit;
        }
        return (code & ~sign_bit) > largest + (infinity ? 1 : 0);
    }

    /// The value of a code that is not NaN.
    double value(unsigned const code) const
    {
        unsigned const size         = code & ~sign_bit;
        double const unsigned_value = infinity && size == largest + 1 ? HUGE_VAL : values_[size];
        return (code & sign_bit) != 0 ? -unsigned_value : unsigned_value;
    }

    /// The value in the middle between the values of code and code + 1, code at most `largest`.
    double midpoint(unsigned const code) const { return (values_[code] + values_[code + 1]) / 2; }

    /// The code nearest to x, of two the even one; `nan` for NaN and for overflow that may not saturate.
    unsigned nearest(float const x, bool const saturates) const
    {
        if (std::isnan(x)) {
            return nan;
        }
        double const size = std::fabs(static_cast<double>(x));
        auto const above  = std::upper_bound(values_.begin(), values_.end(), size);
        unsigned code     = static_cast<unsigned>(above - values_.begin()) - 1;
        if (code <= largest && (size > midpoint(code) || (size == midpoint(code) && code % 2 == 1))) {
            ++code;
        }
        if (code > largest && !infinity) {
            if (!saturates) {
                return nan;
            }
            code = largest;
        }
        return std::signbit(x) && (code != 0 || negative_zero) ? code | sign_bit : code;
    }

    unsigned const sign_bit;
    unsigned const largest;
    bool const infinity;
    bool const negative_zero;

private:
    double formula(unsigned const code) const
    {
        int const exponent = static_cast<int>(code >> mantissa_bits_);
        int const mantissa = static_cast<int>(code & ((1u << mantissa_bits_) - 1));
        int const hidden   = exponent == 0 ? 0 : 1 << mantissa_bits_;
        int const power    = std::max(exponent, 1) - bias_ - mantissa_bits_;
        return std::ldexp(hidden + mantissa, power);
    }

    int mantissa_bits_;
    int bias_;
    std::vector<double> values_;
};

} // namespace kvloom_test
