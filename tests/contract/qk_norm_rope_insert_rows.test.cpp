// SPDX-License-Identifier: MIT
// Caches of token rows, NHD and HND, and of transposed values: the fused insert writes the model's bytes.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert writes the model's bytes: token rows, a page a token", "[contract][kernel]")
{
    check_problem<rows_page_1>(14);
}

TEST_CASE("the fused insert writes the model's bytes: token rows in pages of 128", "[contract][kernel]")
{
    check_problem<rows_page_128>(15);
}

TEST_CASE("the fused insert writes the model's bytes: token rows with static scales", "[contract][kernel]")
{
    check_problem<rows_static_16>(16);
}

TEST_CASE("the fused insert writes the model's bytes: transposed values", "[contract][kernel]")
{
    check_problem<transposed_bf16>(17);
    check_problem<transposed_unit_64>(18);
}
