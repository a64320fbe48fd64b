// SPDX-License-Identifier: MIT
// Paged decode with other rules: scores that are changed, logarithms to base 2, offsets of query tokens, the free fold.
#include "contract/decode_check.hpp"
#include "contract/decode_problems.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

struct free_fold : decode_problem
{
    using folding = fold::free;
    using lse     = base2_lse;
};

/// Doubles what a key two heads' worth of positions away scores, and lowers the rest.
struct striped_logits
{
    static constexpr bool changes = true;

    KVLOOM_FN float operator()(float logit, score_place const& at) const
    {
        return (at.query_position - at.key_position) % 3 == at.query_head % 3 ? 2.0F * logit : logit - 0.5F;
    }

    static double exact(double const logit, std::int64_t const query_position,
                        std::int64_t const key_position, int const query_head)
    {
        return (query_position - key_position) % 3 == query_head % 3 ? 2.0 * logit : logit - 0.5;
    }
};

/// Hides every third key, other ones from each head, and all of them from head 4.
struct hiding_logits
{
    static constexpr bool changes = true;

    KVLOOM_FN float operator()(float logit, score_place const& at) const
    {
        bool const hidden =
            at.query_head == 4 || (at.query_position - at.key_position) % 3 == at.query_head % 3;
        return hidden ? -INFINITY : logit;
    }

    static double exact(double const logit, std::int64_t const query_position,
                        std::int64_t const key_position, int const query_head)
    {
        bool const hidden = query_head == 4 || (query_position - key_position) % 3 == query_head % 3;
        return hidden ? -std::numeric_limits<double>::infinity() : logit;
    }
};

struct hiding : decode_problem
{
    using logits = hiding_logits;
    using sinks  = head_sinks;
    using lse    = natural_lse;
};

struct striped : decode_problem
{
    using logits = striped_logits;
    using tokens = token_offsets<int>;
    using lse    = natural_lse;
};

decode_options several()
{
    decode_options o;
    o.lengths  = {700, 0, 33, 1500, 2};
    o.heads    = 6;
    o.kv_heads = 2;
    o.count    = 3;
    return o;
}

} // namespace

TEST_CASE("paged_decode: the free fold and base 2 logarithms, cut in any way", "[contract][decode]")
{
    auto o = several();
    for (int const blocks : {1, 2, 5, 9}) {
        o.blocks = blocks;
        check_decode<free_fold>(o);
    }
    o.lengths  = {2500, 16};
    o.heads    = 24;
    o.kv_heads = 1;
    for (int const blocks : {1, 4}) {
        o.blocks = blocks;
        check_decode<free_fold>(o);
    }
}

TEST_CASE("soft_cap: the logarithm of one key", "[contract][decode]")
{
    decode_options o;
    o.lengths    = {1};
    o.heads      = 1;
    o.scale      = 0.5F;
    o.cap        = 4.0F;
    o.query      = [](int, std::int64_t, int, int const d) { return d == 0 ? 12.0 : 0.0; };
    o.key        = [](int, std::int64_t, int, int const d) { return d == 0 ? 1.0 : 0.0; };
    o.sink       = [](int) { return -200.0; };
    auto const s = scene_for<capped>(o);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        decode_call<capped> call(stream, s);
        call.run(stream);
        double const got = kvloom_test::detail::number_in(scalar_model::dtype::fp32, call.lse(), 0);
        CHECK(std::fabs(got - 4.0 * std::tanh(1.5)) < 1e-5);
    });
}

TEST_CASE("paged_decode: soft cap, window and sinks together", "[contract][decode]")
{
    auto o   = several();
    o.window = 300;
    o.scale  = 0.4F; // most scores lie beyond the cap
    for (float const cap : {1.0F, 5.0F, 50.0F}) {
        o.cap = cap;
        check_decode<capped>(o);
    }
}

TEST_CASE("paged_decode: ALiBi, sequences with and without query tokens", "[contract][decode]")
{
    auto o   = several();
    o.tokens = {1, 0, 5, 0, 2};
    o.count  = 6; // the most there may be
    for (int const blocks : {1, 3, 40}) {
        o.blocks = blocks;
        check_decode<sloped>(o);
    }
    o.tokens = {0, 0, 0, 3, 0};
    check_decode<sloped>(o);
    o.tokens = {0, 0, 0, 0, 0};
    check_decode<sloped>(o);
}

TEST_CASE("paged_decode: scores changed by a functor of one's own", "[contract][decode]")
{
    auto o   = several();
    o.tokens = {4, 1, 0, 2, 7};
    o.count  = 7;
    for (int const blocks : {1, 3}) {
        o.blocks = blocks;
        check_decode<striped>(o);
    }
    o.heads    = 24;
    o.kv_heads = 1;
    o.faulty   = true;
    check_decode<striped>(o);
}

TEST_CASE("paged_decode: -infinity hides a key, and a row with no other is zeros", "[contract][decode]")
{
    auto o = several();
    for (int const blocks : {1, 3, 20}) {
        o.blocks = blocks;
        check_decode<hiding>(o);
    }
}
