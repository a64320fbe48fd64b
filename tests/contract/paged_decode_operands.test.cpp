// SPDX-License-Identifier: MIT
// The types in which paged decode multiplies: each within its bound, on each machine that has a unit for it, and on the
// units of CDNA4; and by vector instructions.
#include "contract/decode_check.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class T, class Operands, class Query>
struct multiplied_in : decode_problem
{
    using query       = Query;
    using key_cache   = shuffled_keys<T, 128>;
    using value_cache = shuffled_values<T, 128>;
    using multiplied  = Operands;
    using lse         = natural_lse;
};

struct scaled_values : decode_problem
{
    using key_cache   = shuffled_keys<fp8_e4m3, 64>;
    using value_cache = shuffled_values<fp8_e4m3, 64>;
    using value_scale = scale_view;
    using multiplied  = operands::of_query;
};

template <class Problem>
void check_operands(decode_options const& o, double const most_error)
{
    decode_scene const s = scene_for<Problem>(o);
    auto const want      = expect(s, logit_of<plain_logits>(s), false);
    auto const check     = [&](char const* machine, auto const& stream) {
        CAPTURE(machine, o.lengths, o.heads, o.count, o.blocks);
        decode_call<Problem> call(stream, s);
        call.run(stream);
        CHECK(check_call(call, s, want).total <= most_error);
    };
    if constexpr (is_same_v<typename Problem::multiplied, operands::exact>) {
        on_every_matrix_machine(check);
    } else {
        on_every_machine(check);
    }
}

/// Few rows to a head and many, gaps, pages that do not exist, every cut.
template <class Problem>
void check_lengths(double const most_error)
{
    decode_options o;
    o.lengths  = {0, 1, 17, 65, 300, 700};
    o.heads    = 6;
    o.kv_heads = 2;
    o.blocks   = 5;
    check_operands<Problem>(o, most_error);
    o.lengths  = {130, 31};
    o.count    = 3;
    o.heads    = 11;
    o.kv_heads = 1;
    o.caches   = page_form::apart;
    o.faulty   = true;
    check_operands<Problem>(o, most_error);
}

/// Each query finds its one token among many: exact in any type, so that no element can have met another's partner.
template <class Problem>
void check_needles()
{
    decode_options o;
    o.lengths  = {128};
    o.heads    = 64;
    o.kv_heads = 1;
    o.count    = 2;
    o.query    = [](int, std::int64_t const token, int const head, int const dim) {
        return dim == (2 * head + token) % 127 ? 240.0 : 0.0;
    };
    o.key   = [](int, std::int64_t const token, int, int const dim) { return dim == token ? 1.0 : 0.0; };
    o.value = [](int, std::int64_t const token, int, int const dim) {
        return std::ldexp(1.0 + (token % 8) / 8.0, static_cast<int>(token / 8) % 4 + dim % 3);
    };
    o.scale = 1.0F;
    check_operands<Problem>(o, 4e-3);
}

constexpr double two_roundings = 4e-3; // of bf16: probabilities and results
constexpr double four_bits     = 8e-2; // of query rows and probabilities

} // namespace

TEST_CASE("paged_decode: 16-bit caches and exact fp8 on every unit", "[contract][decode]")
{
    check_lengths<multiplied_in<bf16, operands::exact, bf16>>(two_roundings);
    check_lengths<multiplied_in<fp8_e4m3, operands::exact, bf16>>(two_roundings);
    check_needles<multiplied_in<bf16, operands::exact, bf16>>();
    check_needles<multiplied_in<fp8_e4m3, operands::exact, bf16>>();
}

TEST_CASE("paged_decode: fp8 caches multiplied in the query's type", "[contract][decode]")
{
    check_lengths<multiplied_in<fp8_e4m3_fnuz, operands::of_query, fp16>>(two_roundings);
    check_needles<multiplied_in<fp8_e4m3_fnuz, operands::of_query, fp16>>();
    decode_options o;
    o.lengths = {45, 200};
    check_operands<scaled_values>(o, two_roundings);
}

#if !KVLOOM_TEST_BACKEND_HIP // one program is for processors with different units; tests/codegen compiles each its own
TEST_CASE("paged_decode: fp8 caches multiplied as they stand", "[contract][decode]")
{
    check_lengths<multiplied_in<fp8_e4m3, operands::of_cache, bf16>>(four_bits);
    check_needles<multiplied_in<fp8_e4m3, operands::of_cache, bf16>>();
#if KVLOOM_TEST_BACKEND_HOST // NVIDIA's units do not take it
    check_lengths<multiplied_in<fp8_e4m3_fnuz, operands::of_cache, fp16>>(four_bits);
    check_needles<multiplied_in<fp8_e4m3_fnuz, operands::of_cache, fp16>>();
#endif
}
#endif
