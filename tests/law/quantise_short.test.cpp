// SPDX-License-Identifier: MIT
// The short form of a division, and values that are quantised and narrowed in one.
#include "kvloom/core/fp8.hpp"
#include "kvloom/group/row.hpp"
#include "law/quantise_runs.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <limits>

using namespace kvloom_test;

namespace {

/// Values as the short form of `Quantiser` makes them.
template <class Quantiser>
struct short_form_of
{
    float scale;

    KVLOOM_FN explicit short_form_of(float given) : scale(given) {}

    template <int N>
    KVLOOM_FN vec<float, N> operator()(vec<float, N> const& values) const
    {
        return detail::short_form(Quantiser{scale})(values);
    }
};

/// fp8 codes by pack_by, or by a conversion of what the quantiser gives, as numbers.
template <class Quantiser, class T, bool Apart>
struct codes_of
{
    float scale;

    KVLOOM_FN explicit codes_of(float given) : scale(given) {}

    template <int N>
    KVLOOM_FN vec<float, N> operator()(vec<float, N> const& values) const
    {
        Quantiser const by{scale};
        auto const words = Apart ? pack_each<T>(by(values)) : pack_by<T>(by, values);
        vec<float, N> codes;
        for (int i = 0; i < N; ++i) {
            codes[i] = float(int(words[i / 4] >> (8 * (i % 4)) & 0xffu));
        }
        return codes;
    }
};

/// The same bits, or both so small that every format makes zero of them, or both so large that none holds them.
bool same_number(float const a, float const b)
{
    double const x = std::fabs(static_cast<double>(a)), y = std::fabs(static_cast<double>(b));
    double const little = std::ldexp(1.0, -12), much = std::ldexp(1.0, 50);
    bool const alike = (x < little && y < little) || (x > much && y > much);
    return bits_of(a) == bits_of(b) || (alike && std::signbit(a) == std::signbit(b));
}

} // namespace

TEST_CASE("the short form of a division gives what the long one does, or NaN", "[law][quantise]")
{
    auto const values = all_of_bf16();
    for (float const scale :
         {1.0f, 0.7f, 0x1p7f, 448.0f, 1e10f, 1e-20f, 0x1p-80f, 0x1p80f, 0x1.8p-81f, 0x1.8p80f, 0.0f, -0.7f,
          1e-45f, 3e38f, std::numeric_limits<float>::infinity()}) {
        CAPTURE(scale);
        runs r;
        r.add(scale, values);
        auto const longer  = quotients_of<divided_by>(r);
        auto const shorter = quotients_of<short_form_of<divided_by>>(r);
        auto const own     = quotients_of<short_form_of<divided_by_own_scale>>(r);
        int unequal = 0, missing = 0;
        bool const ordinary = scale >= 0x1p-80f && scale <= 0x1p80f;
        for (std::size_t i = 0; i < values.size(); ++i) {
            bool const wanted =
                ordinary && std::isfinite(values[i]) && std::isfinite(divided(values[i], scale));
            unequal += !std::isnan(shorter[i]) && !same_number(shorter[i], longer[i]) ? 1 : 0;
            unequal += !std::isnan(own[i]) && !same_number(own[i], longer[i]) ? 1 : 0;
            missing += wanted && std::isnan(shorter[i]) ? 1 : 0;
            missing += wanted && scale <= 0x1p7f && std::isnan(own[i]) ? 1 : 0;
            // A number where none can be told from NaN would be taken for one.
            unequal += !std::isfinite(values[i]) && !std::isnan(shorter[i]) ? 1 : 0;
        }
        CHECK(unequal == 0);
        CHECK(missing == 0);
    }
}

TEMPLATE_TEST_CASE("values that are quantised and narrowed in one are what they are in two steps",
                   "[law][quantise]", fp8_e4m3, fp8_e4m3_fnuz)
{
    auto const values =
        all_of_bf16(); // a chunk with a NaN or an infinity takes the long way, others the short one
    for (float const scale : {1.0f, 0.7f, 3.0f, 1e-3f, 1e10f, 1e-20f, 0x1.8p-81f, 0x1.8p80f, 0.0f, -0.7f}) {
        CAPTURE(scale);
        runs r;
        r.add(scale, values);
        CHECK((quotients_of<codes_of<divided_by, TestType, false>>(r)
               == quotients_of<codes_of<divided_by, TestType, true>>(r)));
    }
}

TEMPLATE_TEST_CASE("rows that found their scale need no clamp", "[law][quantise]", fp8_e4m3, fp8_e4m3_fnuz)
{
    random_source random(17);
    runs r;
    for (int i = 0; i < (plain_program ? 5000 : 50000); ++i) {
        std::vector<float> row;
        float largest      = 0.0f;
        int const exponent = random.below(150) - 75;
        for (int d = 0; d < run_length; ++d) {
            row.push_back(static_cast<float>(std::ldexp(random.normal(), exponent - random.below(4))));
            largest = std::max(largest, std::fabs(row.back()));
        }
        // Rounded after the scale was found, a row exceeds what it was found from by 2^-8 at most.
        row[0] = largest * (1.0f + std::ldexp(1.0f, -8));
        row[1] = i % 50 == 0 ? std::nanf("") : i % 50 == 1 ? std::numeric_limits<float>::infinity() : row[1];
        r.add(largest / numeric<TestType>::largest, row);
    }
    CHECK((quotients_of<codes_of<divided_by_own_scale, TestType, false>>(r)
           == quotients_of<codes_of<divided_by_own_scale, TestType, true>>(r)));
}
