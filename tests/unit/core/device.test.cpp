// SPDX-License-Identifier: MIT
// Conversions and exact math as a kernel computes them: the checks of this folder, with every case run on each machine.
#include "support/machines.hpp"
#include "unit/core/math_checks.hpp"

#include <tuple>

using namespace kvloom_test;

namespace {

struct case_args
{
    kvloom::u32 const* in;
    kvloom::u32* out;
    int calls;
};

/// One call of `Case` a thread.
template <class Case>
struct call_case
{
    static constexpr kvloom::launch_bounds bounds = {128, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, case_args const& a) const
    {
        int const i = block.index() * Block::threads + block.thread();
        if (i < a.calls) {
            Case{}(a.in + kvloom::i64(i) * Case::inputs, a.out + kvloom::i64(i) * Case::outputs);
        }
    }
};

/// What the checks call: words in, words out, on the machine of a stream.
template <class Stream>
struct run_on
{
    Stream const& stream;

    template <class Case>
    words operator()(Case const&, words const& in) const
    {
        std::size_t const calls = in.size() / Case::inputs;
        device_array<kvloom::u32> source(in);
        device_array<kvloom::u32> target(calls * Case::outputs, 0x5a5a5a5aU);
        run<call_case<Case>>(stream, case_args{source.data(), target.data(), int(calls)},
                             int((calls + 127) / 128));
        return target.values();
    }
};

using storage_types = std::tuple<kvloom::bf16, kvloom::fp16, kvloom::fp8_e4m3, kvloom::fp8_e4m3_fnuz>;

#if KVLOOM_TEST_BACKEND_HOST
constexpr int floats = 20000; // the host's own tests take millions without a kernel around them
#else
constexpr int floats = plain_program ? 2000 : 4000000;
#endif

} // namespace

TEMPLATE_LIST_TEST_CASE("in a kernel, widening equals decoding", "[core][device]", storage_types)
{
    on_every_machine([](char const* name, auto const& stream) {
        INFO(name);
        check_widening<TestType>(run_on<std::decay_t<decltype(stream)>>{stream});
    });
}

TEMPLATE_LIST_TEST_CASE("in a kernel, narrowing gives the nearest value", "[core][device]", storage_types)
{
    on_every_machine([](char const* name, auto const& stream) {
        INFO(name);
        run_on<std::decay_t<decltype(stream)>> const runner{stream};
        auto const inputs = deciding_floats(format_of<TestType>(), floats);
        check_narrowing<TestType, kvloom::saturate>(runner, inputs);
        check_narrowing<TestType, kvloom::to_nan>(runner, inputs);
    });
}

TEST_CASE("in a kernel, keys are ordered as magnitudes, NaN below all", "[core][device]")
{
    on_every_machine([](char const* name, auto const& stream) {
        INFO(name);
        run_on<std::decay_t<decltype(stream)>> const runner{stream};
        check_largest_by_keys<kvloom::bf16>(runner);
        check_largest_by_keys<kvloom::fp16>(runner);
    });
}

#if !KVLOOM_TEST_BACKEND_HOST
TEST_CASE("in a kernel, root, reciprocal and division are correctly rounded", "[core][device]")
{
    on_every_machine([](char const* name, auto const& stream) {
        INFO(name);
        run_on<std::decay_t<decltype(stream)>> const runner{stream};
        check_square_root(runner);
        check_reciprocal(runner);
        check_division(runner);
        check_product_sum(runner);
        check_bits(runner);
        check_larger(runner);
        check_quotient(runner);
    });
}
#endif
