// SPDX-License-Identifier: MIT
// The plan of a step against a list of all nodes: where each share begins, and how even shares are.
#include "kvloom/kernel/decode_plan.hpp"
#include "support/catch.hpp"
#include "support/machines.hpp"

#include <algorithm>
#include <vector>

using namespace kvloom_test;
using kvloom::i64;
using kvloom::u32;

namespace {

struct problem : kvloom::decode_problem
{
    using tokens = kvloom::token_offsets<int>;
};

constexpr int heads      = 3;
constexpr int group      = 4;
constexpr int block_rows = 16;
constexpr int few_nodes  = 8;

struct batch
{
    std::vector<int> lengths;
    std::vector<int> tokens; ///< of a query
};

/// What the plan must find.
struct exact_plan
{
    std::vector<i64> before; ///< units of the sequences before
    std::vector<i64> nodes;  ///< the unit with which each node begins
    i64 widest = 0;          ///< units from a node to the next, at most
};

exact_plan list_nodes(batch const& of, bool const by_tokens)
{
    exact_plan plan;
    i64 units = 0;
    for (std::size_t s = 0; s < of.lengths.size(); ++s) {
        plan.before.push_back(units);
        int const length  = std::max(of.lengths[s], 0);
        int const allowed = kvloom::detail::nodes_for(length, few_nodes, block_rows);
        int const size    = 1 << kvloom::detail::node_shift_of(length, allowed);
        int const tiles   = (of.tokens[s] * group + block_rows - 1) / block_rows;
        for (int pair = 0; pair < tiles * heads; ++pair) {
            i64 const begin = units;
            for (int token = 0; token < std::max(length, 1); token += size) {
                plan.nodes.push_back(by_tokens ? begin + token / 64 : units++);
            }
            if (by_tokens) {
                units = begin + (std::max(length, 1) + 63) / 64 + kvloom::detail::node_units::segment_units;
                plan.widest =
                    std::max(plan.widest, i64(size / 64) + kvloom::detail::node_units::segment_units);
            }
        }
    }
    plan.before.push_back(units);
    return plan;
}

template <class Stream>
void check_plan(Stream const& stream, batch const& of, int const blocks)
{
    int const sequences = int(of.lengths.size());
    std::vector<int> offsets(1, 0);
    for (int const count : of.tokens) {
        offsets.push_back(offsets.back() + count);
    }
    device_array<int> const lengths(of.lengths);
    device_array<int> const starts(offsets);
    kvloom::detail::decode_work<problem> work;
    work.args.lengths     = lengths.data();
    work.args.tokens      = {starts.data(), 64, offsets.back()};
    work.args.sequences   = sequences;
    work.args.table.width = 1 << 20;
    work.group            = kvloom::make_divider(group);
    work.grid             = kvloom::make_divider(u32(blocks));
    work.sizes            = {blocks, sequences, heads, 16, block_rows, 64, few_nodes, 1};
    i64 const bytes       = kvloom::detail::cut_workspace(nullptr, work.sizes).bytes;
    device_array<unsigned char> const memory(std::size_t(bytes), 0xa5);
    work.sections = kvloom::detail::cut_workspace(memory.data(), work.sizes);
    run<kvloom::decode_planner<problem>>(stream, work);
    auto bytes_there = memory.values();
    auto const got   = kvloom::detail::cut_workspace(bytes_there.data(), work.sizes);

    auto const by_nodes  = list_nodes(of, false);
    bool const by_tokens = i64(by_nodes.nodes.size()) > blocks;
    auto const want      = by_tokens ? list_nodes(of, true) : by_nodes;
    i64 const units      = want.before.back();
    CAPTURE(blocks, by_tokens, units);
    REQUIRE(got.cut[0] == units / blocks);
    REQUIRE(got.cut[1] == units % blocks);
    REQUIRE(got.cut[2] == (by_tokens ? 1 : 0));
    for (int s = 0; s <= sequences; ++s) {
        REQUIRE(got.before[s] == want.before[std::size_t(s)]);
    }
    for (int b = 0; b <= blocks; ++b) {
        i64 const share =
            by_tokens ? units / blocks * b + units % blocks * b / blocks : std::min(i64(b), units);
        auto const node = std::lower_bound(want.nodes.begin(), want.nodes.end(), share);
        i64 const first = node == want.nodes.end() ? units : *node;
        CAPTURE(b, share, first);
        REQUIRE(got.first[b] == first);
        if (share < units) {
            int const sequence = got.first_sequence[b];
            REQUIRE((sequence >= 0 && sequence < sequences));
            REQUIRE(got.before[sequence] + got.first_inside[b] == first);
        }
        if (b > 0) {
            REQUIRE(got.first[b] - got.first[b - 1]
                    <= units / blocks + 1 + want.widest); // no share is much larger
        }
    }
}

} // namespace

TEST_CASE("plan: each share begins with the first node at its place", "[kernel][law]")
{
    std::vector<batch> const batches = {
        {{1000}, {1}},
        {{0, -5, 1, 64}, {1, 1, 1, 1}},
        {{4096, 4096, 4096}, {4, 4, 4}},
        {{1, 32768, 300, 20000, 257, 5000, 100000, 65}, {1, 2, 4, 5, 8, 0, 3, 1}},
        {{700, 800, 900}, {0, 0, 0}},
        {std::vector<int>(600, 3000), std::vector<int>(600, 1)},
    };
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        for (auto const& of : batches) {
            for (int const blocks : {1, 2, 7, 12, 72, 264, 2000}) { // 12 and 72: as many as nodes
                check_plan(stream, of, blocks);
            }
        }
    });
}
