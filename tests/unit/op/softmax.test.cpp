// SPDX-License-Identifier: MIT
// Softmax at rest: merging with nothing, in both orders, of three in both ways.
#include "kvloom/op/softmax.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/machines.hpp"

#include <cstring>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

using partial = softmax_partial<4>;

struct merge_args
{
    partial const* in; // [threads][3]
    partial* out;      // [threads][6]
};

constexpr int threads = 64;

struct merge_probe
{
    static constexpr launch_bounds bounds = {threads, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, merge_args const& args) const
    {
        partial const* const in = args.in + 3 * block.thread();
        partial* const out      = args.out + 6 * block.thread();
        out[0]                  = merge(partial{}, partial{});
        out[1]                  = merge(partial{}, in[0]);
        out[2]                  = merge(in[0], partial{});
        out[3]                  = merge(in[0], in[1]);
        out[4]                  = merge(merge(in[0], in[1]), in[2]);
        out[5]                  = merge(in[0], merge(in[1], in[2]));
    }
};

/// Each number by its bits; a partial result has padding, whose bytes mean nothing.
bool same_bits(partial const& a, partial const& b)
{
    auto const same = [](auto const& x, auto const& y) { return std::memcmp(&x, &y, sizeof(x)) == 0; };
    return same(a.top, b.top) && same(a.sum, b.sum) && same(a.out, b.out);
}

/// What the partial results stand for together: sum, and the four numbers, all against the reference `top`.
struct exact_partial
{
    double sum      = 0.0;
    double out[4]   = {};
    double sizes[4] = {};
};

exact_partial add(std::vector<partial> const& some, double const top)
{
    exact_partial all;
    for (partial const& p : some) {
        double const weight = std::exp2(double(p.top) - top);
        all.sum += weight * double(p.sum);
        for (int i = 0; i < 4; ++i) {
            all.out[i] += weight * double(p.out[i]);
            all.sizes[i] += std::fabs(weight * double(p.out[i]));
        }
    }
    return all;
}

/// Within `merges` merges of the exact result: three roundings each, and an exponential within two steps.
void check_merged(partial const& got, std::vector<partial> const& of, int const merges)
{
    double top = double(of[0].top);
    for (partial const& p : of) {
        top = std::max(top, double(p.top));
    }
    REQUIRE(double(got.top) == top);
    auto const want    = add(of, top);
    double const slack = merges * 6.0 * std::ldexp(1.0, -23);
    REQUIRE(std::fabs(double(got.sum) - want.sum) <= want.sum * slack);
    for (int i = 0; i < 4; ++i) {
        REQUIRE(std::fabs(double(got.out[i]) - want.out[i]) <= want.sizes[i] * slack);
    }
}

partial make_partial(random_source& random)
{
    partial p;
    p.top = float(random.normal() * 3.0); // partials of like weight, and some that hardly count
    p.top += random.below(4) == 0 ? -40.0F : 0.0F;
    p.sum = float(1.0 + 100.0 * random.uniform());
    for (int i = 0; i < 4; ++i) {
        p.out[i] = float(random.normal() * 10.0);
    }
    return p;
}

} // namespace

TEST_CASE("merge: with nothing it changes no bit, else it is right within a bound in either order",
          "[op][law]") // B40
{
    random_source random(21);
    std::vector<partial> some;
    for (int i = 0; i < 3 * threads; ++i) {
        some.push_back(make_partial(random));
    }
    some[0]     = partial{}; // nothing, then a single score
    some[3].top = 1.25F;
    some[3].sum = 1.0F;
    some[3].out = {{5.0F, 5.0F, 5.0F, 5.0F}};
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        device_array<partial> const in(some), out(6 * threads, partial{});
        run<merge_probe>(stream, merge_args{in.data(), out.data()});
        auto const got = out.values();
        for (std::size_t i = 0; i < threads; ++i) {
            CAPTURE(i);
            partial const* const of = &some[3 * i];
            REQUIRE(same_bits(got[6 * i], partial{}));
            REQUIRE(same_bits(got[6 * i + 1], of[0]));
            REQUIRE(same_bits(got[6 * i + 2], of[0]));
            check_merged(got[6 * i + 3], {of[0], of[1]}, 1);
            check_merged(got[6 * i + 4], {of[0], of[1], of[2]}, 2);
            check_merged(got[6 * i + 5], {of[0], of[1], of[2]}, 2);
        }
    });
}
