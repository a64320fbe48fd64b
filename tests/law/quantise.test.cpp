// SPDX-License-Identifier: MIT
// A quotient by a shared reciprocal is the correctly rounded one, and gives the fp8 codes of division.
#include "kvloom/core/fp8.hpp"
#include "law/quantise_runs.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <limits>

using namespace kvloom_test;

namespace {

/// Significands in [1, 2) where a rounding or a reciprocal turns over: eighths, 1, 2, and numbers at random.
std::vector<float> scale_significands()
{
    std::vector<float> all;
    for (int eighth = 8; eighth < 16; ++eighth) {
        auto const centre = bits_of(static_cast<float>(eighth) / 8.0f);
        for (int ulps = -3; ulps <= 3; ++ulps) {
            all.push_back(std::ldexp(of_bits(centre + static_cast<std::uint32_t>(ulps)),
                                     eighth == 8 && ulps < 0 ? 1 : 0)); // below 1 lies below 2
        }
    }
    random_source random(31);
    for (int i = 0; i < 12; ++i) {
        all.push_back(of_bits(0x3F800000u + static_cast<std::uint32_t>(random.below(1 << 23))));
    }
    return all;
}

/// Values with every n-th significand whose quotients' exponents go from -11 to 49 in turn.
std::vector<float> values_for(float const scale, int const step, int const first)
{
    std::vector<float> values;
    int const exponent = std::ilogb(scale);
    for (int significand = first; significand < 1 << 23; significand += step) {
        auto const i         = static_cast<int>(values.size());
        int const lift       = -11 + i % 61;
        float const unscaled = of_bits(0x3F800000u + static_cast<std::uint32_t>(significand));
        float const value    = std::ldexp(unscaled, std::min(127, exponent + lift));
        values.push_back(i / 61 % 2 == 0 ? value : -value);
    }
    return values;
}

/// Quotients that differ from the correctly rounded ones, among those of which that is promised.
template <class Quantiser>
int unequal_quotients(runs const& r, double const most = std::ldexp(1.0, 50))
{
    auto const got = quotients_of<Quantiser>(r);
    int unequal    = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        float const want = divided(r.values[i], usable(r.scales[i / run_length]));
        bool const far =
            std::fabs(want) != 0.0f
            && (std::fabs(want) < std::ldexp(1.0f, -12) || std::fabs(static_cast<double>(want)) > most);
        if (!far && std::isfinite(want) && bits_of(got[i]) != bits_of(want) && unequal++ == 0) {
            INFO(r.values[i] << " / " << r.scales[i / run_length] << " is " << want << ", got " << got[i]);
            CHECK(bits_of(got[i]) == bits_of(want));
        }
    }
    return unequal;
}

/// Codes that differ from those of true division, any NaN counting as any other.
template <class Quantiser, class T, class Overflow>
int unequal_codes(runs const& r)
{
    auto const got = quotients_of<Quantiser>(r);
    int unequal    = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        float const scale = usable(r.scales[i / run_length]);
        auto const want   = encode<T, Overflow>(divided(r.values[i], scale));
        auto const have   = encode<T, Overflow>(got[i]);
        bool const nans   = std::isnan(decode(want)) && std::isnan(decode(have));
        if (want != have && !nans && unequal++ == 0) {
            INFO(r.values[i] << " / " << r.scales[i / run_length] << " becomes " << got[i]);
            CHECK(int(have.bits) == int(want.bits));
        }
    }
    return unequal;
}

template <int Number>
struct whole_number
{
    static constexpr float value = Number;
};

/// The scales of rows whose largest magnitudes are the values, in the guise of a quantiser.
template <class Limit>
struct scales_of_rows
{
    KVLOOM_FN explicit scales_of_rows(float) {}

    template <int N>
    KVLOOM_FN vec<float, N> operator()(vec<float, N> largest) const
    {
        for (int i = 0; i < N; ++i) {
            largest[i] = found_scale<token_scaling, Limit>(largest[i]);
        }
        return largest;
    }
};

/// Largest magnitudes with every n-th significand, their exponents from -149 to 127 in turn.
template <int Number>
void check_found_scales()
{
    runs r;
    std::vector<float> values;
    int const step = plain_program ? 31 : KVLOOM_TEST_BACKEND_HOST ? 3 : 1;
    for (int significand = 0; significand < 1 << 23; significand += step) {
        int const exponent = -149 + significand / 3 % 277;
        values.push_back(
            std::ldexp(of_bits(0x3F800000u + static_cast<std::uint32_t>(significand)), exponent));
    }
    values.push_back(std::numeric_limits<float>::max());
    r.add(static_cast<float>(Number), values);
    CAPTURE(Number);
    auto const got = quotients_of<scales_of_rows<whole_number<Number>>>(r);
    int unequal    = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        unequal += bits_of(got[i]) != bits_of(divided(values[i], static_cast<float>(Number))) ? 1 : 0;
    }
    CHECK(unequal == 0);
}

} // namespace

TEST_CASE("a quotient by a shared reciprocal rounds as one division", "[law][quantise]")
{
    int first = 0;
    for (float const significand : scale_significands()) {
        CAPTURE(significand);
        runs r;
        r.add(significand, values_for(significand,
                                      plain_program              ? 4093
                                      : KVLOOM_TEST_BACKEND_HOST ? 61
                                                                 : 7,
                                      first));
        CHECK(unequal_quotients<divided_by>(r) == 0);
        CHECK(unequal_quotients<divided_by_own_scale>(r) == 0);
        first = (first + 17) % 61;
    }
}

TEST_CASE("scales of every size, of either sign, and such as cannot be divided by", "[law][quantise]")
{
    float const infinity = std::numeric_limits<float>::infinity();
    std::vector<float> scales{0.0f, -0.0f, infinity, -infinity, std::nanf(""), 1e-45f, 1e-38f, 3e38f};
    for (int exponent = -140; exponent <= 120; exponent += 5) {
        for (double const significand : {1.0, 1.1, 1.75, 1.9999999}) {
            scales.push_back(static_cast<float>(std::ldexp(significand, exponent)));
            scales.push_back(-scales.back());
        }
    }
    for (float const scale : scales) {
        CAPTURE(scale);
        runs r;
        r.add(scale, values_for(usable(scale), 104729, 5));
        r.add(scale, {0.0f, -0.0f});
        CHECK(unequal_quotients<divided_by>(r) == 0);
        if (scale > 0.0f || usable(scale) == 1.0f) { // a scale that was found is positive
            CHECK(unequal_quotients<divided_by_own_scale>(r) == 0);
        }
    }
}

TEST_CASE("zeros keep their sign, NaN stays NaN, infinities stay beyond every format", "[law][quantise]")
{
    float const infinity = std::numeric_limits<float>::infinity();
    for (float const scale : {0.7f, 1e-38f, 3e38f, -0.7f, 448.0f, 1e10f, -1e10f, 0x1p-130f}) {
        runs r;
        r.add(scale, {0.0f, -0.0f, std::nanf(""), infinity, -infinity});
        auto const got  = quotients_of<divided_by>(r);
        bool const turn = scale < 0.0f;
        CAPTURE(scale);
        CHECK((got[0] == 0.0f && std::signbit(got[0]) == turn));
        CHECK((got[1] == 0.0f && std::signbit(got[1]) != turn));
        CHECK(std::isnan(got[2]));
        CHECK((turn ? -got[3] : got[3]) > 1e6f);
        CHECK((turn ? -got[4] : got[4]) < -1e6f);
    }
}

TEST_CASE("fp8 codes of all bf16 numbers are those of true division", "[law][quantise]")
{
    auto const values = all_of_bf16();
    float const inf   = std::numeric_limits<float>::infinity();
    for (float const scale :
         {1.0f,           0.7f,      1.3f,      7.0f,      28.0f,  1.0f / 3.0f,  448.0f,   240.0f / 224.0f,
          1e-8f / 240.0f, 0.5f,      2.0f,      1e-3f,     1e10f,  1e-20f,       0x1p-80f, 0x1p80f,
          0x1.8p-81f,     0x1.8p80f, 0x1p-126f, 0x1p-130f, 1e-45f, 1e-38f,       3e38f,    0x1p127f,
          0.0f,           -0.7f,     -3e38f,    -1e-38f,   inf,    std::nanf("")}) {
        CAPTURE(scale);
        runs r;
        r.add(scale, values);
        CHECK(unequal_codes<divided_by, fp8_e4m3, saturate>(r) == 0);
        CHECK(unequal_codes<divided_by, fp8_e4m3, to_nan>(r) == 0);
        CHECK(unequal_codes<divided_by, fp8_e4m3_fnuz, saturate>(r) == 0);
        CHECK(unequal_codes<divided_by, fp8_e4m3_fnuz, to_nan>(r) == 0);
    }
}

TEST_CASE("fp8 codes of rows that found their scale are those of true division", "[law][quantise]")
{
    random_source random(5);
    runs r;
    for (int i = 0; i < (plain_program ? 20000 : 200000); ++i) {
        std::vector<float> row;
        float largest      = 0.0f;
        int const exponent = random.below(250) - 125;
        for (int d = 0; d < run_length; ++d) {
            row.push_back(static_cast<float>(std::ldexp(random.normal(), exponent - random.below(12))));
            largest = std::max(largest, std::fabs(row.back()));
        }
        r.add(largest / (i % 3 == 0 ? 448.0f : i % 3 == 1 ? 240.0f : 224.0f), row);
    }
    CHECK(unequal_codes<divided_by_own_scale, fp8_e4m3, saturate>(r) == 0);
    CHECK(unequal_codes<divided_by_own_scale, fp8_e4m3_fnuz, saturate>(r) == 0);
    CHECK(unequal_codes<divided_by, fp8_e4m3, saturate>(r) == 0);
}

TEST_CASE("what fp16 rounds to infinity after the scale was found is stored as the largest number",
          "[law][quantise]")
{
    float const infinity = std::numeric_limits<float>::infinity();
    runs r;
    for (float const largest : {65520.0f, 65536.0f, 90510.0f, 1e6f, 1e30f}) {
        for (float const limit : {448.0f, 240.0f, 224.0f}) {
            r.add(largest / limit, {infinity, -infinity, 65504.0f, -65504.0f, 1.0f, 0.0f, -0.0f});
        }
    }
    CHECK(unequal_codes<divided_by_own_scale, fp8_e4m3, saturate>(r) == 0);
    CHECK(unequal_codes<divided_by_own_scale, fp8_e4m3_fnuz, saturate>(r) == 0);
}

TEST_CASE("the scale that a row finds is its largest magnitude over the limit, rounded once",
          "[law][quantise]")
{
    check_found_scales<448>();
    check_found_scales<240>();
    check_found_scales<224>();
    check_found_scales<200>();
}
