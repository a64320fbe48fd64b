// SPDX-License-Identifier: MIT
// vec: layout in memory and in words, and conversions of every length.
#include "kvloom/core/vec.hpp"
#include "support/catch.hpp"
#include "unit/core/format_reference.hpp"

#include <tuple>
#include <type_traits>
#include <utility>

using kvloom::bf16;
using kvloom::fp16;
using kvloom::fp8_e4m3;
using kvloom::fp8_e4m3_fnuz;
using kvloom::u16;
using kvloom::u32;
using kvloom::u8;
using kvloom::vec;

using element_types = std::tuple<float, bf16, fp16, fp8_e4m3, fp8_e4m3_fnuz>;

static_assert(std::is_trivially_copyable_v<vec<float, 8>> && std::is_aggregate_v<vec<float, 8>>);
static_assert(std::is_trivially_copyable_v<
                  vec<fp8_e4m3, 16>> && std::is_trivially_default_constructible_v<vec<fp8_e4m3, 16>>);
static_assert(sizeof(vec<bf16, 8>) == 16 && alignof(vec<bf16, 8>) == 16);
static_assert(sizeof(vec<fp8_e4m3, 8>) == 8 && alignof(vec<fp8_e4m3, 8>) == 8);
static_assert(sizeof(vec<fp8_e4m3, 2>) == 2 && alignof(vec<fp8_e4m3, 2>) == 2);
static_assert(sizeof(vec<float, 8>) == 32 && alignof(vec<float, 8>) == 16);
static_assert(sizeof(vec<float, 3>) == 12 && alignof(vec<float, 3>) == 4);
static_assert(sizeof(vec<bf16, 6>) == 12 && alignof(vec<bf16, 6>) == 4);
static_assert(sizeof(vec<u8, 3>) == 3 && sizeof(vec<u8, 1>) == 1 && sizeof(vec<u16, 3>) == 6);

constexpr vec<float, 2> written{{1.0f, 2.0f}};
static_assert(written[0] == 1.0f && written.e[1] == 2.0f);

constexpr u32 third_of_four()
{
    vec<u8, 4> x{};
    x[2] = 7;
    return x[2] + 10u * x[0];
}
static_assert(third_of_four() == 7);

TEST_CASE("element 0 lies lowest in the words of a vec", "[core][vec]")
{
    vec<bf16, 4> halves{};
    vec<fp8_e4m3, 8> bytes{};
    for (int i = 0; i < 4; ++i) {
        halves[i].bits = static_cast<u16>(0x1111 * (i + 1));
    }
    for (int i = 0; i < 8; ++i) {
        bytes[i].bits = static_cast<u8>(0x11 * (i + 1));
    }
    auto const first = kvloom::bit_cast<vec<u32, 2>>(halves);
    CHECK(first[0] == 0x22221111);
    CHECK(first[1] == 0x44443333);
    auto const second = kvloom::bit_cast<vec<u32, 2>>(bytes);
    CHECK(second[0] == 0x44332211);
    CHECK(second[1] == 0x88776655);
    CHECK(kvloom::bit_cast<vec<bf16, 4>>(first)[2] == halves[2]);
}

namespace {

/// Equal, or both NaN whatever the encoding.
template <class T>
bool same(T a, T b)
{
    return a == b || (kvloom::is_nan(kvloom::decode(a)) && kvloom::is_nan(kvloom::decode(b)));
}

template <class T, int N>
void check_length()
{
    vec<float, N> x;
    for (int i = 0; i < N; ++i) {
        x[i] = (i % 2 == 0 ? 1.0f : -1.0f) * (0.37f + 61.1f * static_cast<float>(i));
    }
    vec<T, N> const saturated = kvloom::narrow<T>(x);
    vec<T, N> const other     = kvloom::narrow<T, kvloom::to_nan>(x);
    vec<float, N> const wide  = kvloom::widen(saturated);
    for (int i = 0; i < N; ++i) {
        CAPTURE(N, i);
        CHECK(saturated[i] == kvloom::encode<T>(x[i]));
        CHECK(same(other[i], kvloom::encode<T, kvloom::to_nan>(x[i])));
        CHECK(wide[i] == kvloom::decode(saturated[i]));
    }
}

template <class T, int... N>
void check_lengths(std::integer_sequence<int, N...>)
{
    (check_length<T, N + 1>(), ...);
}

} // namespace

TEMPLATE_LIST_TEST_CASE("a vec of any length converts like its elements", "[core][vec]", element_types)
{
    check_lengths<TestType>(std::make_integer_sequence<int, 16>());
}

TEST_CASE("move_down shifts what waits and leaves the last in place", "[core][vec]")
{
    int plain[4] = {1, 2, 3, 4};
    kvloom::move_down<4>(plain);
    CHECK((plain[0] == 2 && plain[1] == 3 && plain[2] == 4 && plain[3] == 4));

    vec<float, 3> x{{1.0f, 2.0f, 3.0f}};
    kvloom::move_down<3>(x);
    CHECK((x[0] == 2.0f && x[1] == 3.0f && x[2] == 3.0f));
}
