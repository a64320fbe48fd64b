// SPDX-License-Identifier: MIT
// The fused insert against the scalar model and the oracle: no rotation.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert writes the model's bytes: fp16 into fp8 without rotation", "[contract][kernel]")
{
    check_problem<half_seed_no_rope>(8);
}

TEST_CASE("the fused insert writes the model's bytes: plain copies into pages of 64", "[contract][kernel]")
{
    check_problem<bare_page_64>(9);
}
