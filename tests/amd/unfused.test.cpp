// SPDX-License-Identifier: MIT
// The unfused kernels store what the fused insert stores wherever the contract rounds at the same points.
#include "contract/unfused_cases.hpp"

using namespace kvloom_test;

TEST_CASE("fused and unfused kernels store the same bytes", "[contract][kernel]")
{
    CHECK(differing_blocks<m3_bf16>(50) == names{});
    CHECK(differing_blocks<minimax_m2>(52, false) == names{});
    CHECK(differing_blocks<m3_static>(54) == names{"index_q_out"}); // fp8: leaves only the fused kernel
}
