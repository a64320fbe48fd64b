// SPDX-License-Identifier: MIT
// read_back from every layout, and from every type to every type.
#include "contract/read_cases.hpp"

using namespace kvloom_test;

TEST_CASE("read_back: from every layout", "[contract][pages]")
{
    check_layouts<bf16, bf16, 128>();
    check_layouts<fp8_e4m3_fnuz, float, 64, scale_view>();
}

TEST_CASE("read_back: from every type to every type", "[contract][pages]")
{
    check_outputs<bf16>();
    check_outputs<fp16>();
    check_outputs<fp8_e4m3>();
    check_outputs<fp8_e4m3_fnuz>();
}

TEST_CASE("read_back: pages of one token and packed blocks", "[contract][pages]")
{
    check_pages_of_one_token<read_problem<token_rows<bf16, 64, 1>, bf16>>();
    check_reads<read_problem<shuffled_values<bf16, 64>, bf16, no_scale, 8>>();
}
