// SPDX-License-Identifier: MIT
// RoPE of every even size, in both pairings and by sections, against double precision.
#include "kvloom/op/rope.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/machines.hpp"

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

constexpr int row_size  = 128;
constexpr int row_count = 4; // a tile each
constexpr int positions = 9;

struct turn_args
{
    float const* rows; // [row_count][row_size]
    float* neox;
    float* interleaved;
    angle_table<float> table;
};

/// Row i turns by position i + 5.
template <int Rotary, class Positions>
struct turn_both
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, turn_args const& a) const
    {
        auto const tile = kvloom::tile<16, rotary<Rotary>>(block);
        int const i     = block.thread() / 16;
        auto const x    = load(tile, row_span<float const, row_size>{a.rows + i * row_size});
        auto const at   = Positions::of_row(i);
        auto const y    = rope_neox(tile, x, load_angles(tile, a.table, at));
        auto const z    = rope_interleaved(tile, x, load_angles<interleaved_pairs>(tile, a.table, at));
        store(tile, row_span<float, row_size>{a.neox + i * row_size}, y);
        store(tile, row_span<float, row_size>{a.interleaved + i * row_size}, z);
    }
};

/// One position for all frequencies.
struct same_position
{
    KVLOOM_FN static i64 of_row(int row) { return row + 5; }
    static int of_frequency(int row, int) { return row + 5; }
};

/// Three positions, of which `Sections` picks one for each frequency.
template <class Sections, int T, int H, int W, bool InTurn>
struct three_positions
{
    KVLOOM_FN static section_positions<Sections> of_row(int row) { return {{row + 5, 3 - row, 2 * row}}; }
    static int of_frequency(int const row, int const frequency)
    {
        int const places[] = {row + 5, 3 - row, 2 * row};
        if (!InTurn) {
            return places[frequency < T ? 0 : frequency < T + H ? 1 : 2];
        }
        // as Qwen3-VL's reference: h at 1, 4, 7, ... below 3 H, w at 2, 5, 8, ... below 3 W, t elsewhere
        std::vector<int> all(T + H + W, places[0]);
        for (int i = 1; i < 3 * H; i += 3) {
            all[static_cast<std::size_t>(i)] = places[1];
        }
        for (int i = 2; i < 3 * W; i += 3) {
            all[static_cast<std::size_t>(i)] = places[2];
        }
        return all[static_cast<std::size_t>(frequency)];
    }
};

/// Elements of one row that are farther from the formula than one product and one fma may be.
int wrong_elements(float const* const x, float const* const got, std::vector<float> const& table,
                   int const rotary, bool const neox, int const (&position)[row_size / 2])
{
    int const half = rotary / 2;
    int wrong      = 0;
    for (int i = 0; i < half; ++i) {
        auto const line     = static_cast<std::size_t>(position[i] * rotary + i);
        double const cosine = static_cast<double>(table[line]);
        double const sine   = static_cast<double>(table[line + static_cast<std::size_t>(half)]);
        int const first     = neox ? i : 2 * i;
        int const second    = neox ? i + half : 2 * i + 1;
        double const a = static_cast<double>(x[first]), b = static_cast<double>(x[second]);
        auto const far = [&](double const want, float const have, double const size) {
            return !(std::fabs(static_cast<double>(have) - want) <= std::ldexp(2.002, -24) * size);
        };
        wrong += far(a * cosine - b * sine, got[first], std::fabs(a * cosine) + std::fabs(b * sine));
        wrong += far(b * cosine + a * sine, got[second], std::fabs(b * cosine) + std::fabs(a * sine));
    }
    std::size_t const rest = static_cast<std::size_t>(row_size - rotary) * sizeof(float);
    return wrong + (std::memcmp(got + rotary, x + rotary, rest) != 0 ? 1 : 0);
}

/// Rows and a table in a machine's memory, and room for what the kernel makes of them.
class turn_memory
{
public:
    turn_memory(std::vector<float> const& rows, std::vector<float> const& table, int const rotary)
        : rotary_(rotary), rows_(rows), table_(table), neox_(rows.size(), 7.0f),
          interleaved_(rows.size(), 7.0f)
    {}

    turn_args args() const
    {
        return {rows_.data(), neox_.data(), interleaved_.data(), {table_.data(), positions, rotary_}};
    }
    std::vector<float> neox() const { return neox_.values(); }
    std::vector<float> interleaved() const { return interleaved_.values(); }

private:
    int rotary_;
    device_array<float> rows_, table_, neox_, interleaved_;
};

/// One size, for all kernels and machines.
struct turn_case
{
    int rotary;
    int position[row_count][row_size / 2];
    std::vector<float> rows, table;

    turn_case(int const dims, int (*const of_frequency)(int, int)) : rotary(dims), position{}
    {
        random_source random(static_cast<std::uint64_t>(rotary));
        for (int i = 0; i < row_count * row_size; ++i) {
            rows.push_back(static_cast<float>(random.normal()) * (i % 2 == 0 ? 1.0f : 3.0f));
        }
        rows.back() = rotary < row_size ? -0.0f : rows.back();
        for (double const number : cos_sin_table(positions, rotary, 0, 1e4)) {
            table.push_back(static_cast<float>(number));
        }
        for (int i = 0; i < row_count * rotary / 2; ++i) {
            position[i / (rotary / 2)][i % (rotary / 2)] = of_frequency(i / (rotary / 2), i % (rotary / 2));
        }
    }

    void check(char const* const machine, turn_memory const& after) const
    {
        auto const y = after.neox();
        auto const z = after.interleaved();
        for (int i = 0; i < row_count; ++i) {
            CAPTURE(machine, rotary, i);
            int const at = i * row_size;
            CHECK(wrong_elements(&rows[at], &y[at], table, rotary, true, position[i]) == 0);
            CHECK(wrong_elements(&rows[at], &z[at], table, rotary, false, position[i]) == 0);
        }
    }
};

template <int Rotary, class Positions>
void check_turns()
{
    turn_case const one(Rotary, &Positions::of_frequency);
    on_every_machine([&](char const* machine, auto const& stream) {
        turn_memory const memory(one.rows, one.table, Rotary);
        run<turn_both<Rotary, Positions>>(stream, memory.args());
        one.check(machine, memory);
    });
}

/// Every even size from 2 * (First + 1) on.
template <int First, int... Index>
void check_sizes(std::integer_sequence<int, Index...>)
{
    (check_turns<2 * (First + Index + 1), same_position>(), ...);
}

} // namespace

TEST_CASE("RoPE of 2 to 64 dims in both pairings is the formula's", "[op][rope]")
{
    check_sizes<0>(std::make_integer_sequence<int, 32>{});
}

TEST_CASE("RoPE of 66 to 128 dims in both pairings is the formula's", "[op][rope]")
{
    check_sizes<32>(std::make_integer_sequence<int, 32>{});
}

TEST_CASE("positions by sections, one section after the other", "[op][rope]")
{
    check_turns<128, three_positions<sections<16, 24, 24>, 16, 24, 24, false>>();
    check_turns<64, three_positions<sections<8, 12, 12>, 8, 12, 12, false>>();
    check_turns<40, three_positions<sections<4, 10, 6>, 4, 10, 6, false>>();
    check_turns<20, three_positions<sections<10, 0, 0>, 10, 0, 0, false>>();
    check_turns<20, three_positions<sections<0, 1, 9>, 0, 1, 9, false>>();
}

TEST_CASE("positions by sections that take turns", "[op][rope]")
{
    check_turns<128, three_positions<interleaved_sections<24, 20, 20>, 24, 20, 20, true>>();
    check_turns<64, three_positions<interleaved_sections<11, 11, 10>, 11, 11, 10, true>>();
    check_turns<40, three_positions<interleaved_sections<12, 6, 2>, 12, 6, 2, true>>();
    check_turns<96, three_positions<interleaved_sections<24, 12, 12>, 24, 12, 12, true>>();
}

TEST_CASE("four dims by a quarter turn, by hand", "[op][rope]") // B28
{
    std::vector<float> row;
    for (int d = 0; d < row_count * row_size; ++d) {
        row.push_back(static_cast<float>(d % row_size + 1));
    }
    std::vector<float> table;
    for (int i = 0; i < positions * 4; ++i) {
        table.push_back(i % 4 < 2 ? 0.0f : 1.0f);
    }
    on_every_machine([&](char const* machine, auto const& stream) {
        CAPTURE(machine);
        turn_memory const memory(row, table, 4);
        run<turn_both<4, same_position>>(stream, memory.args());
        std::vector<float> y = memory.neox(), z = memory.interleaved();
        y.resize(6);
        z.resize(6);
        CHECK(y == std::vector<float>{-3, -4, 1, 2, 5, 6});
        CHECK(z == std::vector<float>{-2, 1, -4, 3, 5, 6});
    });
}
