// SPDX-License-Identifier: MIT
// insert and insert_values: every element lands where the layout says, nothing else is touched, runs or not.
#include "kvloom/core/bf16.hpp"
#include "kvloom/core/fp8.hpp"
#include "kvloom/op/insert.hpp"
#include "kvloom/op/insert_values.hpp"
#include "support/catch.hpp"
#include "support/machines.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

constexpr int pages = 40;

template <class Layout, int Dim>
struct value_args
{
    head_rows<bf16 const, Dim> source;
    paged_view<Layout> cache;
    i64 const* slots;
    int count;
    float factor;
};

/// One block a window, one wave after another an item.
template <class Layout, int Dim, int Heads>
struct put_windows
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    /// For the estimate of tests/amd: a wave goes through its items, in each through the runs of its window, and through the
    /// rows of lone tokens.
    static i64 passes(value_args<Layout, Dim> const& a, i64 waves)
    {
        return i64(a.source.heads) * (a.count + 2 * waves);
    }

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, value_args<Layout, Dim> const& a) const
    {
        using split          = value_split<typename Block::wave_type, Dim, Heads>;
        constexpr int window = split::template window<typename Layout::element>;
        auto const slot_of   = [&](int token) { return a.slots[token]; };
        int const first      = block.index() * window;
        for (int item = block.wave_index(); item < split::items(a.source.heads); item += Block::waves) {
            insert_values<split>(block.wave(), a.source, a.cache, first, a.count, item, slot_of,
                                 same_for_all<multiplied_by>{{a.factor}});
        }
    }
};

/// One wave a row.
template <class Layout, int Dim>
struct put_rows
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, value_args<Layout, Dim> const& a) const
    {
        int const row = block.index() * Block::waves + block.wave_index();
        if (row < a.count * a.source.heads) {
            int const token = row / a.source.heads;
            int const head  = row % a.source.heads;
            auto const find = [&] { return place(a.cache, a.slots[token]); };
            insert_value_row(block.wave(), a.source.row(token, head), a.cache, head, find,
                             same_for_all<multiplied_by>{{a.factor}});
        }
    }
};

/// A tile a row, through insert.
template <class Layout, int Dim>
struct put_tiles
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, value_args<Layout, Dim> const& a) const
    {
        auto const tile = kvloom::tile<16>(block);
        int const row   = block.index() * (Block::threads / 16) + block.thread() / 16;
        bool const live = row < a.count * a.source.heads;
        int const token = live ? row / a.source.heads : 0;
        int const head  = live ? row % a.source.heads : 0;
        auto const x    = load(tile, a.source.row(token, head));
        i64 const slot  = live ? a.slots[token] : -1;
        insert(tile, a.cache, place(a.cache, slot), head, x, multiplied_by{a.factor});
    }
};

std::vector<i64> slots_of(int pattern, int count)
{
    std::mt19937 random(std::uint32_t(pattern * 1000 + count));
    std::vector<i64> all(pages * 16);
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = i64(i);
    }
    std::vector<i64> slots;
    if (pattern == 0) { // consecutive, from the start of a page
        slots.assign(all.begin() + 32, all.begin() + 32 + count);
    } else if (pattern == 1) { // consecutive, from slot 5
        slots.assign(all.begin() + 37, all.begin() + 37 + count);
    } else if (pattern == 2) { // each token alone
        std::shuffle(all.begin(), all.end(), random);
        slots.assign(all.begin(), all.begin() + count);
    } else { // runs of random length in random order, with gaps and faults between them
        std::vector<i64> starts;
        for (i64 at = 0; at < pages * 16;) {
            i64 const length = 1 + i64(random() % 40);
            for (i64 i = at; i < std::min<i64>(at + length, pages * 16); ++i) {
                starts.push_back(at);
            }
            at += length;
        }
        std::vector<i64> order(all);
        std::sort(order.begin(), order.end(), [&](i64 a, i64 b) {
            auto const key = [&](i64 slot) { return (starts[std::size_t(slot)] * 2654435761LL) % 1009; };
            return key(a) != key(b) ? key(a) < key(b) : a < b;
        });
        slots.assign(order.begin(), order.begin() + count);
        for (i64& slot : slots) {
            if (random() % 19 == 0) {
                slot = random() % 2 == 0 ? -1 : pages * 16 + 3;
            }
        }
    }
    return slots;
}

template <class Kernel, class Layout, int Dim>
void check_insert(int const tokens_a_block, int const count, int const heads, int const pattern)
{
    using element      = typename Layout::element;
    float const factor = 0.7F;
    std::vector<bf16> rows(std::size_t(count * heads * Dim));
    std::uint32_t state = 5;
    for (bf16& x : rows) {
        state = state * 1664525U + 1013904223U;
        x     = encode<bf16>(float(int(state)) * 2e-9F);
    }
    auto const slots = slots_of(pattern, count);
    element const untouched{0x5a};
    std::vector<element> wanted(std::size_t(pages * heads * Layout::elements), untouched);
    for (int t = 0; t < count; ++t) {
        i64 const slot = slots[std::size_t(t)];
        if (slot < 0 || slot >= pages * 16) {
            continue;
        }
        for (int h = 0; h < heads; ++h) {
            for (int d = 0; d < Dim; ++d) {
                auto const at =
                    (slot / 16 * heads + h) * Layout::elements + Layout::offset(int(slot % 16), d);
                wanted[std::size_t(at)] =
                    encode<element>(decode(rows[std::size_t((t * heads + h) * Dim + d)]) * factor);
            }
        }
    }
    on_every_machine([&](char const* name, auto const& stream) {
        CAPTURE(name, count, heads, pattern, Dim);
        device_array<bf16> source(rows);
        device_array<element> cache(wanted.size(), untouched);
        device_array<i64> places(slots);
        value_args<Layout, Dim> args;
        args.source            = {source.data(), heads, heads * Dim};
        args.cache.data        = cache.data();
        args.cache.pages       = pages;
        args.cache.heads       = heads;
        args.cache.page_stride = heads * Layout::elements;
        args.slots             = places.data();
        args.count             = count;
        args.factor            = factor;
        run<Kernel>(stream, args,
                    tokens_a_block == 1 ? count * heads : (count + tokens_a_block - 1) / tokens_a_block);
        auto const got    = cache.values();
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            wrong += got[i] == wanted[i] ? 0 : 1;
        }
        REQUIRE(wrong == 0);
    });
}

template <class Layout, int Dim, int Heads>
void check_values()
{
    constexpr int window = Layout::vector;
    for (int const pattern : {0, 1, 2, 3}) {
        for (int const count : {1, 7, 16, 17, 33, plain_program ? 64 : 100}) {
            check_insert<put_windows<Layout, Dim, Heads>, Layout, Dim>(window, count, 3, pattern);
        }
        check_insert<put_windows<Layout, Dim, Heads>, Layout, Dim>(window, plain_program ? 50 : 300, 1,
                                                                   pattern);
    }
}

} // namespace

TEST_CASE("insert_values: runs, lone tokens and faults into bf16", "[op][insert]")
{
    check_values<shuffled_values<bf16, 128>, 128, 2>();
    check_values<shuffled_values<bf16, 128>, 128, 1>();
    check_values<shuffled_values<bf16, 64>, 64, 2>();
}

TEST_CASE("insert_values: runs, lone tokens and faults into fp8 and fp16", "[op][insert]")
{
    check_values<shuffled_values<fp8_e4m3, 128>, 128, 2>();
    check_values<shuffled_values<fp8_e4m3_fnuz, 128>, 128, 1>();
    check_values<shuffled_values<fp16, 128>, 128, 4>();
}

TEST_CASE("insert_value_row: a wave a row", "[op][insert]")
{
    check_insert<put_rows<shuffled_values<bf16, 128>, 128>, shuffled_values<bf16, 128>, 128>(1, 20, 2, 2);
    check_insert<put_rows<shuffled_values<fp8_e4m3, 128>, 128>, shuffled_values<fp8_e4m3, 128>, 128>(1, 20, 2,
                                                                                                     3);
    check_insert<put_rows<shuffled_values<bf16, 80>, 80>, shuffled_values<bf16, 80>, 80>(1, 20, 2, 3);
}

TEST_CASE("insert: a tile a row into layouts along dims and along slots", "[op][insert]")
{
    check_insert<put_tiles<shuffled_keys<bf16, 128>, 128>, shuffled_keys<bf16, 128>, 128>(1, 30, 3, 3);
    check_insert<put_tiles<shuffled_keys<fp8_e4m3, 128>, 128>, shuffled_keys<fp8_e4m3, 128>, 128>(1, 30, 3,
                                                                                                  2);
    check_insert<put_tiles<shuffled_keys<fp8_e4m3_fnuz, 80>, 80>, shuffled_keys<fp8_e4m3_fnuz, 80>, 80>(1, 30,
                                                                                                        3, 2);
    check_insert<put_tiles<shuffled_values<fp16, 128>, 128>, shuffled_values<fp16, 128>, 128>(1, 30, 3, 3);
    check_insert<put_tiles<shuffled_values<fp8_e4m3, 72>, 72>, shuffled_values<fp8_e4m3, 72>, 72>(1, 30, 3,
                                                                                                  3);
    check_insert<put_tiles<token_rows<bf16, 256>, 256>, token_rows<bf16, 256>, 256>(1, 30, 3, 3);
}
