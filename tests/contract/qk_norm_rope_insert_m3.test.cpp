// SPDX-License-Identifier: MIT
// The fused insert against the scalar model and the oracle: MiniMax-M3's shapes.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert writes the model's bytes: MiniMax-M3 in bf16", "[contract][kernel]")
{
    check_problem<m3_bf16>(0);
}

TEST_CASE("the fused insert writes the model's bytes: MiniMax-M3 in fp8 with static scales",
          "[contract][kernel]")
{
    check_problem<m3_static>(1);
}

TEST_CASE("the fused insert writes the model's bytes: MiniMax-M3 by the seed's contract",
          "[contract][kernel]")
{
    check_problem<m3_seed>(2);
}
