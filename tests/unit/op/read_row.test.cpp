// SPDX-License-Identifier: MIT
// fetch and load from a paged cache, and lines of eight tokens turned to rows and back.
#include "kvloom/core/fp16.hpp"
#include "kvloom/core/fp8.hpp"
#include "kvloom/op/read_row.hpp"
#include "kvloom/op/token_lines.hpp"
#include "support/catch.hpp"
#include "support/machines.hpp"

#include <cstdint>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

constexpr int pages = 3;
constexpr int heads = 2;

template <class Layout>
struct row_args
{
    paged_view<Layout> cache;
    typename Layout::element* bits;
    float* values;
    i64 const* slots;
    int count;
};

/// A tile a token, all heads: the bits as they were fetched, and the values.
template <class Layout, int Lanes>
struct take_rows
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, row_args<Layout> const& a) const
    {
        constexpr int dim = Layout::dim;
        auto const tile   = kvloom::tile<Lanes>(block);
        int const token   = block.index() * (Block::threads / Lanes) + block.thread() / Lanes;
        if (token >= a.count) {
            return;
        }
        for (int head = 0; head < heads; ++head) {
            auto const where  = place(a.cache, a.slots[token]);
            auto const stored = fetch(tile, a.cache, where, head);
            auto const values = load(tile, a.cache, where, head);
            i64 const row     = (i64(token) * heads + head) * dim;
            for (int k = 0; k < stored.parts; ++k) {
                if (holds<dim>(tile, k)) {
                    i64 const at = row + tile.chunk(k) * chunk_size;
                    detail::store_words(tile.wave, a.bits + at, stored.part[k]);
                    detail::store_words(tile.wave, a.values + at, pack<float>(values.part[k]));
                }
            }
        }
    }
};

template <class Layout, int Lanes = 16>
void check_rows()
{
    using element = typename Layout::element;
    std::vector<element> content(std::size_t(pages * heads * Layout::elements));
    std::uint32_t state = 9;
    for (element& x : content) {
        state  = state * 1664525U + 1013904223U;
        x.bits = static_cast<decltype(element::bits)>(state >> 13);
    }
    std::vector<i64> const slots = {17, 0, -1, 47, 48, 31, 5, 1000, 16, 33, 2};
    on_every_machine([&](char const* name, auto const& stream) {
        CAPTURE(name, Layout::dim);
        device_array<element> const cache(content);
        device_array<element> const bits(slots.size() * heads * Layout::dim, element{0x11});
        device_array<float> const values(slots.size() * heads * Layout::dim, 3.0F);
        device_array<i64> const places(slots);
        row_args<Layout> a{};
        a.cache.data        = cache.data();
        a.cache.pages       = pages;
        a.cache.heads       = heads;
        a.cache.page_stride = heads * Layout::elements;
        a.bits              = bits.data();
        a.values            = values.data();
        a.slots             = places.data();
        a.count             = int(slots.size());
        run<take_rows<Layout, Lanes>>(stream, a, (a.count * Lanes + 63) / 64);
        auto const got_bits   = bits.values();
        auto const got_values = values.values();
        std::size_t wrong     = 0;
        for (std::size_t i = 0; i < got_bits.size(); ++i) {
            int const d    = int(i % Layout::dim);
            int const head = int(i / Layout::dim % heads);
            i64 const slot = slots[i / Layout::dim / heads];
            element want{0};
            if (slot >= 0 && slot < pages * Layout::page_size) {
                i64 const span = (slot / Layout::page_size * heads + head) * Layout::elements;
                want = content[std::size_t(span + Layout::offset(int(slot % Layout::page_size), d))];
            }
            float const value = decode(want);
            wrong += got_bits[i] == want ? 0 : 1;
            wrong += got_values[i] == value || (is_nan(value) && is_nan(got_values[i])) ? 0 : 1;
        }
        REQUIRE(wrong == 0);
    });
}

template <class Layout>
struct line_args
{
    paged_view<Layout> from;
    paged_view<Layout> to;
};

/// Each tile takes eight tokens of head 0, turns them to rows and back, and writes them elsewhere.
template <class Layout>
struct turn_lines
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, line_args<Layout> const& a) const
    {
        auto const tile         = kvloom::tile<8>(block);
        int const group         = block.thread() / 8;
        token_place const where = {group / 2, group % 2 * 8, group / 2 < pages};
        auto const lines        = fetch_lines<line_order::chunk>(tile, a.from, where, 0);
        store_lines<line_order::chunk>(tile, a.to, where, 0, transposed(transposed(lines)));
        auto const spread = fetch_lines<line_order::spread>(tile, a.from, where, 1);
        store_lines<line_order::spread>(tile, a.to, where, 1, spread);
    }
};

template <class Layout>
void check_lines()
{
    using element = typename Layout::element;
    std::vector<element> content(std::size_t(pages * heads * Layout::elements));
    for (std::size_t i = 0; i < content.size(); ++i) {
        content[i].bits = static_cast<decltype(element::bits)>(i * 2654435761U >> 7);
    }
    on_every_machine([&](char const* name, auto const& stream) {
        CAPTURE(name, Layout::dim);
        device_array<element> const from(content);
        device_array<element> const to(content.size(), element{0x11});
        line_args<Layout> a{};
        a.from.data        = from.data();
        a.from.pages       = pages;
        a.from.heads       = heads;
        a.from.page_stride = heads * Layout::elements;
        a.to               = a.from;
        a.to.data          = to.data();
        run<turn_lines<Layout>>(stream, a);
        auto const got = to.values();
        REQUIRE(std::equal(got.begin(), got.end(), content.begin()));
    });
}

} // namespace

TEST_CASE("fetch: rows of every layout and type, nothing where there is no place", "[op][pages]")
{
    check_rows<shuffled_keys<bf16, 128>>();
    check_rows<shuffled_keys<fp8_e4m3, 80>>();
    check_rows<shuffled_values<fp16, 128>>();
    check_rows<shuffled_values<fp8_e4m3_fnuz, 72>>();
    check_rows<transposed_values<bf16, 256>>();
    check_rows<transposed_values<fp8_e4m3, 64>, 8>();
    check_rows<token_rows<fp8_e4m3, 128>, 32>();
    check_rows<token_rows<bf16, 512>>();
}

TEST_CASE("fetch_lines and store_lines: eight tokens there and back", "[op][pages]")
{
    check_lines<shuffled_values<bf16, 64>>();
    check_lines<shuffled_values<fp8_e4m3, 128>>();
    check_lines<transposed_values<fp16, 128>>();
    check_lines<transposed_values<fp8_e4m3_fnuz, 64>>();
}
