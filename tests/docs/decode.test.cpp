// SPDX-License-Identifier: MIT
// The snippets of docs/decode.md: a launch, a score functor, and the choices of a problem.
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/machines.hpp"

// [snippet: decode]
#include <kvloom/backend/host.hpp>
#include <kvloom/backend/message.hpp>
#include <kvloom/kernel/paged_decode.hpp>
// [end]

#include <cmath>
#include <vector>

using namespace kvloom_test;

namespace {

// [snippet: decode]
struct m3_decode : kvloom::decode_problem
{
    using key_cache   = kvloom::shuffled_keys<kvloom::bf16, 128>; // pages of 16 tokens
    using value_cache = kvloom::shuffled_values<kvloom::bf16, 128>;
    using lse         = kvloom::natural_lse;
};
// [end]

// [snippet: functor]
struct same_document
{
    static constexpr bool changes = true;

    int const* document = nullptr; // of each token of each sequence; device memory
    int stride          = 0;

    KVLOOM_FN float operator()(float logit, kvloom::score_place const& at) const
    {
        int const* const own = document + at.sequence * stride;
        return own[at.query_position] == own[at.key_position] ? logit : -INFINITY;
    }
};

struct documents : kvloom::decode_problem
{
    using logits = same_document;
};
// [end]

// [snippet: choices]
struct long_context : kvloom::decode_problem
{
    using key_cache      = kvloom::shuffled_keys<kvloom::fp8_e4m3, 128>;
    using value_cache    = kvloom::shuffled_values<kvloom::fp8_e4m3, 128>;
    using key_scale      = kvloom::head_scale; // no_scale, cache_scale, head_scale, scale_view
    using value_scale    = kvloom::head_scale;
    using table          = kvloom::page_list<int>;     // block_table, page_list, contiguous
    using tokens         = kvloom::token_offsets<int>; // uniform_tokens, token_offsets
    using window         = kvloom::sliding_window;     // no_window, sliding_window
    using sinks          = kvloom::head_sinks;         // no_sinks, head_sinks
    using logits         = kvloom::soft_cap;           // plain_logits, soft_cap, alibi, your own
    using folding        = kvloom::fold::free;         // fold::canonical, fold::free
    using merge_strategy = kvloom::merging::last_arriver;
};
// [end]

/// One sequence whose keys are zeros, so that every token weighs the same, and whose values are their token's number.
struct counting_cache
{
    static constexpr int tokens = 5;
    static constexpr int heads  = 8;

    device_array<kvloom::bf16> query{std::size_t{2 * heads * 128}, kvloom::encode<kvloom::bf16>(1.0F)};
    device_array<kvloom::bf16> out{std::size_t{2 * heads * 128}, kvloom::bf16{}};
    device_array<kvloom::bf16> keys{std::size_t{2 * 2048}, kvloom::bf16{}};
    device_array<kvloom::bf16> values{numbered()};
    device_array<int> pages{std::vector<int>{1}};
    device_array<int> lengths{std::vector<int>{tokens}};
    device_array<float> lse{std::size_t{2 * heads}, 7.0F};

    static std::vector<kvloom::bf16> numbered()
    {
        std::vector<kvloom::bf16> all(2 * 2048);
        for (int t = 0; t < 16; ++t) {
            for (int d = 0; d < 128; ++d) {
                all[std::size_t(2048 + kvloom::shuffled_values<kvloom::bf16, 128>::offset(t, d))] =
                    kvloom::encode<kvloom::bf16>(float(t));
            }
        }
        return all;
    }

    template <class Problem>
    kvloom::decode_args<Problem> args() const
    {
        kvloom::decode_args<Problem> a;
        a.query         = {query.data(), heads, heads * 128, 128};
        a.out           = {out.data(), heads, heads * 128, 128};
        a.keys          = {keys.data(), 2, 1, 2048, 2048};
        a.values        = {values.data(), 2, 1, 2048, 2048};
        a.table         = {pages.data(), 1, 1, 1};
        a.lengths       = lengths.data();
        a.sequences     = 1;
        a.softmax_scale = 0.088F;
        a.tokens.count  = 2;
        return a;
    }
};

float first_of_row(std::vector<kvloom::bf16> const& out, int row)
{
    return kvloom::decode(out[std::size_t(row * 128)]);
}

} // namespace

TEST_CASE("decode.md: a plan and a launch", "[docs]")
{
    counting_cache const cache;
    kvloom::host::stream<kvloom::host::cdna> const stream;
    auto args = cache.args<m3_decode>();
    args.lse  = {cache.lse.data(), counting_cache::heads};

    // [snippet: decode]
    using decode          = kvloom::paged_decode<m3_decode>;
    args.workspace.blocks = decode::blocks(stream);
    args.workspace.bytes  = decode::workspace_bytes(stream, args); // from capacities, never from lengths
    // [end]
    device_array<unsigned char> const room(std::size_t(args.workspace.bytes) + 256, 0xa5);
    args.workspace.data =
        reinterpret_cast<void*>((reinterpret_cast<kvloom::usize>(room.data()) + 255) / 256 * 256);
    // [snippet: decode]
    kvloom::status s = decode::prepare_workspace(stream, args); // once
    if (s.ok()) {
        s = decode::plan(stream, args); // once a step: all layers share it
    }
    if (s.ok()) {
        s = decode::launch(stream, args); // in each layer
    }
    // [end]
    REQUIRE(text_of(s) == "");
    auto const out = cache.out.values();
    CHECK(first_of_row(out, 0) == 1.5F); // sees tokens 0 to 3
    CHECK(first_of_row(out, counting_cache::heads) == 2.0F);
    CHECK(std::fabs(cache.lse.values()[0] - std::log(4.0F)) < 1e-6F);
}

TEST_CASE("decode.md: scores by a functor of one's own", "[docs]")
{
    counting_cache const cache;
    device_array<int> const document(std::vector<int>{0, 0, 1, 1, 1});
    kvloom::host::stream<kvloom::host::warp32> const stream;
    auto args             = cache.args<documents>();
    args.logits.document  = document.data();
    args.workspace.blocks = 3;
    args.workspace.bytes  = kvloom::paged_decode<documents>::workspace_bytes(stream, args);
    device_array<unsigned char> const room(std::size_t(args.workspace.bytes) + 256, 0xa5);
    args.workspace.data =
        reinterpret_cast<void*>((reinterpret_cast<kvloom::usize>(room.data()) + 255) / 256 * 256);
    REQUIRE(text_of(kvloom::paged_decode<documents>::prepare_workspace(stream, args)) == "");
    REQUIRE(text_of(kvloom::paged_decode<documents>::plan(stream, args)) == "");
    REQUIRE(text_of(kvloom::paged_decode<documents>::launch(stream, args)) == "");
    auto const out = cache.out.values();
    CHECK(first_of_row(out, 0) == 2.5F); // tokens 2 and 3
    CHECK(first_of_row(out, counting_cache::heads) == 3.0F);
}

static_assert(kvloom::decode_types<long_context>::key_dim == 128, "long_context: a problem like any other");
