// SPDX-License-Identifier: MIT
// Kernels made of lambdas, for tests of the host backend.
#pragma once

#include "kvloom/backend/host.hpp"
#include "kvloom/group/launch_bounds.hpp"
#include "support/catch.hpp"

#include <type_traits>

namespace kvloom_test {

struct nothing
{};

/// A stream of one worker, kept so that its fibers are.
template <class Machine>
kvloom::host::stream<Machine> const& single_stream()
{
    static kvloom::host::stream<Machine> const stream(1);
    return stream;
}

template <int Threads, class Shared, class Body>
struct lambda_kernel
{
    static constexpr kvloom::launch_bounds bounds = {Threads, 1, 1};
    using shared                                  = Shared;

    Body body;

    template <class Block>
    void operator()(Block block, nothing const&) const
    {
        body(block);
    }
};

/// Runs `body(block)` in every thread of `blocks` blocks.
template <int Threads, class Shared = nothing, class Machine, class Body>
kvloom::status try_lambda(kvloom::host::stream<Machine> const& stream, int blocks, Body const& body)
{
    return launch(stream, lambda_kernel<Threads, Shared, Body>{body}, nothing{}, blocks);
}

/// The same, and requires that it was launched.
template <int Threads, class Shared = nothing, class Machine, class Body>
void run_lambda(kvloom::host::stream<Machine> const& stream, int blocks, Body const& body)
{
    kvloom::status const outcome = try_lambda<Threads, Shared>(stream, blocks, body);
    CAPTURE(outcome.argument);
    REQUIRE(outcome.ok());
}

/// Calls `body(std::integral_constant<int, i>)` for First <= i < Last.
template <int First, int Last, class Body>
void for_constants(Body const& body)
{
    if constexpr (First < Last) {
        body(std::integral_constant<int, First>{});
        for_constants<First + 1, Last>(body);
    }
}

} // namespace kvloom_test
