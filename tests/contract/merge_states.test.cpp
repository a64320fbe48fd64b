// SPDX-License-Identifier: MIT
// merge_states: against the formula in double, with empty states, in every type; and what it refuses.
#include "kvloom/kernel/merge_states.hpp"
#if KVLOOM_TEST_PLAIN
#include "amd/merge_loops.hpp"
#endif
#include "contract/refusals.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/machines.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class State, class Output, class Lse, int Dim>
struct merge_of : merge_problem
{
    using state  = State;
    using output = Output;
    using lse    = Lse;

    static constexpr int dim = Dim;
};

constexpr int rows   = 5;
constexpr int heads  = 3;
constexpr int states = 4;

/// Rows of states and their logarithms; row 1 has seen nothing, row 2 only in its second state.
template <class Problem>
struct states_in_memory
{
    static constexpr int dim = Problem::dim;

    std::vector<typename Problem::state> out;
    std::vector<float> lse;

    states_in_memory()
    {
        random_source random(11);
        for (int i = 0; i < states * rows * heads; ++i) {
            int const row     = i / heads % rows;
            int const state   = i / heads / rows;
            bool const absent = row == 1 || (row == 2 && state != 1);
            lse.push_back(absent ? -std::numeric_limits<float>::infinity() : float(40.0 * random.normal()));
            for (int d = 0; d < dim; ++d) {
                double const x = absent ? std::numeric_limits<double>::quiet_NaN() : random.normal();
                out.push_back(encode<typename Problem::state>(float(x)));
            }
        }
    }

    double value(int state, int row, int head, int d) const
    {
        return double(decode(out[std::size_t(((state * rows + row) * heads + head) * dim + d)]));
    }
    /// Natural.
    double logarithm(int state, int row, int head) const
    {
        double const x = double(lse[std::size_t((state * rows + row) * heads + head)]);
        return Problem::lse::natural ? x : x * std::log(2.0);
    }

    /// The merged row, and behind it its logarithm.
    std::vector<double> merged(int row, int head) const
    {
        double top = -std::numeric_limits<double>::infinity();
        for (int i = 0; i < states; ++i) {
            top = std::max(top, logarithm(i, row, head));
        }
        std::vector<double> all(std::size_t(dim + 1), 0.0);
        if (std::isinf(top)) {
            all.back() = top;
            return all;
        }
        double sum = 0.0;
        for (int i = 0; i < states; ++i) {
            double const weight = std::exp(logarithm(i, row, head) - top);
            sum += weight;
            for (int d = 0; d < dim && weight > 0.0; ++d) {
                all[std::size_t(d)] += weight * value(i, row, head, d);
            }
        }
        for (int d = 0; d < dim; ++d) {
            all[std::size_t(d)] /= sum;
        }
        all.back() = (top + std::log(sum)) / (Problem::lse::natural ? 1.0 : std::log(2.0));
        return all;
    }
};

template <class Problem>
void check_merge(double const bound)
{
    states_in_memory<Problem> const scene;
    constexpr int dim = Problem::dim;
    on_every_machine([&](char const* machine, auto const& stream) {
        CAPTURE(machine, dim);
        device_array<typename Problem::state> const in(scene.out);
        device_array<float> const in_lse(scene.lse);
        device_array<typename Problem::output> const out(std::size_t(rows * heads * dim),
                                                         encode<typename Problem::output>(77.0F));
        device_array<float> const lse(std::size_t(rows * heads), 77.0F);
        merge_args<Problem> args;
        args.states    = {in.data(), heads, heads * dim, dim};
        args.state_lse = {in_lse.data(), heads};
        args.count     = states;
        args.rows      = rows;
        args.out       = {out.data(), heads, heads * dim, dim};
        args.lse       = {lse.data(), heads};
        REQUIRE(text_of(merge_states<Problem>::launch(stream, args)) == "");
        auto const got     = out.values();
        auto const got_lse = lse.values();
        for (int i = 0; i < rows * heads; ++i) {
            auto const wanted = scene.merged(i / heads, i % heads);
            for (int d = 0; d < dim; ++d) {
                double const x = double(decode(got[std::size_t(i * dim + d)]));
                REQUIRE(std::fabs(x - wanted[std::size_t(d)])
                        <= bound * (1.0 + std::fabs(wanted[std::size_t(d)])));
            }
            bool const empty = std::isinf(wanted.back());
            double const x   = double(got_lse[std::size_t(i)]);
            REQUIRE((empty ? x == wanted.back() : std::fabs(x - wanted.back()) <= 2e-5));
        }
    });
}

} // namespace

TEST_CASE("merge_states: the formula, with states that have seen nothing", "[contract][merge]")
{
    check_merge<merge_of<float, float, natural_lse, 128>>(1e-5);
    check_merge<merge_of<bf16, bf16, base2_lse, 64>>(4e-3);
    check_merge<merge_of<fp16, fp16, natural_lse, 256>>(1e-3);
}

TEST_CASE("merge_states refuses by name", "[contract][merge]")
{
    using merge_problem_type = merge_of<float, bf16, natural_lse, 128>;
    on_every_machine([](char const* machine, auto const& stream) {
        CAPTURE(machine);
        device_array<float> const memory(std::size_t{4096}, 0.0F);
        merge_args<merge_problem_type> good;
        good.states            = {memory.data(), 1, 128, 128};
        good.state_lse         = {memory.data() + 3000, 1};
        good.count             = 2;
        good.rows              = 2;
        good.out               = {reinterpret_cast<bf16*>(memory.data() + 1024), 1, 128, 128};
        auto const said_status = [&](auto change) {
            auto args = good;
            change(args);
            return merge_states<merge_problem_type>::launch(stream, args);
        };
        auto const said = [&](auto change) { return text_of(said_status(change)); };
        CHECK(said([](auto&) {}) == "");
        CHECK(said([](auto& a) { a.rows = 0, a.out.data = nullptr; }) == "");
        CHECK(said([](auto& a) { a.rows = -1; }) == "rows must be at least 0, but is -1");
        CHECK(said([](auto& a) { a.count = 0; }) == "count must be at least 1, but is 0");
        CHECK(said([](auto& a) { a.out.heads = 0; }) == "out.heads must be at least 1, but is 0");
        CHECK(said([](auto& a) { a.states.heads = 0; }) == "states.heads must be at least 1, but is 0");
        CHECK(said([](auto& a) { a.state_lse.data = nullptr; }) == "state_lse.data must not be null");
        CHECK(said([](auto& a) { a.state_lse.token_stride = 0; })
              == "state_lse.token_stride must be at least 1, but is 0");
        CHECK(said([](auto& a) {
                  a.out.data = reinterpret_cast<bf16*>(const_cast<float*>(a.states.data) + 256);
              })
              == "out.data must not overlap another argument");
        CHECK(said([](auto& a) { a.state_lse.token_stride = i64(1) << 60; })
              == "state_lse.token_stride must be below 68719476736, but is 1152921504606846976");
        CHECK(says(said_status([](auto& a) {
                       a.lse = {reinterpret_cast<float*>(reinterpret_cast<char*>(a.state_lse.data) + 402), 1};
                   }),
                   "lse.data must be a multiple of 4, but is "));
        CHECK(said([](auto& a) {
                  a.lse = {const_cast<float*>(a.state_lse.data), 1};
              })
              == "lse.data must not overlap another argument");
        CHECK(said([](auto& a) {
                  a.lse = {const_cast<float*>(a.states.data) + 300, 1};
              })
              == "lse.data must not overlap another argument");
        CHECK(said([](auto& a) {
                  a.lse = {reinterpret_cast<float*>(a.out.data), 1};
              })
              == "lse.data must not overlap another argument");
        CHECK(said([](auto& a) {
                  a.state_lse = {reinterpret_cast<float*>(a.out.data), 1};
              })
              == "out.data must not overlap another argument");
    });
}

TEST_CASE("merge_states: a logarithm of any size is not that of a state that has seen nothing",
          "[contract][merge]")
{
    using problem = merge_of<float, float, natural_lse, 64>;
    on_every_machine([](char const* machine, auto const& stream) {
        for (float const logarithm : {-3e38F, -7e29F, -1e20F, 0.0F, 1e20F, 2e38F, 3e38F}) {
            CAPTURE(machine, logarithm);
            device_array<float> const in(std::vector<float>(64, 2.5F));
            device_array<float> const in_lse(1, logarithm), out(64, 77.0F), lse(1, 77.0F);
            merge_args<problem> args;
            args.states    = {in.data(), 1, 64, 64};
            args.state_lse = {in_lse.data(), 1};
            args.count     = 1;
            args.rows      = 1;
            args.out       = {out.data(), 1, 64, 64};
            args.lse       = {lse.data(), 1};
            REQUIRE(text_of(merge_states<problem>::launch(stream, args)) == "");
            CHECK(out.values() == std::vector<float>(64, 2.5F));
            double const most = 2.3e38; // natural logarithms that fp32 holds to base 2
            double const want = std::max(std::min(double(logarithm), most), -most);
            CHECK(std::fabs(double(lse.values()[0]) - want) <= 0.05 * std::fabs(want));
        }
    });
}
