// SPDX-License-Identifier: MIT
// What is done around a hardware conversion to fp8, run on the CPU around a model of the instruction: AMD's rounds to the
// nearest even code and makes NaN of whatever would round beyond the largest value. The software conversion must give the
// same bytes, in both formats.
#include "kvloom/core/vec.hpp"
#include "support/catch.hpp"
#include "unit/core/convert_checks.hpp"

#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

/// The code of the instruction; -1 for NaN.
template <class T>
int converted(float x)
{
    unsigned const code = format_of<T>().nearest(x, false);
    return code == number_format::nan ? -1 : int(code);
}

template <class T>
int software(float x)
{
    unsigned const code = narrow<T>(x).bits;
    return format_of<T>().is_nan(code) ? -1 : int(code);
}

std::vector<float> const scales = {1.0f,  -1.0f,  0.7f,     1.3f,     28.0f,    1.0f / 3.0f, 1e-3f,  1e3f,
                                   1e10f, 1e-20f, 0x1p-80f, 0x1p127f, 0x1p100f, 1e-45f,      448.0f, 240.0f};

} // namespace

TEMPLATE_TEST_CASE(
    "clamped, a conversion in hardware gives the bytes of software: every bf16 number at many scales",
    "[core][fp8]", fp8_e4m3, fp8_e4m3_fnuz)
{
    for (float const scale : scales) {
        int wrong = 0, of_numbers = 0;
        for (u32 high = 0; high < 0x10000; ++high) {
            float const x = bit_cast<float>(high << 16) * scale;
            wrong += converted<TestType>(detail::within_fp8<TestType, detail::values::any>(x))
                     != software<TestType>(x);
            if (!is_nan(x)) {
                auto const clamped = detail::within_fp8<TestType, detail::values::numbers>(x);
                of_numbers += converted<TestType>(clamped) != software<TestType>(x);
            }
        }
        CAPTURE(scale);
        CHECK(wrong == 0);
        CHECK(of_numbers == 0);
    }
}

TEMPLATE_TEST_CASE("NaN among numbers stays where it is, and the numbers stay what they are", "[core][fp8]",
                   fp8_e4m3, fp8_e4m3_fnuz)
{
    float const beyond[] = {1e30f, -1e30f, bit_cast<float>(0x7f800000u), bit_cast<float>(0xff800000u)};
    for (u32 const nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu}) {
        for (int at = 0; at < 16; ++at) {
            vec<float, 16> x;
            for (int i = 0; i < 16; ++i) {
                x[i] = i % 3 == 0 ? beyond[i / 3 % 4] : float(i - 7) * 1.37f;
            }
            x[at]            = bit_cast<float>(nan);
            auto const codes = narrow<TestType>(x);
            for (int i = 0; i < 16; ++i) {
                CAPTURE(nan, at, i);
                CHECK(format_of<TestType>().is_nan(codes[i].bits) == (i == at));
                CHECK((i == at || int(codes[i].bits) == int(format_of<TestType>().nearest(x[i], true))));
            }
        }
    }
}
