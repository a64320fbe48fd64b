// SPDX-License-Identifier: MIT
// What conversions must give, checked through a runner, which runs a case of convert_cases.hpp over words.
#pragma once

#include "support/catch.hpp"
#include "unit/core/convert_cases.hpp"
#include "unit/core/format_reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace kvloom_test {

using words = std::vector<u32>;

/// Runs a case on the host, call after call. A runner for a device has the same operator.
struct run_on_host
{
    template <class Case>
    words operator()(Case const& run, words const& in) const
    {
        std::size_t const calls = in.size() / Case::inputs;
        words out(calls * Case::outputs);
        for (std::size_t i = 0; i < calls; ++i) {
            run(in.data() + i * Case::inputs, out.data() + i * Case::outputs);
        }
        return out;
    }
};

template <class T>
number_format const& format_of();

template <>
inline number_format const& format_of<kvloom::bf16>()
{
    static number_format const format(16, 7, 127, 0x7f7f, true, true);
    return format;
}

template <>
inline number_format const& format_of<kvloom::fp16>()
{
    static number_format const format(16, 10, 15, 0x7bff, true, true);
    return format;
}

template <>
inline number_format const& format_of<kvloom::fp8_e4m3>()
{
    static number_format const format(8, 3, 7, 0x7e, false, true);
    return format;
}

template <>
inline number_format const& format_of<kvloom::fp8_e4m3_fnuz>()
{
    static number_format const format(8, 3, 8, 0x7f, false, false);
    return format;
}

/// Floats that decide: every bf16; every value and every midpoint between two, each with its float
/// neighbours; infinities and NaNs of many payloads; random bits; random values in the range of the format.
/// Padded to eights.
inline words deciding_floats(number_format const& format, int const random_count)
{
    words in;
    for (u32 high = 0; high < 0x10000; ++high) {
        in.push_back(high << 16);
    }
    auto const around = [&](double const x) {
        u32 const bits = bits_of(static_cast<float>(x));
        for (u32 const near : {bits - 1, bits, bits + 1}) {
            in.push_back(near & 0x7fffffff);
            in.push_back(near | 0x80000000);
        }
    };
    for (unsigned code = 0; code <= format.largest; ++code) {
        around(format.midpoint(code));
        around(format.value(code));
    }
    for (u32 const magnitude :
         {0x7f800000u, 0x7f800001u, 0x7fff8c22u, 0x7fffffffu, 0x7fc00000u, 0x7fbfffffu, 0x7f808000u,
          0x7f7fffffu, 0x7f7f8000u, 0x7f7f7fffu, 0x00000001u, 0x007fffffu, 0x00800000u}) {
        in.push_back(magnitude);
        in.push_back(magnitude | 0x80000000);
    }
    std::mt19937 random(20240613);
    int const lowest  = std::max(std::ilogb(format.value(1)) - 3, -127) + 127;
    int const highest = std::min(std::ilogb(format.value(format.largest)) + 2, 127) + 127;
    for (int i = 0; i < random_count; ++i) {
        in.push_back(static_cast<u32>(random()));
        u32 const exponent = lowest + static_cast<u32>(random()) % (highest - lowest + 1);
        in.push_back((static_cast<u32>(random()) & 0x807fffff) | exponent << 23);
    }
    while (in.size() % 8 != 0) {
        in.push_back(0);
    }
    return in;
}

/// Every code of a format, eight at a time.
template <class T>
words every_code()
{
    int const count = 2 * static_cast<int>(format_of<T>().sign_bit);
    words packed(static_cast<std::size_t>(count) / 8 * packed_words<T>);
    for (int code = 0; code < count; ++code) {
        pack_code(packed.data() + code / 8 * packed_words<T>, code % 8,
                  T{static_cast<decltype(T::bits)>(code)});
    }
    return packed;
}

/// One case against the reference: counts the codes that differ and describes the first.
template <class Case, class Run>
void check_narrowing_case(char const* what, Run const& run, words const& in,
                          std::vector<unsigned> const& expected)
{
    using T            = typename Case::type;
    auto const& format = format_of<T>();
    words const out    = run(Case{}, in);
    REQUIRE(out.size() == in.size() / 8 * packed_words<T>);

    std::size_t wrong = 0;
    std::string first;
    for (std::size_t i = 0; i < in.size(); ++i) {
        unsigned const code =
            unpack_code<T>(out.data() + i / 8 * packed_words<T>, static_cast<int>(i % 8)).bits;
        bool const right = expected[i] == number_format::nan ? format.is_nan(code) : code == expected[i];
        if (!right && wrong++ == 0) {
            char text[160];
            std::snprintf(text, sizeof text, "%s, input 0x%08x (%.9g): got 0x%x, need 0x%x", what, in[i],
                          static_cast<double>(float_of(in[i])), code, expected[i]);
            first = text;
        }
    }
    INFO(first);
    CHECK(wrong == 0);
}

/// encode, narrow, narrow_pair and the vector form all give the nearest code, ties to even, under the policy.
template <class T, class Overflow, class Run>
void check_narrowing(Run const& run, words const& in)
{
    std::vector<unsigned> expected(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
        expected[i] = format_of<T>().nearest(float_of(in[i]), kvloom::is_same_v<Overflow, kvloom::saturate>);
    }
    INFO(kvloom::numeric<T>::name);
    check_narrowing_case<encode_singles<T, Overflow>>("encode", run, in, expected);
    check_narrowing_case<narrow_singles<T, Overflow>>("narrow", run, in, expected);
    check_narrowing_case<narrow_pairs<T, Overflow>>("narrow_pair", run, in, expected);
    check_narrowing_case<narrow_vector<T, Overflow>>("narrow of a vec", run, in, expected);
}

template <class Case, class Run>
void check_widening_case(char const* what, Run const& run)
{
    using T            = typename Case::type;
    auto const& format = format_of<T>();
    words const out    = run(Case{}, every_code<T>());
    REQUIRE(out.size() == 2 * format.sign_bit);

    INFO(what);
    for (unsigned code = 0; code < out.size(); ++code) {
        float const x    = float_of(out[code]);
        bool const right = format.is_nan(code) ? std::isnan(x)
                                               : out[code] == bits_of(static_cast<float>(format.value(code)));
        if (!right) {
            CAPTURE(code, x);
            FAIL_CHECK("not the value of this code");
            return;
        }
    }
    SUCCEED();
}

/// decode, widen, widen_pair and the vector form all give the exact value of every code.
template <class T, class Run>
void check_widening(Run const& run)
{
    INFO(kvloom::numeric<T>::name);
    check_widening_case<decode_singles<T>>("decode", run);
    check_widening_case<widen_singles<T>>("widen", run);
    check_widening_case<widen_pairs<T>>("widen_pair", run);
    check_widening_case<widen_vector<T>>("widen of a vec", run);
}

/// Every code of T, as each of four values in turn, beside three others of which one may be NaN.
template <class T, class Run>
void check_largest_by_keys(Run const& run)
{
    auto const& format = format_of<T>();
    words in;
    std::vector<float> want;
    std::uint32_t state = 77;
    for (unsigned code = 0; code < 2 * format.sign_bit; ++code) {
        std::uint32_t codes[4];
        float largest = 0.0f;
        for (unsigned i = 0; i < 4; ++i) {
            state       = state * 1664525u + 1013904223u;
            bool same   = i == code / 7 % 4;
            bool little = state >> 31 != 0; // else nearly every other value would be larger
            codes[i] = same ? code : (little ? code & (state >> 8) : state >> 8) & (2 * format.sign_bit - 1);
            float const size = static_cast<float>(std::fabs(format.value(codes[i])));
            largest          = format.is_nan(codes[i]) ? largest : std::max(largest, size);
        }
        in.push_back(codes[0] | codes[1] << 16);
        in.push_back(codes[2] | codes[3] << 16);
        want.push_back(largest);
    }
    words const out = run(largest_by_keys<T>{}, in);
    int unequal     = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        unequal += out[i] != bits_of(want[i]) ? 1 : 0;
    }
    INFO(kvloom::numeric<T>::name);
    CHECK(unequal == 0);
}

} // namespace kvloom_test
