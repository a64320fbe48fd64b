// SPDX-License-Identifier: MIT
// The guide's and the README's snippets: a launch, contracts, scales and layouts.
#include "docs/engine.hpp"

// [snippet: ready_kernel]
#include <kvloom/backend/host.hpp>
#include <kvloom/backend/message.hpp>
#include <kvloom/kernel/qk_norm_rope_insert.hpp>
// [end]

#include <cstdio>
#include <string>

using namespace kvloom_test;
using kvloom::bf16;
using kvloom::fp8_e4m3;

namespace {

// [snippet: ready_kernel]
struct m3 : kvloom::insert_problem
{
    using cache    = kvloom::shuffled_cache<kvloom::fp8_e4m3>; // pages of 16 tokens; token_cache: NHD, HND
    using index    = kvloom::index_branch<kvloom::bf16>;
    using numerics = kvloom::contract::aiter_static; // fp8 of value / scale

    static constexpr int rotary_dim = 64; // head_dim is 128
};
// [end]

// [snippet: own_contract]
struct clamped : kvloom::insert_numerics
{
    using scaling       = kvloom::division; // of K and V: stored = value / scale
    using query_scaling = kvloom::division; // of queries

    static constexpr kvloom::scale_shape scales   = kvloom::scale_shape::head; // a scale for each KV head
    static constexpr float limit                  = 224.0F;                    // no larger number is stored
    static constexpr bool keys_through_activation = false;                     // fp8 straight from fp32
};

struct scales_by_head : kvloom::insert_problem
{
    using query    = kvloom::fp8_e4m3;
    using cache    = kvloom::shuffled_cache<kvloom::fp8_e4m3>;
    using numerics = clamped;
};
// [end]

// [snippet: token_scales]
struct scales_by_token : kvloom::insert_problem
{
    using cache    = kvloom::token_cache<kvloom::fp8_e4m3>;
    using numerics = kvloom::contract::aiter_per_token; // scale = largest magnitude of the row / 448
};
// [end]

// [snippet: strides]
struct token_pages : kvloom::insert_problem
{
    using cache = kvloom::token_cache<kvloom::bf16, 64>; // pages of 64 tokens
};
// [end]

// [snippet: page_of_one]
struct token_pool : kvloom::insert_problem
{
    using cache = kvloom::token_cache<kvloom::bf16, 1>; // a slot is a page
};
// [end]

// [snippet: transposed]
struct transposed_pages : kvloom::insert_problem
{
    using cache = kvloom::transposed_cache<kvloom::bf16, 32>; // K as SHUFFLE, V as [dim][slot]
};
// [end]

// [snippet: packed_blocks]
struct packed : kvloom::insert_problem
{
    using cache = kvloom::packed_cache<kvloom::shuffled_cache<kvloom::bf16>, 8>; // 8 pages of K, then 8 of V
};
// [end]

constexpr double fp8_step = 1.0 / 15; // half a step of e4m3, and what was rounded before

} // namespace

TEST_CASE_METHOD(engine, "guide: a problem and a launch", "[guide]")
{
    auto* const q_out       = memory<bf16>(tokens * 64 * 128);
    auto* const index_q_out = memory<bf16>(tokens * 4 * 128);
    auto* const key_cache   = memory<fp8_e4m3>(pages * 4 * 2048);
    auto* const value_cache = memory<fp8_e4m3>(pages * 4 * 2048);
    auto* const index_cache = memory<bf16>(pages * 2048);
    auto* const cos_sin     = angles_for(64);
    auto* const key_scale   = memory<float>(1);
    auto* const value_scale = memory<float>(1);
    *key_scale              = 0.5F;
    *value_scale            = 0.125F;

    // [snippet: ready_kernel]
    kvloom::insert_args<m3> a;
    a.tokens = tokens;
    kvloom::packed_row<m3>(a, qkv, {64, 4, 4, 1}); // heads of q, of k and v, of index_q; the index key
    a.q_out       = {q_out, 64, 64 * 128};         // data, heads, token stride in elements
    a.index_q_out = {index_q_out, 4, 4 * 128};
    a.q_gain = q_gain, a.k_gain = k_gain, a.index_q_gain = index_q_gain, a.index_k_gain = index_k_gain;
    a.angles    = {cos_sin, max_positions, 64}; // data, rows, stride
    a.positions = positions;
    a.slots = slots, a.slot_count = tokens; // tokens beyond the count are padding
    a.index_slots = slots, a.index_slot_count = tokens;
    a.keys       = {key_cache, pages, 4, 4 * 16 * 128}; // data, pages, heads, page stride
    a.values     = {value_cache, pages, 4, 4 * 16 * 128};
    a.index_keys = {index_cache, pages, 1, 16 * 128};
    a.key_scale = key_scale, a.value_scale = value_scale;

    kvloom::host::stream<kvloom::host::cdna> stream; // or host::warp32
    kvloom::status const s = kvloom::qk_norm_rope_insert<m3>::launch(stream, a);
    if (!s.ok()) {
        std::puts(kvloom::message(s).c_str()); // "keys.pages must be at least 0, but is -1"
    }
    // [end]

    REQUIRE(s.ok());
    for (int const t : {0, 7, tokens - 1}) {
        row_formula f;
        f.gain = k_gain;
        REQUIRE(cached(a.keys, prepared(row(a, t, 64 + 2), cos_sin, f, t), t, 2, fp8_step, *key_scale));
        REQUIRE(cached(a.values, decoded(row(a, t, 68 + 3), 128), t, 3, fp8_step, *value_scale));
        f.gain = index_k_gain;
        REQUIRE(cached(a.index_keys, prepared(row(a, t, 76), cos_sin, f, t), t, 0));
        f.gain = q_gain;
        REQUIRE(agree<bf16>(prepared(row(a, t, 63), cos_sin, f, t),
                            [&](int d) { return a.q_out.row(t, 63).data[d]; }));
    }
    int stored = 0;
    for (int slot = 0; slot < pages * 16; ++slot) {
        bool any = false;
        for (int d = 0; d < 128; ++d) {
            any = any || kvloom::decode(*a.index_keys.address(place(a.index_keys, slot), 0, d)) != 0.0F;
        }
        stored += any ? 1 : 0;
    }
    REQUIRE(stored == tokens - 1); // one has a negative slot

    // [snippet: status]
    auto wrong              = a;
    wrong.keys.pages        = -1;
    kvloom::status const no = kvloom::qk_norm_rope_insert<m3>::validate(wrong);
    std::string const why   = kvloom::message(no); // "keys.pages must be at least 0, but is -1"
    // [end]
    REQUIRE(no.code == kvloom::fault::too_small);
    REQUIRE(why == "keys.pages must be at least 0, but is -1");
}

TEST_CASE_METHOD(engine, "guide: a contract of one's own and a scale for each head", "[guide]")
{
    auto a                   = usual<scales_by_head>({8, 2, 0, 0});
    auto* const key_scales   = memory<float>(2);
    auto* const value_scales = memory<float>(2);
    auto* const query_scale  = memory<float>(1);
    key_scales[0]            = 0.125F;
    key_scales[1]            = 0.25F;
    value_scales[0]          = 1.0F / 1024;
    value_scales[1]          = 0.5F;
    *query_scale             = 0.25F;

    // [snippet: own_contract]
    a.key_scale   = key_scales; // [KV heads]
    a.value_scale = value_scales;
    a.query_scale = query_scale; // one number
    // [end]

    REQUIRE(text_of(kvloom::qk_norm_rope_insert<scales_by_head>::launch(stream, a)) == "");
    row_formula f;
    f.gain = k_gain;
    REQUIRE(cached(a.keys, prepared(row(a, 3, 8 + 1), a.angles.data, f, 3), 3, 1, fp8_step, key_scales[1]));
    REQUIRE(cached(a.values, decoded(row(a, 3, 10 + 1), 128), 3, 1, fp8_step, value_scales[1]));
    f.gain = q_gain;
    REQUIRE(agree<fp8_e4m3>(
        prepared(row(a, 3, 7), a.angles.data, f, 3), [&](int d) { return a.q_out.row(3, 7).data[d]; },
        fp8_step, *query_scale));
    float largest = 0.0F;
    for (int i = 0; i < pages * 2 * 2048; ++i) {
        largest = std::fmax(largest, std::fabs(kvloom::decode(a.values.data[i])));
    }
    REQUIRE(largest == 224.0F);
}

TEST_CASE_METHOD(engine, "guide: a scale for each token and head", "[guide]")
{
    constexpr int heads      = 2;
    auto a                   = usual<scales_by_token>({4, heads, 0, 0});
    auto* const key_scales   = memory<float>(pages * heads * 16);
    auto* const value_scales = memory<float>(pages * heads * 16);

    // [snippet: token_scales]
    a.key_scales   = kvloom::page_scales(key_scales, heads, 16);        // [page][head][slot of the page]
    a.value_scales = kvloom::head_scales(value_scales, 16, pages * 16); // [head][slot of the cache]
    // [end]

    REQUIRE(text_of(kvloom::qk_norm_rope_insert<scales_by_token>::launch(stream, a)) == "");
    int const t    = 9;
    auto const at  = std::size_t(slots[t]);
    auto const key = prepared(row(a, t, 4 + 1), a.angles.data, {128, 64, k_gain}, t);
    auto const v   = decoded(row(a, t, 6 + 1), 128);
    float const ks = key_scales[(at / 16 * heads + 1) * 16 + at % 16];
    float const vs = value_scales[1 * pages * 16 + at];
    double largest = 0;
    for (double const x : v) {
        largest = std::fmax(largest, std::fabs(x));
    }
    REQUIRE(vs == float(largest) / 448.0F);
    REQUIRE(cached(a.keys, key, t, 1, fp8_step, ks));
    REQUIRE(cached(a.values, v, t, 1, fp8_step, vs));
}

TEST_CASE_METHOD(engine, "guide: NHD and HND", "[guide]")
{
    constexpr int heads     = 2;
    auto a                  = usual<token_pages>({4, heads, 0, 0});
    auto* const key_cache   = a.keys.data;
    auto* const value_cache = a.values.data;

    // [snippet: strides]
    a.keys              = {key_cache, pages, heads}; // NHD: [page][token][head][dim]
    a.keys.page_stride  = 64 * heads * 128;
    a.keys.token_stride = heads * 128;
    a.keys.head_stride  = 128;

    a.values             = {value_cache, pages, heads}; // HND: [page][head][token][dim]
    a.values.page_stride = heads * 64 * 128;            // the other strides are HND's already
    // [end]

    REQUIRE(text_of(kvloom::qk_norm_rope_insert<token_pages>::launch(stream, a)) == "");
    int const t    = 9;
    auto const key = prepared(row(a, t, 4 + 1), a.angles.data, {128, 64, k_gain}, t);
    REQUIRE(slots[t] < 64);
    REQUIRE(agree<bf16>(key, [&](int d) { return key_cache[(slots[t] * heads + 1) * 128 + d]; }));
    REQUIRE(agree<bf16>(decoded(row(a, t, 6 + 1), 128),
                        [&](int d) { return value_cache[(64 + slots[t]) * 128 + d]; }));
}

TEST_CASE_METHOD(engine, "guide: pages of one token", "[guide]")
{
    constexpr int heads  = 2;
    auto a               = usual<token_pool>({4, heads, 0, 0});
    int const pool_slots = 64;
    auto* const k_pool   = memory<bf16>(64 * heads * 128);
    auto* const v_pool   = memory<bf16>(64 * heads * 128);

    // [snippet: page_of_one]
    a.keys   = {k_pool, pool_slots, heads, heads * 128}; // [slot][head][dim]
    a.values = {v_pool, pool_slots, heads, heads * 128};
    // [end]

    REQUIRE(text_of(kvloom::qk_norm_rope_insert<token_pool>::launch(stream, a)) == "");
    REQUIRE(agree<bf16>(decoded(row(a, 9, 6 + 1), 128),
                        [&](int d) { return v_pool[(slots[9] * heads + 1) * 128 + d]; }));
}

TEST_CASE_METHOD(engine, "guide: transposed values", "[guide]")
{
    constexpr int heads = 2;
    auto a              = usual<transposed_pages>({4, heads, 0, 0});
    REQUIRE(text_of(kvloom::qk_norm_rope_insert<transposed_pages>::launch(stream, a)) == "");
    auto const at = slots[9];
    REQUIRE(agree<bf16>(decoded(row(a, 9, 6 + 1), 128), [&](int d) {
        return a.values.data[((at / 32 * heads + 1) * 128 + d) * 32 + at % 32];
    }));
}

TEST_CASE_METHOD(engine, "guide: packed blocks", "[guide]")
{
    constexpr int heads = 2;
    auto a              = usual<packed>({4, heads, 0, 0});
    auto* const blocks  = memory<bf16>(2 * 16 * heads * 2048);
    slots[9]            = 9 * 16 + 5; // the second page of the second block

    // [snippet: packed_blocks]
    constexpr int page    = heads * 16 * 128; // elements
    a.keys                = {blocks, 16, heads, page};
    a.values              = {blocks + 8 * page, 16, heads, page};
    a.keys.block_stride   = 16 * page;
    a.values.block_stride = 16 * page;
    // [end]

    REQUIRE(text_of(kvloom::qk_norm_rope_insert<packed>::launch(stream, a)) == "");
    REQUIRE(agree<bf16>(decoded(row(a, 9, 6 + 1), 128),
                        [&](int d) { return blocks[16 * page + 8 * page + page + 2048 + d * 8 + 5]; }));
}

TEST_CASE_METHOD(engine, "guide: slots from a page table", "[guide]")
{
    std::vector<int> const page_ids = {7, 2, 5, -1, 4, 0};
    int const sequence = 1, first = 14, count = 4;
    std::vector<kvloom::i64> found(4);
    auto* const slot = found.data();

    // [snippet: table]
    kvloom::block_table<int> const table{page_ids.data(), 2, 3, 3}; // ids, sequences, ids of each, stride
    for (int t = 0; t < count; ++t) {
        slot[t] = table.slot(sequence, first + t, 16); // pages of 16 tokens; -1: the table has no page for it
    }
    // [end]

    REQUIRE(found == std::vector<kvloom::i64>{-1, -1, 4 * 16, 4 * 16 + 1});
}
