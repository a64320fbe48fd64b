// SPDX-License-Identifier: MIT
// What core/math.hpp must give, checked through a runner, which runs a case of math_cases.hpp over words.
#pragma once

#include "unit/core/convert_checks.hpp"
#include "unit/core/math_cases.hpp"

namespace kvloom_test {

/// Compares bits, with any NaN equal to any other, and describes the first difference.
inline void check_same(words const& got, words const& need, words const& in, std::size_t const inputs)
{
    REQUIRE(got.size() == need.size());
    std::size_t wrong = 0;
    std::string first;
    for (std::size_t i = 0; i < got.size(); ++i) {
        bool const both_nan = std::isnan(float_of(got[i])) && std::isnan(float_of(need[i]));
        if (got[i] != need[i] && !both_nan && wrong++ == 0) {
            char text[160];
            std::snprintf(text, sizeof text, "first input 0x%08x: got 0x%08x, need 0x%08x", in[i * inputs],
                          got[i], need[i]);
            first = text;
        }
    }
    INFO(first);
    CHECK(wrong == 0);
}

/// In the plain AMD test programs every 89th.
inline words every_mantissa(u32 const exponent)
{
    u32 const step = KVLOOM_TEST_PLAIN ? 89 : 1;
    words in((1u << 23) / step);
    for (u32 i = 0; i < in.size(); ++i) {
        in[i] = exponent << 23 | i * step;
    }
    return in;
}

// Rounding the double result to float is correct rounding: 53 bits are more than twice 24 plus 2.

template <class Run>
void check_square_root(Run const& run)
{
    auto const check = [&](words const& in) {
        words need(in.size());
        for (std::size_t i = 0; i < in.size(); ++i) {
            need[i] = bits_of(static_cast<float>(std::sqrt(static_cast<double>(float_of(in[i])))));
        }
        check_same(run(square_root_case{}, in), need, in, 1);
    };
    check(every_mantissa(127));
    check(every_mantissa(128));
    check({0x00000000, 0x80000000, 0x7f800000, 0x00800000, 0x7f7fffff, 0xbf800000, 0x7fc00000, 0x358637bd,
           0x2edbe6ff});
}

template <class Run>
void check_reciprocal(Run const& run)
{
    auto const check = [&](words const& in) {
        words need(in.size());
        for (std::size_t i = 0; i < in.size(); ++i) {
            need[i] = bits_of(static_cast<float>(1.0 / static_cast<double>(float_of(in[i]))));
        }
        check_same(run(reciprocal_case{}, in), need, in, 1);
    };
    check(every_mantissa(127));
    check(every_mantissa(90));
    check({0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x00800000, 0x7e800000, 0xbf800000, 0x7fc00000,
           0x43e00000});
}

template <class Run>
void check_division(Run const& run)
{
    constexpr u32 divisors[] = {0x3f800001, 0x3fffffff, 0x3fd4fdf5, 0x40490fdb,
                                0x3e4ccccd, 0xc2c80000, 0x3f124925, 0x3fb504f3};

    words const numerators = every_mantissa(127);
    words in(2 * numerators.size());
    words need(numerators.size());
    for (u32 const divisor : divisors) {
        double const b = static_cast<double>(float_of(divisor));
        for (std::size_t i = 0; i < numerators.size(); ++i) {
            in[2 * i]     = numerators[i];
            in[2 * i + 1] = divisor;
            need[i]       = bits_of(static_cast<float>(static_cast<double>(float_of(numerators[i])) / b));
        }
        check_same(run(divide_case{}, in), need, in, 2);
    }

    std::mt19937 random(7);
    for (std::size_t i = 0; i < need.size() / 8; ++i) {
        in[2 * i] = (static_cast<u32>(random()) & 0x807fffff) | (97 + static_cast<u32>(random()) % 61) << 23;
        in[2 * i + 1] =
            (static_cast<u32>(random()) & 0x807fffff) | (97 + static_cast<u32>(random()) % 61) << 23;
        need[i] = bits_of(static_cast<float>(static_cast<double>(float_of(in[2 * i]))
                                             / static_cast<double>(float_of(in[2 * i + 1]))));
    }
    in.resize(need.size() / 8 * 2);
    need.resize(need.size() / 8);
    check_same(run(divide_case{}, in), need, in, 2);
}

template <class Run>
void check_product_sum(Run const& run)
{
    std::mt19937 random(11);
    words in;
    words need;
    int apart       = 0;
    int const count = KVLOOM_TEST_PLAIN ? 20000 : 200000;
    for (int i = 0; i < count; ++i) {
        float const a        = float_of((static_cast<u32>(random()) & 0x807fffff) | 0x3f800000);
        float const b        = float_of((static_cast<u32>(random()) & 0x807fffff) | 0x3f800000);
        double const product = static_cast<double>(a) * static_cast<double>(b); // exact
        // c cancels most of the product, so that one rounding more or less shows
        float const c = -static_cast<float>(product) + (i % 3 == 0 ? 0.0f : 0x1p-20f);
        float const once =
            static_cast<float>(product + static_cast<double>(c)); // exact: both lie within 53 bits
        float const twice =
            static_cast<float>(static_cast<double>(static_cast<float>(product)) + static_cast<double>(c));
        in.insert(in.end(), {bits_of(a), bits_of(b), bits_of(c)});
        need.insert(need.end(), {bits_of(twice), bits_of(once)});
        apart += bits_of(once) != bits_of(twice) ? 1 : 0;
    }
    REQUIRE(apart > count / 2);
    words const got = run(product_sum_case{}, in);
    REQUIRE(got.size() == need.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        wrong += got[i] != need[i] ? 1 : 0;
    }
    CHECK(wrong == 0);
}

template <class Run>
void check_bits(Run const& run)
{
    words const got = run(
        bits_case{}, {0x44332211, 0x88776655, 0x7f800001, 0, 0xff800000, 0, 0xffffffff, 0, 0, 0xffffffff});
    words const need{0x66552211, 0x88774433, 0x55227744, 0, 0x44332211, 0,  // two words
                     0x00000001, 0x00007f80, 0x0000007f, 1, 0x7f800001, 0,  // NaN
                     0x00000000, 0x0000ff80, 0x000000ff, 0, 0x7f800000, 23, // -infinity
                     0x0000ffff, 0x0000ffff, 0x00ff00ff, 1, 0x7fffffff, 0,  // NaN
                     0xffff0000, 0xffff0000, 0xff00ff00, 0, 0x00000000, 0}; // zero
    CHECK(got == need);
}

template <class Run>
void check_larger(Run const& run)
{
    words const in{bits_of(1.0f),  bits_of(2.0f),   bits_of(2.0f), bits_of(1.0f),
                   bits_of(-1.0f), bits_of(-2.0f),  bits_of(3.0f), bits_of(3.0f),
                   0xff800000,     bits_of(-1e30f), 0x7f800000,    bits_of(1e30f)};
    CHECK(run(larger_case{}, in)
          == words{bits_of(2.0f), bits_of(2.0f), bits_of(-1.0f), bits_of(3.0f), bits_of(-1e30f), 0x7f800000});
}

template <class Run>
void check_quotient(Run const& run)
{
    std::vector<u32> divisors;
    for (u32 d = 1; d <= 1100; ++d) {
        divisors.push_back(d);
    }
    for (int shift = 11; shift <= 31; ++shift) {
        for (u32 const d :
             {(1u << shift) - 1, 1u << shift, (1u << shift) + 1, (1u << shift) + (1u << (shift - 1))}) {
            if (d <= 0x80000000u) {
                divisors.push_back(d);
            }
        }
    }
    std::mt19937 random(13);
    for (int i = 0; i < 400; ++i) {
        divisors.push_back(1 + (static_cast<u32>(random()) & 0x7fffffff) % (1u << (8 + i % 24)));
    }

    words in;
    words need;
    for (u32 const d : divisors) {
        kvloom::divider const prepared = kvloom::make_divider(d);
        auto const add                 = [&](u32 const n) {
            if (n <= 0x7fffffffu) {
                in.insert(in.end(), {n, prepared.divisor, prepared.multiplier, prepared.shift});
                need.push_back(n / d);
            }
        };
        for (u32 n = 0; n < (KVLOOM_TEST_PLAIN ? 32 : 512); ++n) {
            add(n);
            add(0x7fffffffu - n);
            u32 const some     = static_cast<u32>(random()) & 0x7fffffff;
            u32 const multiple = some / d * d; // quotients change here
            add(some);
            add(multiple);
            add(multiple - 1);
            add(multiple + d - 1);
        }
    }
    words const got = run(quotient_case{}, in);
    REQUIRE(got.size() == need.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        wrong += got[i] != need[i] ? 1 : 0;
    }
    CHECK(wrong == 0);
}

} // namespace kvloom_test
