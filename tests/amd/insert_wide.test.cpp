// SPDX-License-Identifier: MIT
// The fused insert with heads of 64, 256 and 512, in fp8 and bf16.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert stores what the models store: wide_token_scales, gemma4, gemma4_fp8",
          "[contract][kernel]")
{
    check_small_scenes<wide_token_scales>(150, false);
    check_small_scenes<gemma4>(151, false);
    check_small_scenes<gemma4_fp8>(152, false);
}

TEST_CASE("the fused insert stores what the models store: narrow_heads", "[contract][kernel]")
{
    check_small_scenes<narrow_heads>(153, false);
}
