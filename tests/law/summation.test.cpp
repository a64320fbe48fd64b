// SPDX-License-Identifier: MIT
// One order of summation, defined on elements: tiles, rows at once and machines never change the bits of a norm.
#include "kvloom/op/memory.hpp"
#include "kvloom/op/rms_norm.hpp"
#include "support/catch.hpp"
#include "support/machines.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

struct norm_args
{
    float const* rows; // [tile][Count][Dim]
    float* out;
    float const* weights; // [Dim]
    float eps;
};

template <int Lanes, int Dim, int Count>
struct norm_rows
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, norm_args const& a) const
    {
        auto const tile = kvloom::tile<Lanes>(block);
        int const first = block.thread() / Lanes * Count;
        rows<kvloom::tile_group<typename Block::wave_type, Lanes, rotary<0>>, Dim, Count> x;
        for (int i = 0; i < Count; ++i) {
            x[i] = load(tile, row_span<float const, Dim>{a.rows + (first + i) * Dim});
        }
        auto const gain = one_plus(load(tile, row_span<float const, Dim>{a.weights}));
        auto const y    = rms_norm(tile, x, gain, a.eps);
        for (int i = 0; i < Count; ++i) {
            store(tile, row_span<float, Dim>{a.out + (first + i) * Dim}, y[i]);
        }
    }
};

/// The order as written down: runs of 8 by an even and an odd chain, runs pairwise, padded with zeros to a power of two.
std::vector<float> in_the_defined_order(float const* x, float const* w, int dim, float eps)
{
    std::vector<float> runs;
    for (int c = 0; c < dim; c += 8) {
        float even = x[c] * x[c];
        float odd  = x[c + 1] * x[c + 1];
        for (int i = 2; i < 8; i += 2) {
            even = std::fma(x[c + i], x[c + i], even);
            odd  = std::fma(x[c + i + 1], x[c + i + 1], odd);
        }
        runs.push_back(even + odd);
    }
    while ((runs.size() & (runs.size() - 1)) != 0) {
        runs.push_back(0.0F);
    }
    for (std::size_t d = 1; d < runs.size(); d *= 2) {
        for (std::size_t i = 0; i < runs.size(); i += 2 * d) {
            runs[i] = runs[i] + runs[i + d];
        }
    }
    float const r = 1.0F / std::sqrt(std::fma(runs[0], 1.0F / float(dim), eps));
    std::vector<float> y;
    for (int d = 0; d < dim; ++d) {
        float const scaled = x[d] * r;
        y.push_back(scaled * (1.0F + w[d]));
    }
    return y;
}

template <int Lanes, int Dim, int Count>
void check_norm()
{
    constexpr int count = 64 / Lanes * Count;
    std::vector<float> rows(std::size_t(count * Dim));
    std::vector<float> weights(Dim);
    std::uint32_t state = 4711;
    auto const random   = [&] {
        state = state * 1664525U + 1013904223U;
        return float(int(state)) * 1e-9F;
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i] = random() * float(1 << i / Dim % 5);
    }
    for (int d = 0; d < Dim; ++d) {
        rows[std::size_t(d)] = 0.0F; // a zero row: only eps stands under the root
        weights[d]           = random();
    }
    on_every_machine([&](char const* name, auto const& stream) {
        device_array<float> in(rows);
        device_array<float> out(rows.size(), 7.0F);
        device_array<float> w(weights);
        run<norm_rows<Lanes, Dim, Count>>(stream, norm_args{in.data(), out.data(), w.data(), 1e-6F});
        auto const got = out.values();
        for (int r = 0; r < count; ++r) {
            CAPTURE(name, Lanes, Dim, Count, r);
            auto const wanted = in_the_defined_order(rows.data() + r * Dim, weights.data(), Dim, 1e-6F);
            REQUIRE(std::memcmp(wanted.data(), got.data() + r * Dim, Dim * sizeof(float)) == 0);
        }
    });
}

} // namespace

TEST_CASE("the bits of a norm of 128: 8 x 16, 16 x 8, 4 x 32 and half-empty tiles agree", "[law][rms_norm]")
{
    check_norm<8, 128, 1>();
    check_norm<16, 128, 1>();
    check_norm<4, 128, 1>();
    check_norm<32, 128, 1>();
    check_norm<16, 128, 2>();
    check_norm<16, 128, 4>();
    check_norm<8, 128, 4>();
}

TEST_CASE("the bits of a norm of other sizes", "[law][rms_norm]")
{
    check_norm<8, 64, 4>();
    check_norm<16, 64, 1>();
    check_norm<16, 96, 4>();
    check_norm<16, 72, 1>();
    check_norm<16, 256, 4>();
    check_norm<32, 256, 1>();
    check_norm<16, 512, 2>();
    check_norm<16, 384, 1>();
    check_norm<4, 32, 4>();
}
