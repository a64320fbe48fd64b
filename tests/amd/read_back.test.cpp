// SPDX-License-Identifier: MIT
// read_back from every layout, and from every type to every type.
#include "contract/read_cases.hpp"

using namespace kvloom_test;

namespace {

template <class T, class Output, int Dim, class Scale = no_scale>
void check_layouts()
{
    check_reads<read_problem<shuffled_keys<T, Dim>, Output, Scale>>();
    check_reads<read_problem<shuffled_values<T, Dim>, Output, Scale>>();
    check_reads<read_problem<transposed_values<T, Dim>, Output, Scale>>();
    check_reads<read_problem<token_rows<T, Dim>, Output, Scale>>();
}

template <class T>
void check_outputs()
{
    check_reads<read_problem<shuffled_values<T, 64>, bf16, head_scale>>();
    check_reads<read_problem<shuffled_values<T, 64>, fp16, cache_scale>>();
    check_reads<read_problem<token_rows<T, 64>, float, no_scale>>();
}

} // namespace

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
    check_reads<read_problem<token_rows<bf16, 64, 1>, bf16>>();
    check_reads<read_problem<shuffled_values<bf16, 64>, bf16, no_scale, 8>>();
}
