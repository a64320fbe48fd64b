// SPDX-License-Identifier: MIT
// The fold of one wave: wherever it keeps the chain of nodes, the same bits, and those of the formula up to rounding.
#include "kvloom/kernel/decode_segment.hpp"
#include "support/catch.hpp"
#include "support/machines.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

constexpr int nodes = 5;

template <int Dim>
struct problem : decode_problem
{
    using key_cache   = shuffled_keys<bf16, Dim>;
    using value_cache = shuffled_values<bf16, Dim>;
};

/// A number from -1 to 1 that follows from four others.
KVLOOM_FN float noise(int node, int wave, int row, int what)
{
    u32 x = u32(((node * 7 + wave) * 131 + row) * 1031 + what) * 2654435761U;
    x ^= x >> 15;
    x *= 2246822519U;
    return float(int(x >> 8)) * 0x1p-23F - 1.0F;
}

/// What a wave hands over of a row of a node: some waves have seen nothing.
KVLOOM_FN bool saw(int node, int wave, int row)
{
    return noise(node, wave, row, 2000) > -0.5F;
}
KVLOOM_FN float top_of(int node, int wave, int row)
{
    return saw(node, wave, row) ? 20.0F * noise(node, wave, row, 2001) : no_maximum;
}
KVLOOM_FN float sum_of(int node, int wave, int row)
{
    return saw(node, wave, row) ? 1.5F + noise(node, wave, row, 2002) : 0.0F;
}
KVLOOM_FN float out_of(int node, int wave, int row, int dim)
{
    return saw(node, wave, row) ? noise(node, wave, row, dim) : 0.0F;
}

template <class Problem>
struct fold_args
{
    detail::decode_work<Problem> work;
    detail::decode_segment segment;
};

/// One wave folds the nodes of a segment, of which it plays the waves that hand over.
template <int Dim, int Waves, int RowTiles, int TileRows, int PartDims, int Kept, int ChainTurns>
struct fold_nodes
{
    static constexpr launch_bounds bounds = {32, 1, 1};

    using scratch = detail::fold_scratch<Waves, TileRows, PartDims, ChainTurns>;
    struct shared
    {
        scratch room;
    };

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, fold_args<problem<Dim>> const& a) const
    {
        if constexpr (Block::wave_type::size == 32) {
            using team_type = detail::wave_team<Block, Kept>;
            auto& room      = block.template shared<shared>().room;
            team_type const team(block);
            detail::node_fold<team_type, problem<Dim>, scratch, Waves, RowTiles, TileRows> fold(team, a.work,
                                                                                                room);
            fold.begin(a.segment);
            for (int node = a.segment.first; node < a.segment.last; ++node) {
                for (int part = 0; part < Dim / PartDims; ++part) {
                    hand_over(room, block.thread(), node, part);
                    team.barrier();
                    fold.take(a.segment, node, part);
                }
            }
        }
    }

private:
    KVLOOM_FN static void hand_over(scratch& room, int lane, int node, int part)
    {
        for (int i = lane; i < Waves * TileRows; i += 32) {
            int const wave = i / TileRows;
            int const of   = i % TileRows;
            int const row  = wave % RowTiles * TileRows + of; // waves of a row tile follow each other
            if (part == 0) {
                room.top[wave][of] = top_of(node, wave, row);
                room.sum[wave][of] = sum_of(node, wave, row);
            }
            for (int d = 0; d < PartDims; ++d) {
                room.out[wave][of][scratch::place(of, d)] = out_of(node, wave, row, part * PartDims + d);
            }
        }
    }
};

/// What lies in the workspace behind a fold.
struct kept_results
{
    std::vector<detail::row_mark> marks;
    std::vector<vec<float, 4>> out;

    bool operator==(kept_results const& other) const
    {
        auto const same = [](auto const& a, auto const& b) {
            return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](auto const& x, auto const& y) {
                return std::memcmp(&x, &y, sizeof(x)) == 0;
            });
        };
        return same(marks, other.marks) && same(out, other.out);
    }
};

template <class Kernel, int Dim, class Stream>
kept_results results_of(Stream const& stream, int rows, int room_for, bool begins)
{
    int const levels = nodes + 1;
    device_array<detail::row_mark> marks(std::size_t(levels * room_for), {{-7.0F, -7.0F}});
    device_array<vec<float, 4>> out(std::size_t(levels * room_for * Dim / 4), {{-7.0F, -7.0F, -7.0F, -7.0F}});
    fold_args<problem<Dim>> a;
    a.work.sizes.blocks     = 1;
    a.work.sizes.heads      = 1;
    a.work.sizes.rows       = room_for;
    a.work.sizes.nodes      = nodes;
    a.work.sizes.dims       = Dim;
    a.work.group            = make_divider(1);
    a.work.sections.marks   = marks.data();
    a.work.sections.out     = out.data();
    a.segment.extent.tokens = rows;
    a.segment.extent.last   = nodes + 1; // not whole
    a.segment.first         = begins ? 0 : 1;
    a.segment.last          = nodes;
    run<Kernel>(stream, a);
    return {marks.values(), out.values()};
}

/// The chain of all nodes, by the formula.
void check_formula(kept_results const& got, int dim, int waves, int row_tiles, int tile_rows, int rows,
                   int room_for)
{
    // A term is at most 2.5. It is weighed in its node and in each merge, every time off by 7 * 2^-24 of itself: 4 for an
    // approximate power of two, 1 for the rounding of its argument (which counts where the power is not small), 2 for the
    // product and the sum.
    double const bound = 2.5 * (nodes + 1) * 0x7p-24 * (nodes * waves / row_tiles);
    for (int row = 0; row < rows; ++row) {
        double top          = -std::numeric_limits<double>::infinity();
        auto const over_all = [&](auto const& body) {
            for (int node = 0; node < nodes; ++node) {
                for (int wave = row / tile_rows; wave < waves; wave += row_tiles) {
                    body(node, wave);
                }
            }
        };
        over_all([&](int node, int wave) { top = std::max(top, double(top_of(node, wave, row))); });
        auto const total = [&](auto const& value) {
            double all = 0.0;
            over_all([&](int node, int wave) {
                all += double(value(node, wave)) * std::exp2(double(top_of(node, wave, row)) - top);
            });
            return all;
        };
        auto const& mark   = got.marks[std::size_t(nodes * room_for + row)];
        double const scale = std::exp2(double(mark[0]) - top);
        auto const close = [&](float x, double want) { return std::abs(double(x) * scale - want) <= bound; };
        CAPTURE(row);
        REQUIRE(close(mark[1], total([&](int n, int w) { return sum_of(n, w, row); })));
        for (int d = 0; d < dim; ++d) {
            auto const& four = got.out[std::size_t((nodes * room_for + row) * (dim / 4) + d / 4)];
            CAPTURE(d);
            REQUIRE(close(four[d % 4], total([&](int n, int w) { return out_of(n, w, row, d); })));
        }
    }
}

template <int Dim, int Waves, int RowTiles, int TileRows, int PartDims>
void check_fold(int rows)
{
    constexpr int room_for = RowTiles * TileRows;
    constexpr int turns    = room_for * Dim / 128;
    on_every_machine([&](char const* name, auto const& stream) {
        if (std::string(name).find("64") != std::string::npos || std::string(name) == "hip") {
            return; // one wave of 32 lanes folds in the kernel for NVIDIA alone
        }
        for (bool const begins : {true, false}) {
            CAPTURE(name, Dim, Waves, RowTiles, PartDims, rows, begins);
            auto const in_registers =
                results_of<fold_nodes<Dim, Waves, RowTiles, TileRows, PartDims, turns, 0>, Dim>(
                    stream, rows, room_for, begins);
            auto const in_shared =
                results_of<fold_nodes<Dim, Waves, RowTiles, TileRows, PartDims, 0, turns>, Dim>(
                    stream, rows, room_for, begins);
            auto const in_workspace =
                results_of<fold_nodes<Dim, Waves, RowTiles, TileRows, PartDims, 0, 0>, Dim>(stream, rows,
                                                                                            room_for, begins);
            REQUIRE(in_registers == in_shared);
            REQUIRE(in_registers == in_workspace);
            if (begins) {
                check_formula(in_registers, Dim, Waves, RowTiles, TileRows, rows, room_for);
            }
        }
    });
}

} // namespace

TEST_CASE("node_fold: a chain in registers, in shared memory and in the workspace has the same bits",
          "[kernel][law]")
{
    check_fold<128, 2, 1, 8, 128>(8);
    check_fold<128, 2, 1, 16, 128>(13);
    check_fold<128, 4, 1, 16, 128>(16);
    check_fold<128, 4, 2, 16, 128>(32);
    check_fold<128, 4, 4, 16, 128>(61);
    check_fold<64, 4, 4, 16, 64>(64);
    check_fold<64, 4, 1, 16, 64>(9);
    check_fold<256, 4, 1, 16, 128>(16);
    check_fold<256, 4, 2, 16, 128>(31);
}
