// SPDX-License-Identifier: MIT
// What paged_decode refuses: each fault alone, by argument, value and rule, and without a launch.
#include "contract/decode_check.hpp"
#include "contract/refusals.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

/// SHUFFLE keys, values in token rows of packed blocks, 12 query heads on 4.
struct full : decode_problem
{
    using value_cache = token_rows<bf16, 128>;
    using sinks       = head_sinks;
    using lse         = natural_lse;

    static constexpr int value_block_pages = 8;
};

struct other : decode_problem
{
    using table       = page_list<i64>;
    using tokens      = token_offsets<int>;
    using length      = i64;
    using key_scale   = scale_view;
    using value_scale = head_scale;
};

struct without_table : decode_problem
{
    using table = contiguous;
};

/// Five sequences of two query tokens.
template <class Problem>
decode_args<Problem> sound_rows()
{
    decode_args<Problem> a;
    a.query              = {somewhere<bf16 const>(0), 12, 12 * 128, 128};
    a.out                = {somewhere<bf16>(1), 12, 12 * 128, 128};
    a.keys.data          = somewhere<bf16>(2);
    a.keys.pages         = 30;
    a.keys.heads         = 4;
    a.keys.page_stride   = 4 * 16 * 128;
    a.values.data        = somewhere<bf16>(3);
    a.values.pages       = 30;
    a.values.heads       = 4;
    a.values.page_stride = 4 * 16 * 128;
    a.lengths            = somewhere<typename Problem::length>(4);
    a.sequences          = 5;
    a.softmax_scale      = 0.1F;
    a.workspace          = {somewhere<void>(5), i64(1) << 32, 7};
    return a;
}

using full_args = decode_args<full>;
full_args sound_full()
{
    full_args a           = sound_rows<full>();
    a.values.block_stride = 16 * 4 * 16 * 128;
    a.values.token_stride = 4 * 128;
    a.values.head_stride  = 128;
    a.table               = {somewhere<int>(6), 5, 9, 12};
    a.tokens.count        = 2;
    a.sinks.data          = somewhere<float>(7);
    a.lse                 = {somewhere<float>(8), 12};
    return a;
}

using other_args = decode_args<other>;
other_args sound_other()
{
    other_args a       = sound_rows<other>();
    a.table            = {somewhere<i64>(6), somewhere<int>(7), 5, 9};
    a.tokens           = {somewhere<int>(8), 3};
    a.key_scale        = page_scales(somewhere<float>(9), 4, 16);
    a.value_scale.data = somewhere<float>(10);
    return a;
}

/// Of a problem whose kernels are compiled too: nothing is launched either, for none of the addresses is of memory.
template <class Problem, bool Launches>
void check_refusals(decode_args<Problem> const& sound,
                    std::vector<refusal<decode_args<Problem>>> const& refusals)
{
    using decode = paged_decode<Problem>;
    on_every_machine([&](char const* machine, auto const& stream) {
        REQUIRE(text_of(decode::validate(stream, sound)) == "");
        for (auto const& r : refusals) {
            auto args = sound;
            r.spoil(args);
            CAPTURE(machine, r.message, text_of(decode::validate(stream, args)));
            CHECK(says(decode::validate(stream, args), r.message));
            if constexpr (Launches) {
                CHECK(says(decode::prepare_workspace(stream, args), r.message));
                CHECK(says(decode::plan(stream, args), r.message));
                CHECK(says(decode::launch(stream, args), r.message));
            }
        }
    });
}

} // namespace

TEST_CASE("paged_decode refuses heads, tokens, sequences and rows by name", "[contract][decode][validate]")
{
    check_refusals<full, true>(
        sound_full(),
        {
            {[](full_args& a) { a.sequences = -1; }, "sequences must be at least 0, but is -1"},
            {[](full_args& a) { a.sequences = 1 << 24; },
             "sequences must be below 16777216, but is 16777216"},
            {[](full_args& a) { a.tokens.count = 0; }, "tokens.count must be at least 1, but is 0"},
            {[](full_args& a) { a.keys.heads = 0; }, "keys.heads must be at least 1, but is 0"},
            {[](full_args& a) { a.query.heads = 0; }, "query.heads must be at least 1, but is 0"},
            {[](full_args& a) { a.query.heads = 33; },
             "query.heads must be a multiple of 4, but is 33"}, // B51
            {[](full_args& a) { a.tokens.count = 1398102; },
             "query.heads must be below 16777216, but is 16777224"},
            {[](full_args& a) { a.sequences = a.table.sequences = 1 << 23, a.tokens.count = 128; },
             "sequences * tokens must be below 1073741824, but is 1073741824"},
            {[](full_args& a) { a.query.data = nullptr; }, "query.data must not be null"},
            {[](full_args& a) { shift(a.query.data, 8); }, "query.data must be a multiple of 16, but is "},
            {[](full_args& a) { a.query.token_stride = 1540; },
             "query.token_stride must be a multiple of 8, but is 1540"},
            {[](full_args& a) { a.query.head_stride = -8; },
             "query.head_stride must be at least 0, but is -8"},
            {[](full_args& a) { a.out.data = nullptr; }, "out.data must not be null"},
            {[](full_args& a) { shift(a.out.data, 2); }, "out.data must be a multiple of 16, but is "},
            {[](full_args& a) { a.out.heads = 11; }, "out.heads must be 12, but is 11"},
            {[](full_args& a) { a.out.token_stride = 1528; },
             "out.token_stride must be a stride of at least 1536, but is 1528"},
            {[](full_args& a) { a.out.head_stride = 132; },
             "out.head_stride must be a multiple of 8, but is 132"},
        });
}

TEST_CASE("paged_decode refuses caches and tables by name", "[contract][decode][validate]")
{
    check_refusals<full, true>(
        sound_full(),
        {
            {[](full_args& a) { a.keys.data = nullptr; }, "keys.data must not be null"},
            {[](full_args& a) { shift(a.keys.data, 8); }, "keys.data must be a multiple of 16, but is "},
            {[](full_args& a) { a.keys.pages = -1; }, "keys.pages must be at least 0, but is -1"},
            {[](full_args& a) { a.keys.pages = a.values.pages = 0; },
             "keys.pages must be at least 1, but is 0"},
            {[](full_args& a) { a.keys.page_stride = 8184; },
             "keys.page_stride must be a stride of at least 8192, but is 8184"},
            {[](full_args& a) { a.keys.head_stride = 2040; },
             "keys.head_stride must be a stride of at least 2048, but is 2040"},
            {[](full_args& a) { a.keys.head_stride = 2052; },
             "keys.head_stride must be a multiple of 8, but is 2052"},
            {[](full_args& a) { a.values.data = nullptr; }, "values.data must not be null"},
            {[](full_args& a) { a.values.pages = 31; }, "values.pages must be 30, but is 31"},
            {[](full_args& a) { a.values.heads = 5; }, "values.heads must be 4, but is 5"},
            {[](full_args& a) { a.values.token_stride = 64; },
             "values.token_stride must be a stride of at least 128, but is 64"},
            {[](full_args& a) { a.values.block_stride = 8192; },
             "values.block_stride must be a stride of at least 65536, but is 8192"},
            {[](full_args& a) { a.table.sequences = 4; }, "table.sequences must be at least 5, but is 4"},
            {[](full_args& a) { a.table.width = -1; }, "table.width must be at least 0, but is -1"},
            {[](full_args& a) { a.table.ids = nullptr; }, "table.ids must not be null"},
            {[](full_args& a) { shift(a.table.ids, 2); }, "table.ids must be a multiple of 4, but is "},
            {[](full_args& a) { a.table.stride = 8; },
             "table.stride must be a stride of at least 9, but is 8"},
            {[](full_args& a) { a.table.stride = i64(1) << 36; },
             "table.stride must be below 68719476736, but is 68719476736"},
            {[](full_args& a) { a.table.width = 1 << 26, a.table.stride = 1 << 26; },
             "table must be below 1073741824, but is 1073741824"},
        });
}

TEST_CASE("paged_decode refuses lengths, scales, sinks, logarithms and the workspace by name",
          "[contract][decode][validate]")
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    check_refusals<full, true>(
        sound_full(),
        {
            {[](full_args& a) { a.lengths = nullptr; }, "lengths must not be null"},
            {[](full_args& a) { shift(a.lengths, 2); }, "lengths must be a multiple of 4, but is "},
            {[](full_args& a) { a.softmax_scale = 0.0F; }, "softmax_scale must be finite and above 0"},
            {[](full_args& a) { a.softmax_scale = -1.0F; }, "softmax_scale must be finite and above 0"},
            {[=](full_args& a) { a.softmax_scale = infinity; }, "softmax_scale must be finite and above 0"},
            {[=](full_args& a) { a.softmax_scale = infinity - infinity; },
             "softmax_scale must be finite and above 0"},
            {[](full_args& a) { a.sinks.data = nullptr; }, "sinks.data must not be null"},
            {[](full_args& a) { a.lse.data = nullptr; }, "lse.data must not be null"},
            {[](full_args& a) { a.lse.token_stride = 11; },
             "lse.token_stride must be at least 12, but is 11"},
            {[](full_args& a) { a.lse.data = reinterpret_cast<float*>(a.out.data); },
             "lse.data must not overlap another argument"},
            {[](full_args& a) {
                 a.lse.data = reinterpret_cast<float*>(const_cast<bf16*>(a.query.data) + 64);
             },
             "lse.data must not overlap another argument"},
            {[](full_args& a) { a.lse.token_stride = i64(1) << 60; },
             "lse.token_stride must be below 68719476736, but is 1152921504606846976"},
            {[](full_args& a) { a.lse.data = static_cast<float*>(a.workspace.data) + 64; },
             "lse.data must not overlap another argument"},
            {[](full_args& a) { a.out.data = static_cast<bf16*>(a.workspace.data) + 64; },
             "out.data must not overlap another argument"},
            {[](full_args& a) { a.workspace.data = const_cast<bf16*>(a.keys.data); },
             "workspace.data must not overlap another argument"},
            {[](full_args& a) { a.workspace.data = nullptr; }, "workspace.data must not be null"},
            {[](full_args& a) { shift(a.workspace.data, 128); },
             "workspace.data must be a multiple of 256, but is "},
            {[](full_args& a) { a.workspace.blocks = 0; }, "workspace.blocks must be at least 1, but is 0"},
            {[](full_args& a) { a.workspace.blocks = 1 << 15; },
             "workspace.blocks must be below 32768, but is 32768"},
            {[](full_args& a) {
                 a.query.heads        = 120;
                 a.query.token_stride = 120 * 128;
                 a.out.heads          = 120;
                 a.out.token_stride   = 120 * 128;
                 a.lse.token_stride   = 120;
                 a.tokens.count       = 32; // 120 blocks of 8 rows for each of 4 heads
                 a.table.sequences    = 1 << 23;
                 a.sequences          = 1 << 23;
             },
             "heads * sequences must be below 2147483648, but is 4026531840"},
            {[](full_args& a) {
                 a.tokens.count = 2048; // 768 blocks of 8 rows for each of 4 heads
                 a.table.width  = 1 << 22;
                 a.table.stride = 1 << 22;
             },
             "table * heads must be below 2147483648, but is 3221240832"},
            {[](full_args& a) {
                 a.tokens.count     = 64; // 24 blocks of 8 rows
                 a.table.width      = 1 << 22;
                 a.table.stride     = 1 << 22;
                 a.table.sequences  = 64;
                 a.sequences        = 64;
                 a.workspace.blocks = 2;
             },
             "table * heads * sequences / blocks must be below 2147483648, but is 3222289414"},
        });
    on_every_machine([](char const* machine, auto const& stream) {
        INFO(machine);
        full_args a       = sound_full();
        i64 const need    = paged_decode<full>::workspace_bytes(stream, a);
        a.workspace.bytes = need;
        CHECK(text_of(paged_decode<full>::validate(stream, a)) == "");
        a.workspace.bytes = need - 1;
        CHECK(text_of(paged_decode<full>::launch(stream, a))
              == "workspace.bytes must be at least " + std::to_string(need) + ", but is "
                     + std::to_string(need - 1));
        a.workspace.bytes = need;
        a.table.width     = 0; // a table that holds nothing needs no ids
        a.table.ids       = nullptr;
        CHECK(text_of(paged_decode<full>::validate(stream, a)) == "");
    });
}

TEST_CASE("paged_decode refuses lists of pages, offsets and scales of pages by name",
          "[contract][decode][validate]")
{
    check_refusals<other, false>(
        sound_other(),
        {
            {[](other_args& a) { a.tokens.most = 0; }, "tokens.most must be at least 1, but is 0"},
            {[](other_args& a) { a.tokens.data = nullptr; }, "tokens.data must not be null"},
            {[](other_args& a) { shift(a.tokens.data, 2); }, "tokens.data must be a multiple of 4, but is "},
            {[](other_args& a) { a.table.sequences = 0; }, "table.sequences must be at least 5, but is 0"},
            {[](other_args& a) { a.table.most = -3; }, "table.most must be at least 0, but is -3"},
            {[](other_args& a) { a.table.starts = nullptr; }, "table.starts must not be null"},
            {[](other_args& a) { a.table.ids = nullptr; }, "table.ids must not be null"},
            {[](other_args& a) { shift(a.table.ids, 4); }, "table.ids must be a multiple of 8, but is "},
            {[](other_args& a) { shift(a.lengths, 4); }, "lengths must be a multiple of 8, but is "},
            {[](other_args& a) { a.key_scale.data = nullptr; }, "key_scale.data must not be null"},
            {[](other_args& a) { a.key_scale.page_stride = 63; },
             "key_scale.page_stride must be a stride of at least 64, but is 63"},
            {[](other_args& a) { a.key_scale.head_stride = -1; },
             "key_scale.head_stride must be at least 0, but is -1"},
            {[](other_args& a) { a.value_scale.data = nullptr; }, "value_scale.data must not be null"},
        });
    decode_args<without_table> a = sound_rows<without_table>();
    a.table                      = {5, 6};
    using contiguous_args        = decode_args<without_table>;
    check_refusals<without_table, false>(
        a, {
               {[](contiguous_args& b) { b.table.sequences = 4; },
                "table.sequences must be at least 5, but is 4"},
               {[](contiguous_args& b) { b.table.pages = -1; }, "table.pages must be at least 0, but is -1"},
           });
}

TEST_CASE("paged_decode: no sequences succeed without a launch", "[contract][decode][validate]")
{
    full_args a  = sound_full();
    a.sequences  = 0;
    a.query.data = nullptr;
    a.out.data   = nullptr;
    a.lengths    = nullptr;
    a.keys.data  = nullptr;
    a.table.ids  = nullptr;
    a.workspace  = {};
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        CHECK(text_of(paged_decode<full>::prepare_workspace(stream, a)) == "");
        CHECK(text_of(paged_decode<full>::plan(stream, a)) == "");
        CHECK(text_of(paged_decode<full>::launch(stream, a)) == "");
    });
}
