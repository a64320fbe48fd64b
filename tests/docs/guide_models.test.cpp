// SPDX-License-Identifier: MIT
// The guide's snippets: norms, rotations and rows of models, unfused kernels, copies, and reading back.
#include "docs/engine.hpp"
#include "kvloom/kernel/copy_pages.hpp"
#include "kvloom/kernel/read_back.hpp"
#include "kvloom/kernel/unfused.hpp"

using namespace kvloom_test;
using kvloom::bf16;

namespace {

// [snippet: norms]
struct gemma : kvloom::insert_problem
{
    using q_norm = kvloom::plain_gain; // x * r * w; the default unit_offset is x * r * (1 + w)
    using k_norm = kvloom::plain_gain; // no_norm leaves a row as it is
    using v_norm = kvloom::weightless; // x * r

    static constexpr int head_dim   = 256; // 64, 128, 256 or 512
    static constexpr int rotary_dim = 256; // any even number up to head_dim; 0: no rotation
};
// [end]

// [snippet: over_vector]
struct minimax_m2 : kvloom::insert_problem
{
    using norm       = kvloom::plain_gain;
    using norm_scope = kvloom::over_vector; // one r for all heads of q, one for all heads of k
};
// [end]

// [snippet: interleaved]
struct pairs_side_by_side : kvloom::insert_problem
{
    using pairing = kvloom::interleaved_pairs; // dims 2i and 2i + 1; the table is the same
};
// [end]

// [snippet: sections]
struct qwen3_vl : kvloom::insert_problem
{
    using norm         = kvloom::plain_gain;
    using angle_source = kvloom::interleaved_sections<24, 20, 20>; // sections<...>: one after the other

    static constexpr int rotary_dim = 128; // twice the sum of the sections
};
// [end]

// [snippet: gate]
struct gated : kvloom::insert_problem
{
    using heads = kvloom::strided_heads; // every row view has a head stride of its own

    static constexpr int head_dim = 256;
};
// [end]

// [snippet: keys_out]
struct told : kvloom::insert_problem
{
    using faults = kvloom::count_faults;

    static constexpr bool keys_out = true;
};
// [end]

struct model : kvloom::insert_problem
{
    using index = kvloom::index_branch<>;
};

// [snippet: copy_pages]
struct to_fp8 : kvloom::copy_pages_problem
{
    using source       = kvloom::shuffled_values<kvloom::bf16, 128, 16>;
    using target       = kvloom::token_rows<kvloom::fp8_e4m3, 128, 16>;
    using target_scale = kvloom::scale_view; // found for each token and head, and written
};
// [end]

// [snippet: read_back]
struct from_fp8 : kvloom::read_back_problem
{
    using cache  = kvloom::token_rows<kvloom::fp8_e4m3, 128, 16>;
    using output = float;
    using scale  = kvloom::scale_view;
};
// [end]

} // namespace

TEST_CASE_METHOD(engine, "guide: norms apart and head sizes", "[guide]")
{
    auto a = usual<gemma>({4, 2, 0, 0});
    REQUIRE(text_of(kvloom::qk_norm_rope_insert<gemma>::launch(stream, a)) == "");
    row_formula f{256, 256, k_gain, 0.0};
    REQUIRE(cached(a.keys, prepared(row(a, 3, 4 + 1), a.angles.data, f, 3), 3, 1));
    REQUIRE(cached(a.values, prepared(row(a, 3, 6 + 1), nullptr, {256, 0}, 3), 3, 1));
}

TEST_CASE_METHOD(engine, "guide: a norm over the vector", "[guide]")
{
    constexpr int q_heads = 6;
    auto a                = usual<minimax_m2>({q_heads, 2, 0, 0});
    auto* const q_weights = q_gain;
    auto* const k_weights = k_gain;

    // [snippet: over_vector]
    a.q_gain = q_weights; // [q heads][head_dim]
    a.k_gain = k_weights; // [KV heads][head_dim]
    // [end]

    REQUIRE(text_of(kvloom::qk_norm_rope_insert<minimax_m2>::launch(stream, a)) == "");
    row_formula f{128, 64, k_gain + 128, 0.0};
    f.mean_square = mean_square(row(a, 3, q_heads), 2 * 128);
    REQUIRE(cached(a.keys, prepared(row(a, 3, q_heads + 1), a.angles.data, f, 3), 3, 1));
}

TEST_CASE_METHOD(engine, "guide: interleaved pairs", "[guide]")
{
    auto a = usual<pairs_side_by_side>({4, 2, 0, 0});
    REQUIRE(text_of(kvloom::qk_norm_rope_insert<pairs_side_by_side>::launch(stream, a)) == "");
    row_formula f{128, 64, k_gain};
    f.interleaved = true;
    REQUIRE(cached(a.keys, prepared(row(a, 3, 4 + 1), a.angles.data, f, 3), 3, 1));
}

TEST_CASE_METHOD(engine, "guide: sections", "[guide]")
{
    auto a                        = usual<qwen3_vl>({4, 2, 0, 0});
    auto* const section_positions = memory<kvloom::i64>(3 * tokens);
    for (int i = 0; i < 3 * tokens; ++i) {
        section_positions[i] = i * 7 % max_positions;
    }

    // [snippet: sections]
    a.positions       = section_positions; // [temporal, height, width][tokens]
    a.position_stride = tokens;
    // [end]

    REQUIRE(text_of(kvloom::qk_norm_rope_insert<qwen3_vl>::launch(stream, a)) == "");
    auto const position = [&](int frequency) {
        int const turn = frequency % 3;
        return int(section_positions[(turn != 0 && frequency < 60 ? turn : 0) * tokens + 3]);
    };
    row_formula const f{128, 128, k_gain, 0.0};
    REQUIRE(cached(a.keys, prepared(row(a, 3, 4 + 1), a.angles.data, f, position), 3, 1));
}

TEST_CASE_METHOD(engine, "guide: queries interleaved with a gate", "[guide]")
{
    constexpr int q_heads  = 4;
    constexpr int kv_heads = 2;
    auto a                 = usual<gated>({q_heads, kv_heads, 0, 0});

    // [snippet: gate]
    constexpr int row_size = (2 * q_heads + 2 * kv_heads) * 256; // [q, gate of each head | k | v]
    a.q.data               = qkv;
    a.q.heads              = q_heads;
    a.q.token_stride       = row_size;
    a.q.head_stride        = 2 * 256;
    a.k                    = {qkv + 2 * q_heads * 256, kv_heads, row_size, 256};
    a.v                    = {qkv + (2 * q_heads + kv_heads) * 256, kv_heads, row_size, 256};
    // [end]

    REQUIRE(text_of(kvloom::qk_norm_rope_insert<gated>::launch(stream, a)) == "");
    row_formula const f{256, 64, q_gain};
    REQUIRE(agree<bf16>(prepared(row(a, 3, 2 * 2), a.angles.data, f, 3),
                        [&](int d) { return a.q_out.row(3, 2).data[d]; }));
    REQUIRE(cached(a.values, decoded(row(a, 3, 2 * q_heads + kv_heads + 1), 256), 3, 1));
}

TEST_CASE_METHOD(engine, "guide: keys leave as rows and faults are counted", "[guide]")
{
    constexpr int kv_heads = 2;
    auto a                 = usual<told>({4, kv_heads, 0, 0});
    auto* const k_out      = memory<bf16>(tokens * kv_heads * 128);
    auto* const counts     = memory<kvloom::fault_counts>(1);
    positions[2]           = max_positions;
    positions[4]           = -1;
    slots[7]               = pages * 16;

    // [snippet: keys_out]
    a.k_out  = {k_out, kv_heads, kv_heads * 128};
    a.faults = counts; // kvloom::fault_counts, set to zeros by the caller
    // [end]

    REQUIRE(text_of(kvloom::qk_norm_rope_insert<told>::launch(stream, a)) == "");
    row_formula const f{128, 64, k_gain};
    for (int const t : {3, 7, int(lost)}) { // slots do not matter
        REQUIRE(agree<bf16>(prepared(row(a, t, 4 + 1), a.angles.data, f, t),
                            [&](int d) { return a.k_out.row(t, 1).data[d]; }));
    }
    REQUIRE(decoded(a.k_out.row(2, 1).data, 128) == std::vector<double>(128, 0.0));
    REQUIRE(decoded(a.q_out.row(4, 3).data, 128) == std::vector<double>(128, 0.0));
    REQUIRE(cached(a.values, std::vector<double>(128, 0.0), 2, 1));
    REQUIRE(counts->positions == 2);
    REQUIRE(counts->slots == 1);
    REQUIRE(counts->index_slots == 0);
}

TEST_CASE_METHOD(engine, "guide: unfused kernels", "[guide]")
{
    kvloom::row_sections const heads{4, 2, 2, 1};
    auto whole              = usual<model>(heads);
    auto* const index_q_out = memory<bf16>(tokens * 2 * 128);
    whole.index_q_out       = {index_q_out, 2, 2 * 128};
    whole.index_q_gain      = index_q_gain;
    whole.index_k_gain      = index_k_gain;
    whole.index_slots       = slots;
    whole.index_slot_count  = tokens;
    whole.index_keys        = {memory<bf16>(pages * 2048), pages, 1, 2048};
    REQUIRE(text_of(kvloom::qk_norm_rope_insert<model>::launch(stream, whole)) == "");

    auto* const k_out       = memory<bf16>(tokens * 2 * 128);
    auto* const index_k_out = memory<bf16>(tokens * 128);
    auto* const key_cache   = memory<bf16>(pages * 2 * 2048);
    auto* const value_cache = memory<bf16>(pages * 2 * 2048);
    auto* const index_cache = memory<bf16>(pages * 2048);
    auto const angles       = whole.angles;
    auto const q_out        = whole.q_out;

    // [snippet: unfused]
    using prepare = kvloom::qk_norm_rope<model>; // norm and RoPE alone
    prepare::args rows;
    rows.tokens = tokens;
    kvloom::packed_row<prepare::problem>(rows, qkv, heads);
    rows.q_gain = q_gain, rows.k_gain = k_gain;
    rows.index_q_gain = index_q_gain, rows.index_k_gain = index_k_gain;
    rows.angles                        = angles;
    rows.positions                     = positions;
    rows.q_out                         = q_out;
    rows.k_out                         = {k_out, 2, 2 * 128};
    rows.index_q_out                   = {index_q_out, 2, 2 * 128};
    rows.index_k_out                   = {index_k_out, 1, 128};
    kvloom::status const prepared_rows = prepare::launch(stream, rows);

    using write = kvloom::reshape_and_cache<model>; // K and V into their caches
    write::args kv;
    kv.tokens = tokens;
    kv.k      = {k_out, 2, 2 * 128};
    kv.v      = rows.v;
    kv.slots = slots, kv.slot_count = tokens;
    kv.keys                      = {key_cache, pages, 2, 2 * 2048};
    kv.values                    = {value_cache, pages, 2, 2 * 2048};
    kvloom::status const written = write::launch(stream, kv);

    using write_index = kvloom::index_insert<model>; // the index key into its cache
    write_index::args index;
    index.tokens      = tokens;
    index.index_k     = {index_k_out, 1, 128};
    index.index_slots = slots, index.index_slot_count = tokens;
    index.index_keys                   = {index_cache, pages, 1, 2048};
    kvloom::status const index_written = write_index::launch(stream, index);
    // [end]

    REQUIRE(text_of(prepared_rows) == "");
    REQUIRE(text_of(written) == "");
    REQUIRE(text_of(index_written) == "");
    REQUIRE(std::equal(key_cache, key_cache + pages * 2 * 2048, whole.keys.data));
    REQUIRE(std::equal(value_cache, value_cache + pages * 2 * 2048, whole.values.data));
    REQUIRE(std::equal(index_cache, index_cache + pages * 2048, whole.index_keys.data));
}

TEST_CASE_METHOD(engine, "guide: pages are copied and read back", "[guide]")
{
    constexpr int heads  = 2;
    auto* const shuffled = q_gain; // numbers
    auto* const rows     = memory<kvloom::fp8_e4m3>(8 * heads * 2048);
    auto* const scales   = memory<float>(8 * heads * 16);
    auto* const from     = memory<int>(2);
    auto* const to       = memory<int>(2);
    from[0] = 1, from[1] = 0;
    to[0] = 6, to[1] = 2;

    // [snippet: copy_pages]
    kvloom::copy_pages_args<to_fp8> copy;
    copy.source                 = {shuffled, 2, heads, heads * 16 * 128};
    copy.target                 = {rows, 8, heads, heads * 16 * 128};
    copy.source_ids             = from; // page from[i] becomes page to[i]
    copy.target_ids             = to;
    copy.count                  = 2;
    copy.target_scale           = kvloom::page_scales(scales, heads, 16);
    kvloom::status const copied = kvloom::copy_pages<to_fp8>::launch(stream, copy);
    // [end]
    REQUIRE(text_of(copied) == "");

    auto* const ids = memory<int>(2);
    ids[0] = 2, ids[1] = 6;
    auto* const dense_rows = memory<float>(20 * heads * 128);

    // [snippet: read_back]
    kvloom::read_back_args<from_fp8> read;
    read.cache                     = {rows, 8, heads, heads * 16 * 128};
    read.table                     = {ids, 1, 2, 2}; // ids, sequences, ids of each, stride
    read.first                     = 7;              // tokens 7 .. 26 of sequence 0
    read.count                     = 20;
    read.rows                      = {dense_rows, heads, heads * 128};
    read.scale                     = kvloom::page_scales(scales, heads, 16);
    kvloom::status const told_back = kvloom::read_back<from_fp8>::launch(stream, read);
    // [end]
    REQUIRE(text_of(told_back) == "");

    kvloom::paged_view<to_fp8::source> const source = copy.source;
    for (int const position : {7, 15, 16, 26}) {
        std::vector<double> want;
        for (int d = 0; d < 128; ++d) {
            want.push_back(kvloom::decode(*source.address({position / 16, position % 16, true}, 1, d)));
        }
        REQUIRE(agree<float>(
            want, [&](int d) { return read.rows.row(position - 7, 1).data[d]; }, 1.0 / 15));
    }
}
