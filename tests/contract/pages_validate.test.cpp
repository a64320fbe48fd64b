// SPDX-License-Identifier: MIT
// What copy_pages and read_back refuse: each fault alone, by argument, value and rule.
#include "contract/copy_cases.hpp"
#include "contract/refusals.hpp"
#include "kvloom/kernel/read_back.hpp"

#include <string>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class Kernel>
void check_refusals(typename Kernel::args const& sound,
                    std::vector<refusal<typename Kernel::args>> const& refusals)
{
    REQUIRE(text_of(Kernel::validate(sound)) == "");
    for (auto const& r : refusals) {
        auto args = sound;
        r.spoil(args);
        CHECK(says(Kernel::validate(args), r.message));
        on_every_machine([&](char const*, auto const& stream) {
            CHECK(says(Kernel::launch(stream, args), r.message)); // touches none of these addresses
        });
    }
}

using copying =
    copy_problem<shuffled_values<bf16, 128>, token_rows<fp8_e4m3, 128>, head_scale, scale_view, 8, 1>;
using plain        = copy_problem<shuffled_values<bf16, 128>, shuffled_values<bf16, 128>>;
using copying_args = copy_pages_args<copying>;

/// 30 pages of 4 heads in blocks of eight; token rows with the heads of a token side by side.
copying_args sound_copy()
{
    copying_args a;
    a.source.data         = somewhere<bf16>(0);
    a.source.pages        = 30;
    a.source.heads        = 4;
    a.source.page_stride  = 4 * 16 * 128;
    a.source.block_stride = 16 * 4 * 16 * 128;
    a.target.data         = somewhere<fp8_e4m3>(1);
    a.target.pages        = 20;
    a.target.heads        = 4;
    a.target.page_stride  = 16 * 4 * 128;
    a.target.token_stride = 4 * 128;
    a.target.head_stride  = 128;
    a.source_ids          = somewhere<int>(2);
    a.target_ids          = somewhere<int>(3);
    a.count               = 7;
    a.source_scale.data   = somewhere<float>(4);
    a.target_scale        = page_scales(somewhere<float>(5), 4, 16);
    return a;
}

struct reading : read_back_problem
{
    using cache = shuffled_keys<fp8_e4m3, 128>;
    using scale = cache_scale;
    using id    = i64;
};
using reading_args = read_back_args<reading>;

/// Tokens 30 to 129 of sequences 2 to 4.
reading_args sound_read()
{
    reading_args a;
    a.cache.data        = somewhere<fp8_e4m3>(0);
    a.cache.pages       = 50;
    a.cache.heads       = 4;
    a.cache.page_stride = 4 * 16 * 128;
    a.table             = {somewhere<i64>(1), 5, 9, 12};
    a.sequence          = 2;
    a.sequences         = 3;
    a.first             = 30;
    a.count             = 100;
    a.rows              = {somewhere<bf16>(2), 4, 4 * 128, 128};
    a.scale.data        = somewhere<float>(3);
    return a;
}

} // namespace

TEST_CASE("copy_pages refuses by name", "[contract][pages][validate]")
{
    check_refusals<copy_pages<copying>>(
        sound_copy(),
        {
            {[](copying_args& a) { a.count = -1; }, "count must be at least 0, but is -1"},
            {[](copying_args& a) { a.count = 1 << 29; }, "count must be below 536870912, but is 536870912"},
            {[](copying_args& a) { a.source.data = nullptr; }, "source.data must not be null"},
            {[](copying_args& a) { a.target.data = nullptr; }, "target.data must not be null"},
            {[](copying_args& a) { a.source_ids = nullptr; }, "source_ids must not be null"},
            {[](copying_args& a) { a.target_ids = nullptr; }, "target_ids must not be null"},
            {[](copying_args& a) { a.source_scale.data = nullptr; }, "source_scale.data must not be null"},
            {[](copying_args& a) { a.target_scale.data = nullptr; }, "target_scale.data must not be null"},
            {[](copying_args& a) { a.source.heads = 0; }, "source.heads must be at least 1, but is 0"},
            {[](copying_args& a) { a.target.heads = 3; }, "target.heads must be 4, but is 3"},
            {[](copying_args& a) { a.source.pages = -2; }, "source.pages must be at least 0, but is -2"},
            {[](copying_args& a) { a.target.pages = -1; }, "target.pages must be at least 0, but is -1"},
            {[](copying_args& a) { a.source.page_stride = 8000; },
             "source.page_stride must be a stride of at least 8192, but is 8000"},
            {[](copying_args& a) { a.source.block_stride = 8192; },
             "source.block_stride must be a stride of at least 65536, but is 8192"},
            {[](copying_args& a) { a.source.head_stride = -8; },
             "source.head_stride must be at least 0, but is -8"},
            {[](copying_args& a) { a.source.head_stride = 2052; },
             "source.head_stride must be a multiple of 8, but is 2052"},
            {[](copying_args& a) { a.target.token_stride = 64; },
             "target.token_stride must be a stride of at least 128, but is 64"},
            {[](copying_args& a) { a.target.token_stride = 520; },
             "target.token_stride must be a multiple of 16, but is 520"},
            {[](copying_args& a) { a.target.page_stride = 512; },
             "target.page_stride must be a stride of at least 8192, but is 512"},
            {[](copying_args& a) { a.target_scale.page_stride = 63; },
             "target_scale.page_stride must be a stride of at least 64, but is 63"},
            {[](copying_args& a) { a.target_scale.head_stride = -1; },
             "target_scale.head_stride must be at least 0, but is -1"},
            {[](copying_args& a) { a.target.data = reinterpret_cast<fp8_e4m3*>(a.source.data + 64); },
             "target.data must not overlap another argument"},
        });
}

TEST_CASE("copy_pages refuses bases that are not aligned", "[contract][pages][validate]")
{
    check_refusals<copy_pages<copying>>(
        sound_copy(),
        {
            {[](copying_args& a) { shift(a.source.data, 8); },
             "source.data must be a multiple of 16, but is "},
            {[](copying_args& a) { shift(a.target.data, 1); },
             "target.data must be a multiple of 16, but is "},
            {[](copying_args& a) { shift(a.source_ids, 2); }, "source_ids must be a multiple of 4, but is "},
            {[](copying_args& a) { shift(a.target_ids, 1); }, "target_ids must be a multiple of 4, but is "},
            {[](copying_args& a) { shift(a.source_scale.data, 2); },
             "source_scale.data must be a multiple of 4, but is "},
            {[](copying_args& a) { shift(a.target_scale.data, 1); },
             "target_scale.data must be a multiple of 4, but is "},
        });
}

TEST_CASE("copy_pages: caches page by page in one storage are apart, and overlap where they do",
          "[contract][pages][validate]")
{
    copy_pages_args<plain> a;
    i64 const page       = 2 * 16 * 128;
    a.source.data        = somewhere<bf16>(0);
    a.source.pages       = 10;
    a.source.heads       = 2;
    a.source.page_stride = 2 * page;
    a.target             = a.source;
    a.target.data        = a.source.data + page;
    a.source_ids         = somewhere<int>(1);
    a.target_ids         = somewhere<int>(2);
    a.count              = 3;
    CHECK(text_of(copy_pages<plain>::validate(a)) == "");
    a.target.data -= 8;
    CHECK(text_of(copy_pages<plain>::validate(a)) == "target.data must not overlap another argument");
    a.target.data += 16;
    CHECK(text_of(copy_pages<plain>::validate(a)) == "target.data must not overlap another argument");
    a.target.data = a.source.data + 20 * page;
    CHECK(text_of(copy_pages<plain>::validate(a)) == "");
    a.target.data        = a.source.data + page;
    a.target.page_stride = 3 * page;
    CHECK(text_of(copy_pages<plain>::validate(a)) == "target.data must not overlap another argument");
    a.count       = 0;
    a.source.data = nullptr;
    CHECK(text_of(copy_pages<plain>::validate(a)) == "");
}

TEST_CASE("read_back refuses by name", "[contract][pages][validate]")
{
    check_refusals<read_back<reading>>(
        sound_read(),
        {
            {[](reading_args& a) { a.count = -1; }, "count must be at least 0, but is -1"},
            {[](reading_args& a) { a.sequences = -3; }, "sequences must be at least 0, but is -3"},
            {[](reading_args& a) { a.sequence = -1; }, "sequence must be at least 0, but is -1"},
            {[](reading_args& a) { a.sequence = 3; }, "table.sequences must be at least 6, but is 5"},
            {[](reading_args& a) { a.first = -1; }, "first must be at least 0, but is -1"},
            {[](reading_args& a) { a.first = 45; }, "table.width must be at least 10, but is 9"},
            {[](reading_args& a) { a.count = 115; }, "table.width must be at least 10, but is 9"},
            {[](reading_args& a) { a.table.width = -1; }, "table.width must be at least 0, but is -1"},
            {[](reading_args& a) { a.table.stride = 8; },
             "table.stride must be a stride of at least 9, but is 8"},
            {[](reading_args& a) { a.table.ids = nullptr; }, "table.ids must not be null"},
            {[](reading_args& a) { a.cache.data = nullptr; }, "cache.data must not be null"},
            {[](reading_args& a) { a.cache.heads = 0; }, "cache.heads must be at least 1, but is 0"},
            {[](reading_args& a) { a.cache.pages = -1; }, "cache.pages must be at least 0, but is -1"},
            {[](reading_args& a) { a.cache.page_stride = 4 * 2048 - 16; },
             "cache.page_stride must be a stride of at least 8192, but is 8176"},
            {[](reading_args& a) { a.rows.data = nullptr; }, "rows.data must not be null"},
            {[](reading_args& a) { a.rows.heads = 5; }, "rows.heads must be 4, but is 5"},
            {[](reading_args& a) { a.rows.token_stride = 504; },
             "rows.token_stride must be a stride of at least 512, but is 504"},
            {[](reading_args& a) { a.rows.head_stride = 132; },
             "rows.head_stride must be a multiple of 8, but is 132"},
            {[](reading_args& a) { a.scale.data = nullptr; }, "scale.data must not be null"},
            {[](reading_args& a) { a.rows.data = reinterpret_cast<bf16*>(a.cache.data + 1024); },
             "rows.data must not overlap another argument"},
            {[](reading_args& a) { shift(a.cache.data, 8); }, "cache.data must be a multiple of 16, but is "},
            {[](reading_args& a) { shift(a.rows.data, 2); }, "rows.data must be a multiple of 16, but is "},
            {[](reading_args& a) { shift(a.table.ids, 4); }, "table.ids must be a multiple of 8, but is "},
            {[](reading_args& a) { shift(a.scale.data, 2); }, "scale.data must be a multiple of 4, but is "},
            {[](reading_args& a) {
                 a.count        = 178956955;
                 a.table.width  = 20000000;
                 a.table.stride = 20000000;
             },
             "count must be below 178956954, but is 178956955"},
        });
}
