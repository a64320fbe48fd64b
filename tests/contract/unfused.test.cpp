// SPDX-License-Identifier: MIT
// The unfused kernels store what the fused insert stores wherever the contract rounds at the same points; and where it does
// not, they differ.
#include "contract/unfused_cases.hpp"

using namespace kvloom_test;

TEST_CASE("fused and unfused kernels store the same bytes", "[contract][kernel]")
{
    CHECK(differing_blocks<m3_bf16>(50) == names{});
    CHECK(differing_blocks<transformers_m3>(51) == names{});
    CHECK(differing_blocks<minimax_m2>(52) == names{});
    CHECK(differing_blocks<rows_page_128>(53) == names{"index_q_out"}); // fp8: leaves only the fused kernel
    CHECK(differing_blocks<m3_static>(54) == names{"index_q_out"});
    CHECK(differing_blocks<gemma4>(55) == names{});
}

TEST_CASE("fused and unfused kernels differ where the contract narrows straight from fp32",
          "[contract][kernel]")
{
    CHECK(differing_blocks<native_unit>(56) == names{"index_keys", "index_q_out", "keys"});
    // K's scale is that of fp32 values in one, of rounded ones in the other; V has no such step.
    CHECK(differing_blocks<token_scales>(57) == names{"key_scales", "keys"});
}
