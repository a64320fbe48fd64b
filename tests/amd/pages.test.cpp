// SPDX-License-Identifier: MIT
// copy_pages and read_back, a few of each kind: bits moved as vectors and as lines, scales found, scales taken away.
#include "contract/read_cases.hpp"

using namespace kvloom_test;

TEST_CASE("copy_pages moves bits, and finds and removes scales", "[contract][pages]")
{
    check_copies<copy_problem<shuffled_values<bf16, 128>, shuffled_values<bf16, 128>>>();
    check_copies<copy_problem<shuffled_values<bf16, 128>, token_rows<bf16, 128>>>();
    check_copies<
        copy_problem<token_rows<bf16, 128>, shuffled_keys<fp8_e4m3_fnuz, 128>, no_scale, scale_view>>();
    check_copies<copy_problem<transposed_values<fp8_e4m3, 64>, token_rows<fp16, 64>, head_scale, no_scale>>();
}

TEST_CASE("read_back reads along dims and along slots", "[contract][pages]")
{
    check_reads<read_problem<shuffled_keys<bf16, 128>, bf16>>();
    check_reads<read_problem<shuffled_values<fp8_e4m3, 64>, float, scale_view>>();
}
