// SPDX-License-Identifier: MIT
// The fused insert against the scalar model and the oracle: fnuz caches.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert writes the model's bytes: fnuz with static scales and 96 rotated dims",
          "[contract][kernel]")
{
    check_problem<fnuz_static_96>(3);
}

TEST_CASE("the fused insert writes the model's bytes: fnuz with unit scale, from fp16", "[contract][kernel]")
{
    check_problem<half_fnuz_unit>(4);
}

TEST_CASE("the fused insert writes the model's bytes: fnuz by the seed's contract, 20 rotated dims",
          "[contract][kernel]")
{
    check_problem<half_fnuz_seed_20>(11);
}
