// SPDX-License-Identifier: MIT
// The tile of attention at work: scores of 16 rows and 16 or 32 tokens, packed as they lie, and their product with
// values.
#include "kvloom/group/algorithm.hpp"
#include "kvloom/matrix/attention_tile.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/machines.hpp"

#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

constexpr int dims = 64; // of keys and of values
constexpr int most = 32; // tokens

struct attention_args
{
    float const* query;  // [16][dims]
    float const* keys;   // [most][dims]
    float const* values; // [most][dims]
    float* scores;       // [16 rows][most]
    float* out;          // [16 rows][dims]
    float* sums;         // [16 rows]: the scores of a row added up, by all four lanes that share it
    int* tokens;         // [1]: that a product sums over
};

/// The numbers that a lane holds are neighbours, of tokens and of dims alike, one group behind the other.
template <class T, int Rows>
struct attention_probe
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Tile>
    KVLOOM_FN static typename Tile::operand pack(float const* from, int stride)
    {
        typename Tile::operand words;
        for (int w = 0; w < Tile::words; ++w) {
            words[w] = narrow_pair<T>(from[2 * w * stride], from[(2 * w + 1) * stride]);
        }
        return words;
    }

    template <class Tile, class Wave>
    KVLOOM_FN static void multiply(Wave wave, attention_args const& a)
    {
        constexpr int each                            = Tile::per_lane;
        int const lane                                = wave.lane();
        int const group                               = Tile::group(lane);
        int const index                               = Tile::index(lane);
        typename Tile::sums scores[Tile::score_tiles] = {};
        for (int j = 0; j < dims / Tile::depth; ++j) {
            int const first = Tile::depth * j + each * group;
            float numbers[Tile::lane_rows][each];
            for (int r = 0; r < Tile::lane_rows; ++r) {
                for (int n = 0; n < each; ++n) {
                    numbers[r][n] = a.query[Tile::row(lane, r) * dims + first + n];
                }
            }
            for (int t = 0; t < Tile::score_tiles; ++t) {
                int const token = each * Tile::group_of(index) + Tile::number_of(t, index);
                auto const keys = pack<Tile>(a.keys + token * dims + first, 1);
                scores[t]       = Tile::multiply(wave, keys, Tile::pack(numbers), scores[t]);
            }
        }
        float own[Tile::lane_rows][each];
        float sum[Tile::lane_rows] = {};
        for (int t = 0; t < Tile::score_tiles; ++t) {
            for (int e = 0; e < Tile::unit::c_numbers; ++e) {
                if (!Tile::counts(e)) {
                    continue;
                }
                int const r = Tile::own_row(e);
                int const n = Tile::own_token(t, e);
                own[r][n]   = scores[t][e];
                sum[r] += scores[t][e];
                a.scores[Tile::row(lane, r) * most + each * group + n] = scores[t][e];
            }
        }
        for (int r = 0; r < Tile::lane_rows; ++r) {
            float const all = combine_groups<Tile>(wave, sum[r], plus{});
            if (group == r) { // any lane of the four has it
                a.sums[Tile::row(lane, r)] = all;
            }
        }
        for (int i = 0; i < dims / Tile::width; ++i) {
            auto const values = pack<Tile>(a.values + each * group * dims + i * Tile::width + index, dims);
            auto const out    = Tile::multiply(wave, values, Tile::pack(own), {});
            for (int e = 0; e < Tile::unit::c_numbers; ++e) {
                int const row = Tile::row(lane, Tile::own_row(e));
                if (Tile::counts(e)) {
                    a.out[row * dims + i * Tile::width + Tile::own_dim(lane, e)] = out[e];
                }
            }
        }
        if (lane == 0) {
            *a.tokens = Tile::depth;
        }
    }

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, attention_args const& a) const
    {
        using wave_type = typename Block::wave_type;
        if (block.wave_index() == 0) {
            multiply<attention_tile<matrix_unit_t<wave_type, T>, Rows>>(block.wave(), a);
        }
    }
};

std::vector<float> integers(random_source& random, int const count, int const largest)
{
    std::vector<float> numbers;
    for (int i = 0; i < count; ++i) {
        numbers.push_back(float(random.below(2 * largest + 1) - largest));
    }
    return numbers;
}

/// Integers so small that bf16 holds every score.
template <class T, int Rows, class Stream>
void check_attention(Stream const& stream)
{
    random_source random(9);
    auto const query  = integers(random, 16 * dims, 1);
    auto const keys   = integers(random, most * dims, 2);
    auto const values = integers(random, most * dims, 100);
    device_array<float> const q(query), k(keys), v(values);
    device_array<float> const scores(16 * most, -1.0F), out(16 * dims, -1.0F), sums(16, -1.0F);
    device_array<int> const depth(1, 0);
    run<attention_probe<T, Rows>>(stream, attention_args{q.data(), k.data(), v.data(), scores.data(),
                                                         out.data(), sums.data(), depth.data()});
    auto const got_scores = scores.values(), got_out = out.values(), got_sums = sums.values();
    int const tokens = depth.values()[0];
    bool const deep  = arch_of(stream) == arch_id::host_cdna4 || arch_of(stream) == arch_id::gfx950;
    REQUIRE(tokens == (deep ? 32 : 16));
    for (int row = 0; row < Rows; ++row) {
        float of_row[most] = {};
        float all          = 0.0F;
        for (int token = 0; token < tokens; ++token) {
            for (int d = 0; d < dims; ++d) {
                of_row[token] += query[std::size_t(row * dims + d)] * keys[std::size_t(token * dims + d)];
            }
            CAPTURE(row, token);
            REQUIRE(got_scores[std::size_t(row * most + token)] == of_row[token]);
            all += of_row[token];
        }
        REQUIRE(got_sums[std::size_t(row)] == all);
        for (int d = 0; d < dims; ++d) {
            float want = 0.0F;
            for (int token = 0; token < tokens; ++token) {
                want += of_row[token] * values[std::size_t(token * dims + d)];
            }
            CAPTURE(row, d);
            REQUIRE(got_out[std::size_t(row * dims + d)] == want);
        }
    }
}

template <class T, int Rows>
void check_attention_everywhere()
{
    on_every_matrix_machine([](char const* machine, auto const& stream) {
        INFO(machine);
        check_attention<T, Rows>(stream);
    });
}

} // namespace

TEST_CASE("attention_tile: scores are the operand of the second product as they lie", "[matrix]")
{
    check_attention_everywhere<bf16, 16>();
    check_attention_everywhere<fp16, 16>();
    check_attention_everywhere<bf16, 8>();
    check_attention_everywhere<fp16, 8>();
}
