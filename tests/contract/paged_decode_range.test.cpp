// SPDX-License-Identifier: MIT
// Paged decode at the ends of its number types: rows of 1e30 and 1e-30, mixed magnitudes, zeros, one infinity or NaN.
#include "contract/ranged_rows.hpp"

using namespace kvloom;
using namespace kvloom_test;
using kvloom_test::detail::number_in;

namespace {

template <class Problem>
void check_rows(double const loud, double const quiet)
{
    auto o = four_kinds(loud, quiet);
    check_decode<Problem>(o);
    o.scale = static_cast<float>(0.2 / quiet); // scores of about 1 of the quiet ones
    o.query = [=](int const sequence, std::int64_t const token, int const head, int const d) {
        return head % 2 == 0 ? 0.0 : quiet * unit_at(sequence, token, head, d);
    };
    check_decode<Problem>(o);
}

/// Token 3 has the largest score, by half of `size`, of scores that are all positive or all negative.
template <class Problem>
void check_largest(double const size, double const sign)
{
    decode_options o;
    o.lengths = {1, 5, 40, 300};
    o.heads   = 1;
    o.scale   = 0.088F;
    o.query   = [=](int, std::int64_t, int, int const d) { return d == 0 ? size : 0.0; };
    o.key     = [=](int, std::int64_t const token, int, int const d) {
        return d == 0 ? sign + (token == 3 ? 0.5 : 0.0) : 0.0;
    };
    o.value = [](int, std::int64_t const token, int, int const d) { return token == 3 ? 1.0 + d % 4 : -8.0; };
    auto const s      = scene_for<Problem>(o);
    double const lost = std::ldexp(1.0, s.shape.operand == scalar_model::dtype::bf16 ? -7 : -8);
    on_every_machine([&](char const* machine, auto const& stream) {
        decode_call<Problem> call(stream, s);
        call.run(stream);
        auto const out = call.out(), lse = call.lse();
        for (int i = 0; i < s.sequences(); ++i) {
            double const score = (i == 0 ? sign : sign + 0.5) * static_cast<double>(s.options.scale)
                                 * number_in(s.shape.query, s.query.bytes, s.query_rows.at(i, 0));
            CAPTURE(machine, size, sign, i);
            CHECK(std::fabs(number_in(scalar_model::dtype::fp32, lse, i * s.lse_stride) - score)
                  <= std::ldexp(std::fabs(score), -20));
            for (int d = 0; d < s.out_rows.dim; ++d) {
                double const want = i == 0 ? -8.0 : 1.0 + d % 4;
                double const got  = number_in(s.shape.out, out, s.out_rows.at(i, 0) + d);
                REQUIRE(std::fabs(got - want) <= lost * std::fabs(want));
            }
        }
    });
}

/// One row among others has one odd element: every other row is as exact as ever, and of the same sequence and head too.
template <class Problem>
void check_one_odd(double const odd)
{
    decode_options o;
    o.lengths  = {300, 600};
    o.heads    = 12;
    o.kv_heads = 2;
    o.query    = [=](int const sequence, std::int64_t const token, int const head, int const d) {
        return sequence == 0 && head == 2 && d == 37 ? odd : 2.0 * unit_at(sequence, token, head, d);
    };
    auto const s = scene_for<Problem>(o);
    auto tame    = o;
    tame.query   = [](int const sequence, std::int64_t const token, int const head, int const d) {
        return sequence == 0 && head == 2 ? 0.0 : 2.0 * unit_at(sequence, token, head, d);
    };
    auto const known = scene_for<Problem>(tame);
    auto const want  = expect(known, logit_of<plain_logits>(known), false);
    on_every_machine([&](char const* machine, auto const& stream) {
        CAPTURE(machine, odd);
        decode_call<Problem> call(stream, s), of_known(stream, known);
        call.run(stream);
        of_known.run(stream);
        auto out = call.out(), lse = call.lse();
        auto const tame_out = of_known.out(), tame_lse = of_known.lse();
        auto const take_over = [&](std::vector<unsigned char>& to, std::vector<unsigned char> const& from,
                                   std::int64_t const at, int const count, int const size) {
            auto const first = static_cast<std::ptrdiff_t>(at * size);
            std::copy_n(from.begin() + first, count * size, to.begin() + first);
        };
        take_over(out, tame_out, s.out_rows.at(0, 2), s.out_rows.dim, scalar_model::size_of(s.shape.out));
        take_over(lse, tame_lse, 2, 1, 4);
        auto const e = compare(known, want, out, lse);
        CHECK(e.wrong == "");
        CHECK(e.rows == 24);
        CHECK(call.trespasses() == "");
    });
}

} // namespace

TEST_CASE("bf16 operands: rows of 1e30, of 1e-30, of zeros and of mixed magnitudes", "[contract][decode]")
{
    check_rows<in_bf16>(1e30, 1e-30);
}

TEST_CASE("fp16 operands: rows of 1e30, of 1e-30, of zeros and of mixed magnitudes", "[contract][decode]")
{
    check_rows<in_fp16>(1e30, 1e-30);
    check_rows<in_fp16_16>(1e30, 1e-30);
}

TEST_CASE("bf16 operands of fp16 queries: rows from the least to the largest number", "[contract][decode]")
{
    check_rows<in_bf16_by_token>(1e4, 1e-6);
}

TEST_CASE("fp16 operands: what an element far below its row's largest loses", "[contract][decode]")
{
    for (int const exponent : {100, 3, 0, -70}) { // of the row's largest
        auto const elements = falling(exponent);
        float const scale   = std::ldexp(1.0F, 24 - exponent);
        on_every_machine([&](char const* machine, auto const& stream) {
            auto const found = operands_of<in_fp16>(stream, elements, scale);
            double worst     = 0.0;
            for (std::size_t i = 1; i < elements.size(); ++i) {
                CAPTURE(machine, exponent, i);
                double const lost = std::fabs(found[i - 1] - elements[i]) / elements[0];
                // what LSE itself rounds: its own size, and 7 powers of two of headroom
                double const seen =
                    std::ldexp(std::fabs(elements[i]) / elements[0], -20) + std::ldexp(1.0, -42);
                CHECK(lost <= std::ldexp(1.0, -39) + seen);
                if (std::fabs(elements[i]) >= std::ldexp(elements[0], -31)) {
                    CHECK(lost <= seen); // not a bit
                }
                worst = std::max(worst, lost);
            }
            CHECK(worst >= std::ldexp(0.99, -39)); // the bound is met
        });
    }
}

TEST_CASE("bf16 caches: keys and values of 1e30, of 1e-30 and of mixed magnitudes", "[contract][decode]")
{
    auto o     = four_kinds(1e-30, 0.0);
    o.scale    = 0.2F;
    o.heads    = 2;
    o.kv_heads = 2;
    o.query    = [](int const sequence, std::int64_t const token, int const head, int const d) {
        return 1e-30 * unit_at(sequence, token, head, d);
    };
    o.key = [](int const sequence, std::int64_t const token, int const head, int const d) {
        double const unit = unit_at(sequence, token + 1000, head, d);
        return (token % 3 == 0 ? 1e30 : token % 3 == 1 ? 1e-30 : 1.0) * unit;
    };
    o.value = [](int const sequence, std::int64_t const token, int const head, int const d) {
        double const unit = unit_at(sequence, token + 2000, head, d);
        return (d % 3 == 0 ? 1e30 : d % 3 == 1 ? 1e-30 : 1.0) * unit;
    };
    check_decode<in_bf16>(o);
    o.key = [](int const sequence, std::int64_t const token, int const head, int const d) {
        return (d % 2 == 0 ? 1e30 : 1e-30) * unit_at(sequence, token + 1000, head, d); // within a row
    };
    o.value = [](int const sequence, std::int64_t const token, int const head, int const d) {
        return (token % 2 == 0 ? 1e30 : 1e-30) * unit_at(sequence, token + 2000, head, d);
    };
    check_decode<in_bf16>(o);
}

TEST_CASE("scores up to 2^24 powers of two: the largest takes all", "[contract][decode]")
{
    for (double const size : {1e5, 3e6, 5e7}) {
        for (double const sign : {1.0, -1.0}) {
            check_largest<in_bf16>(size, sign);
            check_largest<in_fp16>(size, sign);
        }
    }
}

TEST_CASE("one infinity or NaN in a query row spoils no other row", "[contract][decode]")
{
    double const infinity = std::numeric_limits<double>::infinity();
    for (double const odd : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
        check_one_odd<in_bf16>(odd);
        check_one_odd<in_fp16>(odd);
        check_one_odd<in_bf16_by_token>(odd);
    }
}
