// SPDX-License-Identifier: MIT
// Paged decode of fp16 and bf16 caches with queries and outputs of every type, and each kind of page table.
#include "contract/decode_check.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class T, class Query, class Output>
struct typed : decode_problem
{
    using query       = Query;
    using output      = Output;
    using key_cache   = shuffled_keys<T, 128>;
    using value_cache = shuffled_values<T, 128>;
    using lse         = natural_lse;
};

struct listed : typed<fp16, fp16, fp16>
{
    using table = page_list<int>;
};
struct listed_wide : typed<bf16, bf16, float>
{
    using table  = page_list<i64>;
    using length = i64;
};
struct consecutive : typed<fp16, bf16, bf16>
{
    using table = contiguous;
};
struct wide_ids : typed<bf16, fp16, bf16>
{
    using table  = block_table<i64>;
    using tokens = token_offsets<int>;
};

decode_options several()
{
    decode_options o;
    o.lengths  = {0, 1, 31, 32, 300, 1400, 8};
    o.heads    = 10;
    o.kv_heads = 2;
    return o;
}

/// Batches of one and of several query tokens, many rows to a head, and tokens without a page.
template <class Problem>
void check_problem(decode_options o = several())
{
    check_decode<Problem>(o);
    o.count  = 3;
    o.rows   = page_form::apart;
    o.caches = page_form::apart;
    check_decode<Problem>(o);
    o.lengths  = {400, 17};
    o.heads    = 33;
    o.kv_heads = 1;
    o.rows     = page_form::outer;
    o.faulty   = true;
    check_decode<Problem>(o);
    o.loudness = 20.0;
    o.seed     = 5;
    check_decode<Problem>(o);
}

} // namespace

TEST_CASE("paged_decode: fp16 throughout, ids of all sequences one after the other", "[contract][decode]")
{
    check_problem<listed>();
}

TEST_CASE("paged_decode: float output, lists of 64-bit ids, 64-bit lengths", "[contract][decode]")
{
    check_problem<listed_wide>();
    auto o    = several();
    o.width   = 3;
    o.lengths = {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), 20,
                 (std::int64_t{1} << 32) + 1};
    check_decode<listed_wide>(o);
}

TEST_CASE("paged_decode: a bf16 query over an fp16 cache without a table is rounded once",
          "[contract][decode]")
{
    check_problem<consecutive>();
    auto o          = several();
    auto const s    = scene_for<consecutive>(o);
    auto const want = expect(s, logit_of<plain_logits>(s), false);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        decode_call<consecutive> call(stream, s);
        call.run(stream);
        auto const e = compare(s, want, call.out(), call.lse());
        CHECK(e.total <= 1.15 * e.rounded);
    });
}

TEST_CASE("paged_decode: an fp16 query over a bf16 cache, 64-bit ids", "[contract][decode]")
{
    auto o   = several();
    o.tokens = {1, 1, 0, 3, 2, 1, 0};
    o.count  = 3;
    check_decode<wide_ids>(o);
    o.faulty = true;
    check_decode<wide_ids>(o);
}

TEST_CASE("paged_decode: queries beyond the range of fp16 and below it", "[contract][decode]")
{
    auto o     = several();
    o.loudness = std::ldexp(1.0, 40);
    o.scale    = std::ldexp(0.22F, -40);
    check_decode<consecutive>(o);
    o.loudness = std::ldexp(1.0, -60);
    o.scale    = std::ldexp(0.22F, 60);
    check_decode<consecutive>(o);
}
