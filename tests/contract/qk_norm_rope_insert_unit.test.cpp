// SPDX-License-Identifier: MIT
// The fused insert against the scalar model and the oracle: the rest.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert writes the model's bytes: fp8 with unit scale, 96 rotated dims",
          "[contract][kernel]")
{
    check_problem<unit_96>(10);
}

TEST_CASE("the fused insert writes the model's bytes: 32 rotated dims without weights", "[contract][kernel]")
{
    check_problem<weightless_32>(12);
}

TEST_CASE("the fused insert writes the model's bytes: a contract of a user's own", "[contract][kernel]")
{
    check_problem<own_contract>(13);
}
