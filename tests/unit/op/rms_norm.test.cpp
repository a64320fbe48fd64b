// SPDX-License-Identifier: MIT
// RMSNorm of every head size against double precision, at its edges, and without a step past its row.
#include "kvloom/op/memory.hpp"
#include "kvloom/op/rms_norm.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/machines.hpp"

#include <cmath>
#include <cstring>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

struct norm_args
{
    bf16 const* rows; // [count][Dim]
    bf16 const* gain; // [Dim]
    float* weightless;
    float* plain;
    float* offset;
    bf16* rounded; // the last in bf16
    int count;
    float eps;
};

template <int Lanes, int Dim>
struct norm_rows
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, norm_args const& a) const
    {
        auto const tile = kvloom::tile<Lanes>(block);
        auto const gain = load(tile, row_span<bf16 const, Dim>{a.gain});
        for (int first = 0; first < a.count; first += Block::threads / Lanes) {
            int const row  = first + block.thread() / Lanes;
            int const at   = (row < a.count ? row : a.count - 1) * Dim; // collectives need every lane
            auto const x   = load(tile, row_span<bf16 const, Dim>{a.rows + at});
            auto const one = rms_norm(tile, x, no_gain{}, a.eps);
            auto const two = rms_norm(tile, x, gain, a.eps);
            auto const y   = rms_norm(tile, x, one_plus(gain), a.eps);
            if (row < a.count) {
                store(tile, row_span<float, Dim>{a.weightless + at}, one);
                store(tile, row_span<float, Dim>{a.plain + at}, two);
                store(tile, row_span<float, Dim>{a.offset + at}, y);
                store(tile, row_span<bf16, Dim>{a.rounded + at}, y);
            }
        }
    }
};

struct normed
{
    std::vector<float> weightless, plain, offset;
    std::vector<bf16> rounded;
};

constexpr float canary = 77.0f;

/// One row more than is asked for lies behind each output, as a canary.
template <int Lanes, int Dim, class Stream>
normed run_norm(Stream const& stream, std::vector<bf16> const& rows, std::vector<bf16> const& gain,
                float const eps, int const blocks = 1)
{
    std::size_t const size = rows.size() + Dim;
    device_array<bf16> const in(rows), weights(gain), rounded(size, encode<bf16>(canary));
    device_array<float> const one(size, canary), two(size, canary), y(size, canary);
    run<norm_rows<Lanes, Dim>>(stream,
                               norm_args{in.data(), weights.data(), one.data(), two.data(), y.data(),
                                         rounded.data(), static_cast<int>(rows.size() / Dim), eps},
                               blocks);
    return {one.values(), two.values(), y.values(), rounded.values()};
}

std::vector<bf16> in_bf16(std::vector<double> const& numbers)
{
    std::vector<bf16> all;
    for (double const number : numbers) {
        all.push_back(encode<bf16>(static_cast<float>(number)));
    }
    return all;
}

double number_of(bf16 const x)
{
    return static_cast<double>(decode(x));
}

/// Rows of every kind: each number is off by half a step for every rounding on its way.
template <int Lanes, int Dim>
void check_norm()
{
    constexpr int count = 23;
    random_source random(Dim + Lanes);
    std::vector<double> numbers;
    for (int row = 0; row < count; ++row) {
        auto const kind = static_cast<kvloom_test::row_kind>(row % 7); // but for NaN and infinities
        for (int d = 0; d < Dim; ++d) {
            numbers.push_back(element_of(kind, random, d));
        }
    }
    auto const rows = in_bf16(numbers);
    auto const gain = in_bf16(random_gain(random, Dim, true));
    for (float const eps : {1e-6f, 1e-5f, 1.0f}) {
        on_every_machine([&](char const* machine, auto const& stream) {
            CAPTURE(machine, Lanes, Dim, eps);
            auto const got = run_norm<Lanes, Dim>(stream, rows, gain, eps);
            int wrong      = 0;
            for (std::size_t row = 0; row < count; ++row) {
                double sum = 0.0;
                for (std::size_t d = 0; d < Dim; ++d) {
                    sum += number_of(rows[row * Dim + d]) * number_of(rows[row * Dim + d]);
                }
                double const r = 1.0 / std::sqrt(sum / Dim + static_cast<double>(eps));
                // the sum: 4 + 1 + log2(Dim / 8) roundings of which the root keeps half; then mean, root,
                // reciprocal and products
                double const step  = std::ldexp(1.001, -24);
                double const slack = step * ((5 + std::log2(Dim / 8.0) + 2) / 2 + 2 + 3);
                for (std::size_t d = 0; d < Dim; ++d) {
                    std::size_t const at = row * Dim + d;
                    double const x = number_of(rows[at]) * r, w = number_of(gain[d]);
                    auto const far = [&](float const have, double const want) {
                        return !(std::fabs(static_cast<double>(have) - want) <= slack * std::fabs(want));
                    };
                    wrong += far(got.weightless[at], x) + far(got.plain[at], x * w);
                    wrong += far(got.offset[at], x * (1.0 + w));
                    wrong += encode<bf16>(got.offset[at]) != got.rounded[at];
                }
            }
            CHECK(wrong == 0);
        });
    }
}

/// Seven rows of an odd length, a hundred times: the same bits, and nothing behind the last row changes.
template <int Lanes, int Dim>
void check_canary()
{
    random_source random(Dim);
    std::vector<double> numbers;
    for (int i = 0; i < 7 * Dim; ++i) {
        numbers.push_back(random.normal());
    }
    auto const rows = in_bf16(numbers);
    auto const gain = in_bf16(random_gain(random, Dim, true));
    on_every_machine([&](char const* machine, auto const& stream) {
        CAPTURE(machine, Lanes, Dim);
        auto const first = run_norm<Lanes, Dim>(stream, rows, gain, 1e-6f);
        for (int repeat = 0; repeat < (plain_program ? 5 : 100); ++repeat) {
            auto const got = run_norm<Lanes, Dim>(stream, rows, gain, 1e-6f);
            REQUIRE(got.offset == first.offset);
            REQUIRE(got.rounded == first.rounded);
            for (std::size_t i = 7 * Dim; i < 8 * Dim; ++i) {
                REQUIRE((got.offset[i] == canary && got.weightless[i] == canary && got.plain[i] == canary));
                REQUIRE(decode(got.rounded[i]) == canary);
            }
        }
    });
}

} // namespace

TEST_CASE("rms_norm of every head size is the formula's", "[op][rms_norm]")
{
    check_norm<8, 64>();
    check_norm<16, 128>();
    check_norm<8, 128>();
    check_norm<16, 256>();
    check_norm<16, 512>();
    check_norm<32, 512>();
    check_norm<16, 72>();
    check_norm<16, 80>();
}

TEST_CASE("rows of 72 and of 80 leave what lies behind the last one alone", "[op][rms_norm]") // B24
{
    check_canary<16, 72>();
    check_canary<16, 80>();
}

TEST_CASE("eps stands under the root, and zeros stay zeros", "[op][rms_norm]") // B27
{
    constexpr int dim = 128;
    std::vector<double> numbers;
    for (double const number : {1e-3, 0.0, std::ldexp(1.0, 66), std::ldexp(1.0, 60)}) {
        numbers.insert(numbers.end(), dim, number);
    }
    auto const rows    = in_bf16(numbers);
    double const small = number_of(rows[0]); // 1e-3 in bf16
    std::vector<bf16> const gain(dim, encode<bf16>(0.00390625f));
    for (double const eps : {1e-6, 1e-5}) {
        on_every_machine([&](char const* machine, auto const& stream) {
            CAPTURE(machine, eps);
            auto const got    = run_norm<16, dim>(stream, rows, gain, static_cast<float>(eps));
            double const want = small / std::sqrt(small * small + eps);
            CHECK(std::fabs(want - (eps < 5e-6 ? 0.70711 : 0.30151)) < 5e-4);
            for (std::size_t d = 0; d < dim; ++d) {
                REQUIRE(std::fabs(static_cast<double>(got.weightless[d]) - want) < 1e-6);
                REQUIRE((got.weightless[dim + d] == 0.0f && got.offset[dim + d] == 0.0f));
                REQUIRE(got.weightless[2 * dim + d] == 0.0f); // the squares leave fp32: documented
                REQUIRE(got.weightless[3 * dim + d] == 1.0f);
                REQUIRE(got.offset[3 * dim + d] == 1.00390625f); // B25
            }
        });
    }
}
