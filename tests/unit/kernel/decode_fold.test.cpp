// SPDX-License-Identifier: MIT
// How the work of a sequence is cut into nodes and shared among blocks, and where a fold finds the partial results.
#include "kvloom/kernel/decode_fold.hpp"
#include "support/catch.hpp"

#include <vector>

namespace {

using kvloom::i64;
using kvloom::detail::decode_cut;
using kvloom::detail::node_span;
using kvloom::detail::node_units;
using kvloom::detail::partial_place;
using kvloom::detail::unit_kind;

decode_cut cut_of(i64 const units, int const blocks)
{
    return decode_cut::of(units, unit_kind::tokens, kvloom::make_divider(kvloom::u32(blocks)));
}

/// The first unit of a block of those that have units.
i64 exact_first(i64 const units, int const blocks, int const block)
{
    return units < blocks ? block : units / blocks * block + units % blocks * block / blocks;
}

void check_cut(i64 const units, int const blocks, int const step)
{
    decode_cut const cut = cut_of(units, blocks);
    REQUIRE(cut.units() == units);
    int const used = units < blocks ? int(units) : blocks;
    REQUIRE(cut.blocks() == used);
    for (int block = 0; block <= used; block += block + step <= used || block == used ? step : used - block) {
        CAPTURE(units, blocks, block);
        REQUIRE(cut.first(block) == exact_first(units, blocks, block));
        if (block < used) {
            i64 const end = exact_first(units, blocks, block + 1);
            REQUIRE(cut.block_of(cut.first(block)) == block);
            REQUIRE(cut.block_of(end - 1) == block);
        }
    }
}

/// The partial results of a pair's nodes, by what each block has of them.
std::vector<partial_place> exact_places(decode_cut const& cut, node_span const& span, bool const by_nodes)
{
    std::vector<partial_place> places;
    int block = -1;
    int level = 0;
    for (int node = 0; node < span.nodes; ++node) {
        int const of      = cut.block_of(span.begin + (i64(node) << span.units.shift));
        bool const opens  = of != block; // its first node of the pair
        bool const begins = opens && node == 0;
        bool const chain  = !opens && (!by_nodes || places.back().area == 1);
        level             = opens ? 0 : level + 1;
        block             = of;
        if (!chain) {
            places.push_back({of, begins ? 1 : 0, level});
        }
    }
    return places;
}

/// A pair behind `before` units, whose last node lacks `short_of` units of 2^shift.
node_span pair_of(i64 const before, int const nodes, int const shift, int const short_of)
{
    return {before, {shift, (nodes << shift) - short_of}, nodes};
}

template <bool ByNodes>
void check_walk(i64 const units, int const blocks, node_span const& span)
{
    decode_cut const cut = cut_of(units, blocks);
    auto const want      = exact_places(cut, span, ByNodes);
    kvloom::detail::partial_walk<ByNodes> walk(cut, span);
    CAPTURE(units, blocks, span.begin, span.nodes, span.units.shift, ByNodes);
    int previous = -1;
    int distinct = 0;
    for (auto const& place : want) {
        CAPTURE(place.block, place.level);
        REQUIRE(!walk.done());
        auto const got = walk.take();
        REQUIRE(got.block == place.block);
        REQUIRE(got.area == place.area);
        REQUIRE(got.level == place.level);
        distinct += place.block != previous ? 1 : 0;
        previous = place.block;
    }
    REQUIRE(walk.done());
    REQUIRE(span.blocks(cut) == distinct);
}

} // namespace

TEST_CASE("decode_cut: equal shares, the block of each unit, blocks without any", "[kernel][law]")
{
    for (int const blocks : {1, 2, 3, 7, 20, 64, 1000}) {
        for (i64 units = 1; units < 150; ++units) {
            check_cut(units, blocks, 1);
        }
        check_cut(i64(1) << 30, blocks, 1);
    }
}

TEST_CASE("decode_cut: the largest grids", "[kernel][law]")
{
    for (int const blocks : {20000, 30011, (1 << 15) - 1}) { // validate() refuses larger ones
        for (i64 const units : {i64(blocks) - 1, i64(blocks), i64(2) * blocks - 1, (i64(1) << 30) + 12345}) {
            check_cut(units, blocks, 97);
        }
    }
}

namespace {

template <int Chiplets>
void check_placement()
{
    for (int blocks = 1; blocks <= 100; ++blocks) {
        std::vector<int> chiplet(std::size_t(blocks), -1); // of each share
        for (int block = 0; block < blocks; ++block) {
            int const share =
                kvloom::placing::by_chiplet<Chiplets>::template share<kvloom::arch_id::gfx942>(block, blocks);
            CAPTURE(Chiplets, blocks, block, share);
            REQUIRE((share >= 0 && share < blocks));
            REQUIRE(chiplet[std::size_t(share)] == -1); // nobody else's
            chiplet[std::size_t(share)] = block % Chiplets;
        }
        for (int share = 1; share < blocks; ++share) {
            REQUIRE(chiplet[std::size_t(share)] >= chiplet[std::size_t(share - 1)]);
        }
    }
}

} // namespace

TEST_CASE("placing: every share once, those of a chiplet side by side", "[kernel][law]")
{
    check_placement<1>();
    check_placement<3>();
    check_placement<6>();
    check_placement<8>();
    using kvloom::arch_id;
    using machine = kvloom::placing::of_machine;
    for (int block = 0; block < 24; ++block) {
        CHECK(machine::share<arch_id::gfx950>(block, 24)
              == kvloom::placing::by_chiplet<8>::share<arch_id::gfx950>(block, 24));
        CHECK(machine::share<arch_id::sm_90>(block, 24) == block);
        CHECK(machine::share<arch_id::gfx90a>(block, 24) == block);
        CHECK(kvloom::placing::in_order::share<arch_id::gfx942>(block, 24) == block);
    }
}

TEST_CASE("partial_walk: the partial results of a pair in the order of their tokens", "[kernel][law]")
{
    for (int const blocks : {1, 2, 3, 7, 20, 64}) {
        for (int nodes = 1; nodes <= 24; ++nodes) {
            for (i64 before = 0; before <= 9; before += 3) {
                for (i64 after = 0; after <= 9; after += 3) {
                    auto const span = pair_of(before, nodes, 0, 0);
                    check_walk<true>(before + nodes + after, blocks, span);
                    check_walk<false>(before + nodes + after, blocks, span);
                }
            }
        }
    }
}

TEST_CASE("partial_walk: nodes of several units, blocks with no node among them", "[kernel][law]")
{
    for (int const shift : {1, 2, 5}) {
        for (int const blocks : {1, 2, 3, 7, 20, 64}) {
            for (int nodes = 1; nodes <= 24; nodes += 1 + nodes / 4) {
                for (int short_of : {0, 1, (1 << shift) - 1}) {
                    for (i64 before = 0; before <= 90; before += 7) {
                        for (i64 after = blocks; after <= 300; after += 97) { // no fewer units than blocks
                            auto const span = pair_of(before, nodes, shift, short_of);
                            check_walk<true>(before + span.units.pair + after, blocks, span);
                            check_walk<false>(before + span.units.pair + after, blocks, span);
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("node_units: of nodes one each, of tokens one for every 64", "[kernel][law]")
{
    for (int const length : {0, 1, 63, 64, 65, 255, 256, 257, 1000, 100000, (1 << 30) - 1}) {
        for (int const shift : {8, 10, 24}) {
            for (int const first : {0, 1, 2}) {
                kvloom::detail::sequence_extent extent;
                extent.length     = length;
                extent.node_shift = shift;
                extent.last       = length > 0 ? ((length - 1) >> shift) + 1 : 1;
                extent.first      = first < extent.last ? first : extent.last - 1;
                CAPTURE(length, shift, extent.first, extent.last);
                auto const nodes = node_units::of(extent, unit_kind::node);
                CHECK(nodes.shift == 0);
                CHECK(nodes.pair == extent.nodes());
                auto const tokens = node_units::of(extent, unit_kind::tokens);
                int const seen    = length - extent.first * (1 << shift);
                CHECK(tokens.shift == shift - 6);
                CHECK(tokens.pair == (seen > 0 ? (seen - 1) / 64 + 1 : 1) + node_units::segment_units);
                CHECK(tokens.pair > (extent.nodes() - 1) << tokens.shift); // each node has a unit
            }
        }
    }
}

TEST_CASE("node_shift_of: the smallest nodes that are no more than the most", "[kernel][law]")
{
    using kvloom::detail::least_node_shift;
    for (int const most : {8, 16, 32, 64}) {
        for (int const length :
             {1, 255, 256, 257, 2048, 2049, 16384, 16385, 100000, 1 << 29, (1 << 30) - 1}) {
            int const shift = kvloom::detail::node_shift_of(length, most);
            CAPTURE(most, length, shift);
            REQUIRE(((length - 1) >> shift) + 1 <= most);
            REQUIRE((shift == least_node_shift || ((length - 1) >> (shift - 1)) + 1 > most));
        }
    }
}

TEST_CASE("decode: long sequences have more nodes, as far as there is room", "[kernel][decode]")
{
    using kvloom::detail::nodes_for;
    CHECK(nodes_for(0, 8, 8) == 8);
    CHECK(nodes_for(65536 + 8191, 8, 8) == 8);
    CHECK(nodes_for(65536 + 8192, 8, 8) == 16);
    CHECK(nodes_for(1 << 30, 8, 8) == 64);
    CHECK(nodes_for(1 << 30, 8, 16) == 64);
    CHECK(nodes_for(1 << 30, 8, 64) == 16);
    for (int length = 1; length < (1 << 20); length += 4099) {
        CHECK(nodes_for(length + 4099, 8, 8)
              >= nodes_for(length, 8, 8)); // the workspace is made for the longest
    }
}
