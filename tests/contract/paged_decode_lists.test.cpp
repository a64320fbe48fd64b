// SPDX-License-Identifier: MIT
// Paged decode of sparse layers: each query token is a row of its own, with its own list of pages, in any order and the
// partial one last, as MiniMax-M3's selection gives them. Rows share pages.
#include "contract/decode_check.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class T, class Table, class Scale, int Dim>
struct listed : decode_problem
{
    using query       = conditional_t<is_same_v<T, fp16>, fp16, bf16>;
    using key_cache   = shuffled_keys<T, Dim>;
    using value_cache = shuffled_values<T, Dim>;
    using table       = Table;
    using key_scale   = Scale;
    using value_scale = Scale;
    using lse         = natural_lse;
};

using bf16_lists = listed<bf16, page_list<int>, no_scale, 128>;
using fp16_lists = listed<fp16, page_list<i64>, no_scale, 64>;
using e4m3_lists = listed<fp8_e4m3, page_list<int>, scale_view, 128>;
using fnuz_table = listed<fp8_e4m3_fnuz, block_table<int>, head_scale, 64>;

/// The pages of one row, and how many tokens they hold.
struct row_pages
{
    std::vector<std::int64_t> ids;
    std::int64_t tokens = 0;
};

/// Pages that tokens fill, and those that they fill in part, with how many.
struct page_pool
{
    std::vector<std::int64_t> full;
    std::vector<row_pages> partial;
};

page_pool pool_of(decode_scene const& s)
{
    page_pool pool;
    for (std::size_t i = 0; i < s.ids.size(); ++i) {
        auto const full = static_cast<std::size_t>(s.lengths[i] / s.keys.page_size);
        pool.full.insert(pool.full.end(), s.ids[i].begin(),
                         s.ids[i].begin() + static_cast<std::ptrdiff_t>(full));
        if (s.lengths[i] % s.keys.page_size != 0) {
            pool.partial.push_back({{s.ids[i][full]}, s.lengths[i] % s.keys.page_size});
        }
    }
    return pool;
}

/// Gives the rows of a scene these pages in place of their own.
void name_pages(decode_scene& s, std::vector<row_pages> const& rows)
{
    std::vector<std::int64_t> table, starts{0};
    s.ids.clear();
    s.lengths.clear();
    for (auto const& row : rows) {
        s.most_pages = std::max(s.most_pages, static_cast<int>(row.ids.size()));
    }
    s.table_stride = s.most_pages;
    for (auto const& row : rows) {
        s.ids.push_back(row.ids);
        s.lengths.push_back(row.tokens);
        table.insert(table.end(), row.ids.begin(), row.ids.end());
        if (!s.shape.list) {
            table.resize(s.ids.size() * static_cast<std::size_t>(s.table_stride), 0); // padding names a page
        }
        starts.push_back(static_cast<std::int64_t>(table.size()));
    }
    s.table           = make_ids(table, s.shape.wide_ids);
    s.starts          = make_ids(starts, false);
    s.length_block    = make_ids(s.lengths, s.shape.wide_lengths);
    s.options.lengths = s.lengths;
}

/// A cache of several sequences, and as many rows.
template <class Problem>
decode_scene twelve_rows()
{
    decode_options o;
    o.lengths = {400, 33, 9, 256, 703, 5, 16, 130, 47, 95, 600, 318};
    o.heads   = 16;
    o.caches  = page_form::apart;
    o.blocks  = 7;
    return scene_for<Problem>(o);
}

/// Full pages in random order, then a partial one of which the row sees a part. Some rows have nothing but that, some none
/// of it, one has no page at all.
std::vector<row_pages> choose_pages(decode_scene const& s, std::uint64_t const seed)
{
    random_source random(seed);
    auto const pool = pool_of(s);
    std::vector<row_pages> rows;
    for (int i = 0; i < s.sequences(); ++i) {
        auto order = permutation(random, static_cast<int>(pool.full.size()));
        order.resize(i == 4 ? 0 : static_cast<std::size_t>(random.below(i % 2 == 0 ? 40 : 4)));
        row_pages row;
        for (int const page : order) {
            row.ids.push_back(pool.full[static_cast<std::size_t>(page)]);
        }
        row.tokens = static_cast<std::int64_t>(row.ids.size()) * s.keys.page_size;
        if (i % 3 != 1) {
            auto const& tail =
                pool.partial[static_cast<std::size_t>(random.below(static_cast<int>(pool.partial.size())))];
            row.ids.push_back(tail.ids[0]);
            row.tokens += 1 + random.below(static_cast<int>(tail.tokens));
        }
        rows.push_back(row);
    }
    return rows;
}

template <class Problem>
void check_scene(decode_scene const& s)
{
    auto const want = expect(s, logit_of<plain_logits>(s), false);
    on_every_machine([&](char const* machine, auto const& stream) {
        CAPTURE(machine, s.lengths);
        decode_call<Problem> call(stream, s);
        call.run(stream);
        check_call(call, s, want);
    });
}

template <class Problem>
void check_lists()
{
    auto s = twelve_rows<Problem>();
    for (std::uint64_t const seed : {1, 2}) {
        auto const rows = choose_pages(s, seed);
        auto chosen     = s;
        name_pages(chosen, rows);
        check_scene<Problem>(chosen);
    }
}

} // namespace

TEST_CASE("page lists of single rows: bf16, the partial page last", "[contract][decode]")
{
    check_lists<bf16_lists>();
}

TEST_CASE("page lists of single rows: fp16, ids of 64 bits", "[contract][decode]")
{
    check_lists<fp16_lists>();
}

TEST_CASE("page lists of single rows: e4m3 with a scale for each token and head", "[contract][decode]")
{
    check_lists<e4m3_lists>();
}

TEST_CASE("page lists of single rows: fnuz, lists padded to a table", "[contract][decode]")
{
    check_lists<fnuz_table>();
}

TEST_CASE("the tokens of a speculative step: blocks of 128 tokens, tails that grow by one",
          "[contract][decode]")
{
    auto s          = twelve_rows<bf16_lists>();
    auto const pool = pool_of(s);
    auto const tail = std::max_element(pool.partial.begin(), pool.partial.end(),
                                       [](auto const& a, auto const& b) { return a.tokens < b.tokens; });
    REQUIRE(tail->tokens >= 12);
    std::vector<row_pages> rows;
    for (int i = 0; i < s.sequences(); ++i) {
        row_pages row;
        for (int const block : {5, i % 3, 9, 12 - i % 4}) { // of 8 pages each, in the order of their choice
            auto const first = pool.full.begin() + 8 * block;
            row.ids.insert(row.ids.end(), first, first + 8);
        }
        row.ids.push_back(tail->ids[0]);
        row.tokens = 4 * 128 + 1 + i; // the causal rule, token by token
        rows.push_back(row);
    }
    name_pages(s, rows);
    check_scene<bf16_lists>(s);
}

TEST_CASE("a row gives the bytes alone that it gives among rows that share its pages",
          "[contract][decode][law]")
{
    auto const s    = twelve_rows<bf16_lists>();
    auto const rows = choose_pages(s, 3);
    auto batch      = s;
    name_pages(batch, rows);
    on_every_machine([&](char const* machine, auto const& stream) {
        decode_call<bf16_lists> of_all(stream, batch);
        of_all.run(stream);
        auto const all = of_all.out();
        for (std::size_t i = 0; i < rows.size(); ++i) {
            CAPTURE(machine, i);
            std::vector<row_pages> others(rows.size(), row_pages{});
            others[i]  = rows[i];
            auto alone = s;
            name_pages(alone, others);
            decode_call<bf16_lists> of_one(stream, alone);
            of_one.run(stream);
            auto const one   = of_one.out();
            auto const width = static_cast<std::ptrdiff_t>(all.size() / rows.size());
            auto const first = static_cast<std::ptrdiff_t>(i) * width;
            CHECK(std::equal(one.begin() + first, one.begin() + first + width, all.begin() + first));
        }
    });
}

TEST_CASE("a page named twice counts twice, one that does not exist not at all", "[contract][decode]")
{
    auto s          = twelve_rows<e4m3_lists>();
    auto rows       = choose_pages(s, 4);
    auto const full = pool_of(s).full;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        auto& row     = rows[i];
        auto const at = row.ids.begin() + static_cast<std::ptrdiff_t>(row.ids.size() / 3);
        row.ids.insert(at, {full[i], i % 2 == 0 ? std::int64_t{-1} : s.keys.pages, full[i]});
        row.tokens += 3 * s.keys.page_size;
    }
    name_pages(s, rows);
    check_scene<e4m3_lists>(s);
}
