// SPDX-License-Identifier: MIT
// Paged decode where matrix products take subnormal numbers for zeros, as gfx90a's do: on a model of such waves.
#include "contract/ranged_rows.hpp"

#include <algorithm>

using namespace kvloom_test;

namespace {

struct flushing_machine
{
    template <class Body>
    static void each(Body&& body)
    {
        body("host, waves of 64 that flush", host::stream<host::cdna2>{});
    }
};

/// Each lane's first sum of a product of equal numbers with ones.
struct equal_numbers
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};
    struct args
    {
        u32 pair; ///< two numbers of fp16
        float* sums;
    };

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, args const& a) const
    {
        using unit        = mfma_16x16x16<fp16>;
        auto const wave   = block.wave();
        constexpr u32 one = 0x3c003c00u;
        a_operand<unit> const left{{{a.pair, a.pair}}};
        b_operand<unit> const right{{{one, one}}};
        a.sums[wave.lane()] = multiply_add<unit>(wave, left, right, accumulator<unit>{})[0];
    }
};

template <class Machine>
float sum_of_equal(std::uint32_t const pair)
{
    std::vector<float> sums(64, -1.0F);
    host::stream<Machine> const stream;
    run<equal_numbers>(stream, equal_numbers::args{pair, sums.data()});
    CHECK(std::all_of(sums.begin(), sums.end(), [&](float const sum) { return sum == sums[0]; }));
    return sums[0];
}

/// One token that is 2^down times as probable as each of `quiet` others; its values are 0 and theirs 1. Gives an output.
double share_of_quiet(int const quiet, double const down)
{
    decode_options o;
    o.lengths         = {quiet + 1};
    o.heads           = 1;
    o.scale           = 1.0F;
    double const step = std::log(2.0) * down / 64.0; // as many keys as make scores of it exactly enough
    o.query           = [](int, std::int64_t, int, int const d) { return d == 0 ? 64.0 : 0.0; };
    o.key             = [=](int, std::int64_t const token, int, int const d) {
        return d == 0 && token > 0 ? -step : 0.0;
    };
    o.value      = [](int, std::int64_t const token, int, int) { return token == 0 ? 0.0 : 1.0; };
    auto const s = scene_for<in_fp16_16>(o);
    double share = 0.0;
    flushing_machine::each([&](char const*, auto const& stream) {
        decode_call<in_fp16_16> call(stream, s);
        call.run(stream);
        share = kvloom_test::detail::number_in(s.shape.out, call.out(), s.out_rows.at(0, 0));
    });
    return share;
}

} // namespace

TEST_CASE("the model of such waves flushes, the others do not", "[contract][decode]")
{
    constexpr std::uint32_t subnormal = 0x02000200u; // 2^-15
    constexpr std::uint32_t normal    = 0x04000400u; // 2^-14
    CHECK(sum_of_equal<host::cdna>(subnormal) == std::ldexp(16.0F, -15));
    CHECK(sum_of_equal<host::cdna2>(subnormal) == 0.0F);
    CHECK(sum_of_equal<host::cdna>(normal) == std::ldexp(16.0F, -14));
    CHECK(sum_of_equal<host::cdna2>(normal) == std::ldexp(16.0F, -14));
}

TEST_CASE("where products flush, decode is as exact as elsewhere", "[contract][decode]")
{
    decode_options o;
    o.lengths = {1, 15, 16, 17, 250, 1000, 2049};
    check_decode<in_bf16, flushing_machine>(o);
    check_decode<in_fp16, flushing_machine>(o);
    check_decode<in_bf16_by_token, flushing_machine>(o);
    check_decode<in_bf16, flushing_machine>(four_kinds(1e30, 1e-30));
    check_decode<in_fp16, flushing_machine>(four_kinds(1e30, 1e-30));
}

TEST_CASE("where products flush, elements of a query from 2^-28 of its largest on keep every bit",
          "[contract][decode]")
{
    auto const elements = falling(3);
    float const scale   = std::ldexp(1.0F, 21);
    flushing_machine::each([&](char const*, auto const& stream) {
        auto const found = operands_of<in_fp16>(stream, elements, scale);
        for (std::size_t i = 1; i < elements.size(); ++i) {
            CAPTURE(i);
            double const size = std::fabs(elements[i]) / elements[0];
            double const lost = std::fabs(found[i - 1] - elements[i]) / elements[0];
            double const seen = std::ldexp(size, -20) + std::ldexp(1.0, -42); // what LSE itself rounds
            CHECK(lost <= (size >= std::ldexp(1.0, -28) ? 0.0 : size) + seen);
            if (size < std::ldexp(1.0, -29)) {
                CHECK(std::fabs(found[i - 1]) / elements[0] <= seen); // nothing is left
            }
        }
    });
}

TEST_CASE("where products flush, probabilities from 2^-21 of the largest on count", "[contract][decode]")
{
    int const quiet = 2000;
    for (double const down : {12.0, 20.0, 20.9}) {
        double const share = quiet / (quiet + std::exp2(down));
        CAPTURE(down);
        // The key is rounded to fp16, so the score by 2^-11 of itself; probabilities by 2^-11, the output by 2^-8.
        double const bound = std::log(2.0) * down * std::exp2(-11.0) + std::exp2(-11.0) + std::exp2(-8.0);
        CHECK(std::fabs(share_of_quiet(quiet, down) - share) <= bound * share);
    }
    CHECK(share_of_quiet(quiet, 23.0)
          <= quiet * std::exp2(-21.0)); // these are lost, and no more than this with them
}
