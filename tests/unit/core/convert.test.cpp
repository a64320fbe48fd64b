// SPDX-License-Identifier: MIT
// Conversions of core: every code, every rounding boundary and random floats, against a reference in double.
#include "unit/core/convert_checks.hpp"

#include <tuple>
#include <type_traits>

using namespace kvloom_test;
using kvloom::bf16;
using kvloom::decode;
using kvloom::encode;
using kvloom::fp16;
using kvloom::fp8_e4m3;
using kvloom::fp8_e4m3_fnuz;
using kvloom::narrow;
using kvloom::saturate;
using kvloom::to_nan;
using kvloom::widen;

using storage_types = std::tuple<bf16, fp16, fp8_e4m3, fp8_e4m3_fnuz>;
using fp8_types     = std::tuple<fp8_e4m3, fp8_e4m3_fnuz>;

static_assert(std::is_trivially_copyable_v<bf16> && std::is_aggregate_v<bf16> && sizeof(bf16) == 2);
static_assert(std::is_trivially_copyable_v<fp16> && std::is_aggregate_v<fp16> && sizeof(fp16) == 2);
static_assert(
    std::is_trivially_copyable_v<fp8_e4m3> && std::is_aggregate_v<fp8_e4m3> && sizeof(fp8_e4m3) == 1);
static_assert(std::is_trivially_copyable_v<fp8_e4m3_fnuz> && sizeof(fp8_e4m3_fnuz) == 1);
static_assert(std::is_same_v<kvloom::packed_pair_t<bf16>, kvloom::u32>);
static_assert(std::is_same_v<kvloom::packed_pair_t<fp8_e4m3>, kvloom::u16>);

// decode and encode are constant expressions.
static_assert(decode(bf16{0x4049}) == 3.140625f && encode<bf16>(3.14159274f) == bf16{0x4049});
static_assert(decode(fp16{0x0001}) == 0x1p-24f && encode<fp16>(65519.0f) == fp16{0x7bff});
static_assert(encode<fp16>(65520.0f) == fp16{0x7c00} && encode<fp16>(-0x1p-24f) == fp16{0x8001});
static_assert(encode<fp8_e4m3>(-0x1p-9f) == fp8_e4m3{0x81} && encode<fp8_e4m3>(-0.0f) == fp8_e4m3{0x80});
static_assert(encode<fp8_e4m3_fnuz>(-0x1p-10f) == fp8_e4m3_fnuz{0x81}
              && encode<fp8_e4m3_fnuz>(-0.0f) == fp8_e4m3_fnuz{0});
static_assert(encode<float>(1.5f) == 1.5f && decode(1.5f) == 1.5f);
static_assert(bf16{1} != bf16{2} && fp16{1} != fp16{2} && fp8_e4m3{1} != fp8_e4m3{2}
              && fp8_e4m3_fnuz{3} == fp8_e4m3_fnuz{3});

TEMPLATE_LIST_TEST_CASE("every code has the value that the definition of its format gives", "[core][convert]",
                        storage_types)
{
    check_widening<TestType>(run_on_host{});
}

TEMPLATE_LIST_TEST_CASE("every code survives decoding and encoding", "[core][convert]", storage_types)
{
    using code_type    = decltype(TestType::bits);
    auto const& format = format_of<TestType>();
    unsigned wrong     = 0;
    for (unsigned code = 0; code < 2 * format.sign_bit; ++code) {
        TestType const x{static_cast<code_type>(code)};
        TestType const saturated = encode<TestType>(decode(x));
        TestType const other     = encode<TestType, to_nan>(decode(x));
        if (format.is_nan(code)) {
            wrong += format.is_nan(saturated.bits) && format.is_nan(other.bits) ? 0 : 1;
        } else {
            wrong += saturated == x && other == x ? 0 : 1;
        }
    }
    CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("narrowing gives the nearest value, ties to even", "[core][convert]", storage_types)
{
    words const in = deciding_floats(format_of<TestType>(), 1500000);
    check_narrowing<TestType, saturate>(run_on_host{}, in);
}

TEMPLATE_LIST_TEST_CASE("narrowing to NaN on overflow differs beyond the largest value alone",
                        "[core][convert]", storage_types)
{
    words const in = deciding_floats(format_of<TestType>(), 500000);
    check_narrowing<TestType, to_nan>(run_on_host{}, in);
}

TEMPLATE_LIST_TEST_CASE("numeric states the largest value and the size", "[core][convert]", storage_types)
{
    using facts        = kvloom::numeric<TestType>;
    auto const& format = format_of<TestType>();
    CHECK(static_cast<double>(facts::largest) == format.value(format.largest));
    CHECK(facts::bytes == static_cast<int>(sizeof(TestType)));
    CHECK(kvloom::numeric<float>::largest == std::numeric_limits<float>::max());
    CHECK(kvloom::numeric<float>::bytes == 4);
    CHECK(std::string(kvloom::numeric<float>::name) == "float");
}

TEST_CASE("names of formats are their types", "[core][convert]")
{
    CHECK(std::string(kvloom::numeric<bf16>::name) == "bf16");
    CHECK(std::string(kvloom::numeric<fp16>::name) == "fp16");
    CHECK(std::string(kvloom::numeric<fp8_e4m3>::name) == "fp8_e4m3");
    CHECK(std::string(kvloom::numeric<fp8_e4m3_fnuz>::name) == "fp8_e4m3_fnuz");
}

TEST_CASE("bf16 rounds to nearest even and keeps NaN", "[core][convert]")
{
    auto const code = [](std::uint32_t const bits) { return encode<bf16>(float_of(bits)).bits; };
    CHECK(code(0x3e89ccd5) == 0x3e8a);
    CHECK(code(0x7f7fffff) == 0x7f80);
    CHECK(code(0x3f808000) == 0x3f80);
    CHECK(code(0x3f818000) == 0x3f82);
    for (std::uint32_t const bits : {0x7f800001u, 0x7fff8c22u, 0xffffffffu, 0x7fffffffu, 0xff800001u}) {
        CAPTURE(bits);
        CHECK(std::isnan(decode(encode<bf16>(float_of(bits)))));
        CHECK((code(bits) & 0x40) != 0); // quiet
        CHECK(std::isnan(widen(narrow<bf16>(float_of(bits)))));
        CHECK(std::isnan(decode(encode<fp16>(float_of(bits)))));
        CHECK((encode<fp16>(float_of(bits)).bits & 0x200) != 0);
    }
}

TEST_CASE("the same byte is another number in the other fp8 format", "[core][convert]")
{
    CHECK(widen(fp8_e4m3{0x40}) == 2.0f);
    CHECK(widen(fp8_e4m3_fnuz{0x40}) == 1.0f);
    CHECK(narrow<fp8_e4m3>(1.0f).bits == 0x38);
    CHECK(narrow<fp8_e4m3_fnuz>(1.0f).bits == 0x40);
}

TEST_CASE("fp8 overflow follows the policy", "[core][convert]")
{
    CHECK(narrow<fp8_e4m3>(1000.0f).bits == 0x7e);
    CHECK(narrow<fp8_e4m3_fnuz>(1000.0f).bits == 0x7f);
    CHECK(narrow<fp8_e4m3>(464.0f).bits == 0x7e);
    CHECK(narrow<fp8_e4m3, to_nan>(464.0f).bits == 0x7e);
    CHECK(narrow<fp8_e4m3>(465.0f).bits == 0x7e);
    CHECK((narrow<fp8_e4m3, to_nan>(465.0f).bits & 0x7f) == 0x7f);
    CHECK(narrow<fp8_e4m3_fnuz, to_nan>(247.99998f).bits == 0x7f);
    CHECK(narrow<fp8_e4m3_fnuz, to_nan>(248.0f).bits == 0x80);
    CHECK(narrow<fp8_e4m3_fnuz>(248.0f).bits == 0x7f);
    CHECK(narrow<fp8_e4m3>(-1000.0f).bits == 0xfe);
    CHECK(narrow<fp8_e4m3_fnuz>(-1000.0f).bits == 0xff);
}

TEMPLATE_LIST_TEST_CASE("fp8 takes infinity as overflow and keeps NaN", "[core][convert]", fp8_types)
{
    float const infinity = std::numeric_limits<float>::infinity();
    CHECK(widen(narrow<TestType>(infinity)) == kvloom::numeric<TestType>::largest);
    CHECK(widen(narrow<TestType>(-infinity)) == -kvloom::numeric<TestType>::largest);
    CHECK(std::isnan(widen(narrow<TestType, to_nan>(infinity))));
    CHECK(std::isnan(widen(narrow<TestType, to_nan>(-infinity))));
    CHECK(std::isnan(widen(narrow<TestType>(float_of(0x7fc00000)))));
    CHECK(std::isnan(widen(narrow<TestType>(float_of(0xff800001)))));
    CHECK(std::isnan(widen(narrow<TestType, to_nan>(float_of(0xffffffff)))));
}

TEST_CASE("FNUZ has no negative zero", "[core][convert]")
{
    CHECK(narrow<fp8_e4m3_fnuz>(-0.0f).bits == 0);
    CHECK(narrow<fp8_e4m3_fnuz>(-0x1p-11f).bits == 0); // halfway to the smallest value
    CHECK(narrow<fp8_e4m3_fnuz>(-1e-30f).bits == 0);
    CHECK(kvloom::narrow_pair<fp8_e4m3_fnuz>(-0.0f, -1e-30f) == 0);
    CHECK(narrow<fp8_e4m3>(-1e-30f).bits == 0x80);
}
