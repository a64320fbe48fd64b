// SPDX-License-Identifier: MIT
// The fused insert as MiniMax-M3 needs it: bf16, and fp8 with static scales and with a scale for each token.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert stores what the models store: bf16", "[contract][kernel]")
{
    check_small_scenes<m3_bf16>(0, true);
}

TEST_CASE("the fused insert stores what the models store: fp8 with static scales", "[contract][kernel]")
{
    check_small_scenes<m3_static>(1, true);
}

TEST_CASE("the fused insert stores what the models store: fp8 with a scale for each token",
          "[contract][kernel]")
{
    check_small_scenes<token_scales>(2, true);
}
