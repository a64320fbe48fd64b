// SPDX-License-Identifier: MIT
// RoPE as a rotation: turning back undoes it, pairs keep their length, and dims beyond the rotated ones pass bit for bit.
#include "kvloom/op/memory.hpp"
#include "kvloom/op/rope.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/machines.hpp"

#include <cmath>
#include <cstring>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

constexpr int row_size  = 128;
constexpr int row_count = 16;

struct turn_args
{
    float const* rows;  // [row_count][row_size]
    float const* there; // [row_count][rotary]: cos then sin
    float const* back;  // the same with the sines negative
    float* turned;
    float* returned;
};

template <int Lanes, int Rotary>
struct turn_rows
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, turn_args const& a) const
    {
        auto const tile = kvloom::tile<Lanes, rotary<Rotary>>(block);
        for (int first = 0; first < row_count; first += Block::threads / Lanes) {
            int const at = first + block.thread() / Lanes;
            angle_table<float> const there{a.there, row_count, Rotary};
            angle_table<float> const back{a.back, row_count, Rotary};
            auto const x = load(tile, row_span<float const, row_size>{a.rows + at * row_size});
            auto const y = rope_neox(tile, x, load_angles(tile, there, at));
            auto const z = rope_neox(tile, y, load_angles(tile, back, at));
            store(tile, row_span<float, row_size>{a.turned + at * row_size}, y);
            store(tile, row_span<float, row_size>{a.returned + at * row_size}, z);
        }
    }
};

/// fp32 steps: every turned number is one product rounded alone and one fma, so a pair (a, b) is off by 2 u (|a cos| + |b sin|).
double slack_of(double a, double b, double cosine, double sine)
{
    return 2.002 * std::ldexp(1.0, -24) * (std::fabs(a * cosine) + std::fabs(b * sine))
           + std::ldexp(1.0, -148);
}

template <int Lanes, int Rotary>
void check_turns()
{
    constexpr int half = Rotary / 2;
    random_source random(Rotary * 100 + Lanes);
    std::vector<float> rows;
    for (int i = 0; i < row_count * row_size; ++i) {
        rows.push_back(static_cast<float>(std::ldexp(random.normal(), random.below(12) - 6)));
    }
    rows[0]   = -0.0f;
    rows[127] = Rotary < row_size ? std::nanf("") : 1.0f; // passes where it is not turned
    std::vector<float> there, back;
    for (double const number : cos_sin_table(row_count, Rotary)) {
        auto const i = static_cast<int>(there.size());
        there.push_back(static_cast<float>(number));
        back.push_back(i / half % 2 == 0 ? there.back() : -there.back());
    }
    on_every_machine([&](char const* name, auto const& stream) {
        CAPTURE(name, Lanes, Rotary);
        device_array<float> in(rows), to(there), fro(back), turned(rows.size(), 7.0f),
            returned(rows.size(), 7.0f);
        run<turn_rows<Lanes, Rotary>>(
            stream, turn_args{in.data(), to.data(), fro.data(), turned.data(), returned.data()});
        auto const y = turned.values();
        auto const z = returned.values();
        int not_back = 0, stretched = 0, touched = 0;
        for (int i = 0; i < row_count; ++i) {
            float const* const x0 = &rows[static_cast<std::size_t>(i * row_size)];
            float const* const y0 = &y[static_cast<std::size_t>(i * row_size)];
            float const* const z0 = &z[static_cast<std::size_t>(i * row_size)];
            float const* const t0 = &there[static_cast<std::size_t>(i * Rotary)];
            for (int d = 0; d < half; ++d) {
                double const c = t0[d], s = t0[half + d], a = x0[d], b = x0[d + half];
                double const stretch = c * c + s * s; // the table's own rounding: not quite one
                double const first_a = slack_of(a, b, c, s), first_b = slack_of(b, a, c, s);
                double const slack_a =
                    std::fabs(c) * first_a + std::fabs(s) * first_b + slack_of(y0[d], y0[d + half], c, s);
                double const slack_b =
                    std::fabs(c) * first_b + std::fabs(s) * first_a + slack_of(y0[d + half], y0[d], c, s);
                not_back += !(std::fabs(z0[d] - a * stretch) <= slack_a);
                not_back += !(std::fabs(z0[d + half] - b * stretch) <= slack_b);
                double const length = std::hypot(a, b) * std::sqrt(stretch);
                stretched += !(std::fabs(std::hypot(double{y0[d]}, double{y0[d + half]}) - length)
                               <= std::hypot(first_a, first_b) * 1.001);
            }
            touched += std::memcmp(y0 + Rotary, x0 + Rotary, (row_size - Rotary) * sizeof(float)) != 0;
        }
        CHECK(not_back == 0);
        CHECK(stretched == 0);
        CHECK(touched == 0);
        CHECK(std::memcmp(y.data() + row_size, rows.data() + row_size, sizeof(float))
              != 0); // something was turned
    });
}

} // namespace

TEST_CASE("turning back undoes a turn, and pairs keep their length", "[law][rope]")
{
    check_turns<16, 20>();
    check_turns<16, 32>();
    check_turns<16, 64>();
    check_turns<16, 96>();
    check_turns<16, 128>();
    check_turns<8, 64>();
    check_turns<32, 128>();
}
