// SPDX-License-Identifier: MIT
// RoPE on every tile: bits equal the formula's, dims beyond the rotation pass untouched, and turning back restores the row.
#include "kvloom/op/rope.hpp"
#include "support/catch.hpp"
#include "support/machines.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class T>
struct rope_args
{
    float const* rows; // [tile][Dim]
    float* turned;     // [tile][Dim]
    float* back;       // [tile][Dim], turned and turned back
    kvloom::angle_table<T> table;
    kvloom::angle_table<T> inverse;
    i64 position;
};

template <int Lanes, int Dim, int Rotary, class T>
struct turn_rows
{
    static constexpr launch_bounds bounds = {128, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, rope_args<T> const& a) const
    {
        auto const tile    = kvloom::tile<Lanes, rotary<Rotary>>(block);
        int const number   = block.thread() / Lanes;
        using source       = row_span<float const, Dim>;
        using target       = row_span<float, Dim>;
        auto const x       = load(tile, source{a.rows + number * Dim});
        auto const turn    = load_angles(tile, a.table, a.position);
        auto const against = load_angles(tile, a.inverse, a.position);
        auto const y       = rope_neox(tile, x, turn);
        store(tile, target{a.turned + number * Dim}, y);
        store(tile, target{a.back + number * Dim}, rope_neox(tile, y, against));
    }
};

std::uint32_t bits_of(float const x)
{
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

template <class T>
std::vector<T> table_of(int const positions, int const rotary, int const stride, double const sign)
{
    std::vector<T> table(std::size_t(positions * stride), encode<T>(NAN));
    for (int p = 0; p < positions; ++p) {
        for (int i = 0; i < rotary / 2; ++i) {
            double const angle                              = p * std::pow(1e4, -2.0 * i / rotary);
            table[std::size_t(p * stride + i)]              = encode<T>(float(std::cos(angle)));
            table[std::size_t(p * stride + rotary / 2 + i)] = encode<T>(float(sign * std::sin(angle)));
        }
    }
    return table;
}

template <int Lanes, int Dim, int Rotary, class T>
void check_rope()
{
    constexpr int tiles  = 128 / Lanes;
    constexpr int stride = (Rotary + 7) / 8 * 8 + 8;
    int const position   = 5;
    std::vector<float> rows(std::size_t(tiles * Dim));
    std::uint32_t state = 99;
    for (float& x : rows) {
        state = state * 1664525U + 1013904223U;
        x     = float(int(state)) * 1e-9F;
    }
    rows[Dim - 1]     = -0.0F; // passes bit for bit unless it turns
    rows[2 * Dim - 1] = NAN;
    auto const table  = table_of<T>(8, Rotary, stride, 1.0);
    auto const other  = table_of<T>(8, Rotary, stride, -1.0);

    on_every_machine([&](char const* name, auto const& stream) {
        device_array<float> in(rows);
        device_array<float> turned(rows.size(), 7.0F);
        device_array<float> back(rows.size(), 7.0F);
        device_array<T> angles(table);
        device_array<T> inverse(other);
        rope_args<T> const args{
            in.data(), turned.data(), back.data(), {angles.data(), 8, stride}, {inverse.data(), 8, stride},
            position};
        run<turn_rows<Lanes, Dim, Rotary, T>>(stream, args);
        auto const y = turned.values();
        auto const x = back.values();
        for (int t = 0; t < tiles; ++t) {
            for (int d = 0; d < Dim; ++d) {
                CAPTURE(name, Lanes, Dim, Rotary, t, d);
                auto const at  = [&](int dim) { return rows[std::size_t(t * Dim + dim)]; };
                auto const got = y[std::size_t(t * Dim + d)];
                if (d >= Rotary) {
                    REQUIRE(bits_of(got) == bits_of(at(d)));
                    continue;
                }
                int const half     = Rotary / 2;
                int const i        = d < half ? d : d - half;
                float const cosine = decode(table[std::size_t(position * stride + i)]);
                float const sine   = decode(table[std::size_t(position * stride + half + i)]);
                float const wanted = d < half ? std::fma(at(d), cosine, at(d + half) * -sine)
                                              : std::fma(at(d), cosine, at(d - half) * sine);
                if (std::isnan(wanted)) {
                    REQUIRE(std::isnan(got));
                    continue;
                }
                REQUIRE(bits_of(got) == bits_of(wanted));
                if (std::is_same_v<T, float> && !std::isnan(at(d))) {
                    // a pair keeps its length, and turns back within a few roundings of it
                    float const partner = at(d < half ? d + half : d - half);
                    float const length  = std::hypot(at(d), partner);
                    REQUIRE(std::fabs(x[std::size_t(t * Dim + d)] - at(d)) <= 8 * 6e-8F * length);
                }
            }
        }
    });
}

struct turn_in_bf16
{
    static constexpr launch_bounds bounds = {128, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, rope_args<bf16> const& a) const
    {
        auto const tile  = kvloom::tile<16, rotary<64>>(block);
        int const number = block.thread() / 16;
        auto const x     = load(tile, row_span<float const, 128>{a.rows + number * 128});
        auto const turn  = load_angles(tile, a.table, a.position);
        auto const y     = rope_neox<rotation_in<bf16>>(tile, x, turn);
        store(tile, row_span<float, 128>{a.turned + number * 128}, y);
    }
};

float in_bf16(float const x)
{
    return decode(encode<bf16>(x));
}

} // namespace

TEST_CASE("rope_neox on tiles of 16 lanes, every way to find a partner", "[op][rope]")
{
    check_rope<16, 128, 0, float>();
    check_rope<16, 128, 2, float>();
    check_rope<16, 128, 16, bf16>();
    check_rope<16, 128, 20, bf16>();
    check_rope<16, 128, 20, float>();
    check_rope<16, 128, 32, float>();
    check_rope<16, 128, 48, bf16>();
    check_rope<16, 128, 64, float>();
    check_rope<16, 128, 64, bf16>();
    check_rope<16, 128, 80, fp16>();
    check_rope<16, 128, 96, float>();
    check_rope<16, 128, 122, float>();
    check_rope<16, 128, 128, float>();
}

TEST_CASE("rope_neox on other tiles and head sizes", "[op][rope]")
{
    check_rope<8, 128, 64, float>();
    check_rope<8, 128, 96, float>();
    check_rope<8, 64, 64, bf16>();
    check_rope<4, 128, 64, float>();
    check_rope<4, 128, 20, float>();
    check_rope<32, 128, 64, float>();
    check_rope<32, 256, 256, float>();
    check_rope<16, 256, 64, bf16>();
    check_rope<16, 256, 192, float>();
    check_rope<16, 256, 256, bf16>();
    check_rope<16, 96, 96, float>();
}

TEST_CASE("a rotation in bf16 rounds both products and their sum", "[op][rope]")
{
    auto const table = table_of<bf16>(8, 64, 64, 1.0);
    std::vector<float> rows(8 * 128);
    std::uint32_t state = 17;
    for (float& x : rows) {
        state = state * 1664525U + 1013904223U;
        x     = in_bf16(float(int(state)) * 1e-9F);
    }
    on_every_machine([&](char const* name, auto const& stream) {
        device_array<float> in(rows);
        device_array<float> turned(rows.size(), 7.0F);
        device_array<bf16> angles(table);
        rope_args<bf16> args{};
        args.rows     = in.data();
        args.turned   = turned.data();
        args.table    = {angles.data(), 8, 64};
        args.position = 5;
        run<turn_in_bf16>(stream, args);
        auto const y = turned.values();
        for (int i = 0; i < 8 * 128; ++i) {
            CAPTURE(name, i);
            int const d = i % 128;
            if (d >= 64) {
                REQUIRE(y[std::size_t(i)] == rows[std::size_t(i)]);
                continue;
            }
            float const cosine  = decode(table[std::size_t(5 * 64 + d % 32)]);
            float const sine    = decode(table[std::size_t(5 * 64 + 32 + d % 32)]);
            float const partner = rows[std::size_t(d < 32 ? i + 32 : i - 32)];
            float const own     = in_bf16(rows[std::size_t(i)] * cosine);
            float const across  = in_bf16(partner * (d < 32 ? -sine : sine));
            REQUIRE(y[std::size_t(i)] == in_bf16(own + across));
        }
    });
}
