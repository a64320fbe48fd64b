// SPDX-License-Identifier: MIT
// Tiles of every width on every machine: who holds which chunk, and what their collectives give each lane.
#include "kvloom/group/algorithm.hpp"
#include "support/catch.hpp"
#include "support/machines.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

constexpr int threads = 128;

/// Per thread: rank, index in the wave, chunk, partner by each mask, broadcasts, any, sum, maximum.
struct findings
{
    int rank, index, chunk, wave;
    int partner[6]; // masks 1, 2, 4, 8, 16, 32, as far as the tile reaches
    int second;     // broadcast of rank 2
    int none, some; // any
    int largest;
    float sum;
};

struct maximum
{
    KVLOOM_FN int operator()(int a, int b) const { return a < b ? b : a; }
};

template <int Lanes, int Rotary>
struct probe
{
    static constexpr launch_bounds bounds = {threads, 1, 1};
    struct shared
    {};

    template <int Bit, class Tile>
    KVLOOM_FN static void exchange_from(Tile tile, findings& f, int id)
    {
        if constexpr ((1 << Bit) < Tile::size) {
            f.partner[Bit] = exchange<(1 << Bit)>(tile, id);
            exchange_from<Bit + 1>(tile, f, id);
        }
    }

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, findings* const& out) const
    {
        if constexpr (Lanes <= Block::wave_type::size) {
            auto const tile = kvloom::tile<Lanes, rotary<Rotary>>(block);
            int const id    = block.thread();
            findings f{};
            f.rank  = tile.rank();
            f.index = tile.index();
            f.chunk = tile.chunk();
            f.wave  = Block::wave_type::size;
            exchange_from<0>(tile, f, id);
            f.second  = broadcast<2>(tile, id);
            f.none    = any(tile, false);
            f.some    = any(tile, tile.index() == 1 && tile.rank() == 3);
            f.largest = all_reduce(tile, (id * 37) % 101, maximum{});
            f.sum     = all_reduce(tile, float(id), plus{});
            out[id]   = f;
        }
    }
};

template <int Lanes, int Rotary>
void check_tile()
{
    on_every_machine([](char const* name, auto const& stream) {
        device_array<findings> out(threads, findings{});
        run<probe<Lanes, Rotary>>(stream, out.data());
        auto const got = out.values();
        if (Lanes == 64 && got[0].wave == 0) {
            return; // a tile wider than the machine's wave does not compile
        }
        for (int id = 0; id < threads; ++id) {
            CAPTURE(name, Lanes, Rotary, id);
            findings const& f = got[std::size_t(id)];
            int const first   = id / Lanes * Lanes;
            REQUIRE(f.rank == id % Lanes);
            REQUIRE(f.index == id % f.wave / Lanes);
            for (int bit = 0; 1 << bit < Lanes; ++bit) {
                REQUIRE(f.partner[bit] == (id ^ 1 << bit));
            }
            REQUIRE(f.second == first + 2);
            REQUIRE(f.none == 0);
            REQUIRE((f.some != 0) == (f.index == 1));
            int largest = 0;
            float sum   = 0;
            for (int i = first; i < first + Lanes; ++i) {
                largest = std::max(largest, (i * 37) % 101);
                sum += float(i);
            }
            REQUIRE(f.largest == largest);
            REQUIRE(f.sum == sum);
        }
        // every chunk of a tile's row is held once
        std::vector<int> held;
        for (int id = 0; id < Lanes; ++id) {
            held.push_back(got[std::size_t(id)].chunk);
        }
        std::sort(held.begin(), held.end());
        for (int i = 0; i < Lanes; ++i) {
            REQUIRE(held[std::size_t(i)] == i);
        }
    });
}

struct sorted_args
{
    float const* values; // [thread][4]
    float* out; // [thread][21]: four sums, two of pairs, one of four, two of two, the first; see below
};

/// Two results of one sum, of two words.
struct sum_and_half
{
    float sum;
    float half;
};

template <int Lanes>
struct sorted_probe
{
    static constexpr launch_bounds bounds = {threads, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, sorted_args const& a) const
    {
        auto const tile  = kvloom::tile<Lanes>(block);
        auto const twice = [](float x) { return 2.0F * x; };
        vec<float, 4> x;
        for (int i = 0; i < 4; ++i) {
            x[i] = a.values[block.thread() * 4 + i];
        }
        vec<float, 2> const two{{x[0], x[1]}};
        float* const out = a.out + block.thread() * 21;
        auto const four  = sum_rows<1>(tile, x, twice);
        auto const pairs = sum_rows<2>(tile, x, twice);
        auto const whole = sum_rows<4>(tile, x, twice);
        auto const both  = sum_rows<1>(tile, two, twice);
        for (int i = 0; i < 4; ++i) {
            out[i] = four[i];
        }
        out[4] = pairs[0];
        out[5] = pairs[1];
        out[6] = whole[0];
        out[7] = both[0];
        out[8] = both[1];
        out[9] = sum_rows<2>(tile, two, twice)[0];

        vec<float, 1> one{{x[0]}};
        out[10] = sum_rows<1>(tile, one, twice)[0];

        // What lies sorted in the lanes of a quad, and both words of it in every lane.
        float const sorted = reduce_sorted<1>(tile, x, plus{});
        auto const spread  = spread_sorted<4>(tile, sum_and_half{sorted, 0.5F * sorted});
        for (int i = 0; i < 4; ++i) {
            out[11 + i] = spread[i].sum;
            out[15 + i] = spread[i].half;
        }
        out[19] = reduce_sorted<2>(tile, x, plus{});
        out[20] = sorted;
    }
};

/// Pairwise at distance 1, 2, 4, ..., in fp32.
float pairwise(std::vector<float> values)
{
    for (std::size_t d = 1; d < values.size(); d *= 2) {
        for (std::size_t i = 0; i < values.size(); i += 2 * d) {
            values[i] = values[i] + values[i + d];
        }
    }
    return values[0];
}

template <int Lanes>
void check_sorted_sums()
{
    std::vector<float> values(threads * 4);
    std::uint32_t state = 12345;
    for (float& value : values) {
        state = state * 1664525U + 1013904223U;
        value = float(int(state >> 8)) * 1e-3F * float(1 + (state & 15) * (state & 15));
    }
    on_every_machine([&](char const* name, auto const& stream) {
        device_array<float> in(values);
        device_array<float> out(threads * 21, -1.0F);
        run<sorted_probe<Lanes>>(stream, sorted_args{in.data(), out.data()});
        auto const got = out.values();
        for (int id = 0; id < threads; ++id) {
            CAPTURE(name, Lanes, id);
            float sums[4];
            for (int i = 0; i < 4; ++i) {
                std::vector<float> column;
                for (int t = id / Lanes * Lanes; t < id / Lanes * Lanes + Lanes; ++t) {
                    column.push_back(values[std::size_t(t * 4 + i)]);
                }
                sums[i] = pairwise(column);
            }
            float const* const row = got.data() + id * 21;
            for (int i = 0; i < 4; ++i) {
                REQUIRE(row[i] == 2.0F * sums[i]);
            }
            REQUIRE(row[4] == 2.0F * (sums[0] + sums[1]));
            REQUIRE(row[5] == 2.0F * (sums[2] + sums[3]));
            REQUIRE(row[6] == 2.0F * ((sums[0] + sums[1]) + (sums[2] + sums[3])));
            REQUIRE(row[7] == 2.0F * sums[0]);
            REQUIRE(row[8] == 2.0F * sums[1]);
            REQUIRE(row[9] == 2.0F * (sums[0] + sums[1]));
            REQUIRE(row[10] == 2.0F * sums[0]);
            for (int i = 0; i < 4; ++i) {
                REQUIRE(row[11 + i] == sums[i]);
                REQUIRE(row[15 + i] == 0.5F * sums[i]);
            }
            int const own = id % Lanes - (Lanes >= 8 ? 4 : 0);
            if (own >= 0 && own < 4) {
                REQUIRE(row[19] == sums[own / 2 * 2] + sums[own / 2 * 2 + 1]);
                REQUIRE(row[20] == sums[own]);
            }
        }
    });
}

} // namespace

TEST_CASE("tiles: chunks, exchange, broadcast, any and all_reduce", "[group]")
{
    check_tile<4, 0>();
    check_tile<8, 0>();
    check_tile<8, 64>();
    check_tile<16, 0>();
    check_tile<16, 64>();
    check_tile<16, 128>();
    check_tile<32, 64>();
    check_tile<64, 0>();
}

TEST_CASE("sum_rows: sorting sums into a quad changes no bit", "[group][law]")
{
    check_sorted_sums<4>();
    check_sorted_sums<8>();
    check_sorted_sums<16>();
    check_sorted_sums<32>();
}

TEST_CASE("the mirrored order puts partners of 64 dims half a row apart", "[group]")
{
    for (int lane = 0; lane < 16; ++lane) {
        REQUIRE(mirrored_order::lane(mirrored_order::chunk(lane)) == lane);
        if (lane < 8) {
            REQUIRE(mirrored_order::chunk(lane ^ 7) == (mirrored_order::chunk(lane) ^ 4));
        }
    }
}
