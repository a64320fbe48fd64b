// SPDX-License-Identifier: MIT
// Norms over the vector, positions by sections, other head sizes: the fused insert writes the model's bytes.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert writes the model's bytes: one mean square for all heads", "[contract][kernel]")
{
    check_problem<minimax_m2>(40);
    check_problem<vector_half>(41);
}

TEST_CASE("the fused insert writes the model's bytes: positions by sections", "[contract][kernel]")
{
    check_problem<qwen3_vl>(42);
    check_problem<sectioned_pairs>(43);
}

TEST_CASE("the fused insert writes the model's bytes: heads of 256", "[contract][kernel]")
{
    check_problem<qwen3_next>(44);
    check_problem<wide_token_scales>(45);
}

TEST_CASE("the fused insert writes the model's bytes: heads of 512", "[contract][kernel]")
{
    check_problem<gemma4>(46);
    check_problem<gemma4_fp8>(47);
}

TEST_CASE("the fused insert writes the model's bytes: heads of 64", "[contract][kernel]")
{
    check_problem<narrow_heads>(48);
}
