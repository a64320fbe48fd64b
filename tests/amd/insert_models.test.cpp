// SPDX-License-Identifier: MIT
// The fused insert with norms over the vector, positions by sections, and heads of 256 and 512.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert stores what the models store: minimax_m2, vector_half, qwen3_vl",
          "[contract][kernel]")
{
    check_small_scenes<minimax_m2>(140, false);
    check_small_scenes<vector_half>(141, false);
    check_small_scenes<qwen3_vl>(142, false);
}

TEST_CASE("the fused insert stores what the models store: sectioned_pairs, qwen3_next", "[contract][kernel]")
{
    check_small_scenes<sectioned_pairs>(143, false);
    check_small_scenes<qwen3_next>(144, true);
}
