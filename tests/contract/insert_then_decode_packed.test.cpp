// SPDX-License-Identifier: MIT
// Insert, then decode, step by step over growing sequences: transposed V, packed blocks of pages.
#include "contract/growing_problems.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

using turned_by_token = stored_with<transposed_cache<fp8_e4m3_fnuz>, contract::aiter_per_token>;
using packed_by_head  = stored_with<packed_cache<shuffled_cache<fp8_e4m3>>, head_scales_alone>;
using turned_bf16     = as_it_comes<bf16, transposed_cache<bf16, 128>, 64>;
using packed_fp16     = as_it_comes<fp16, packed_cache<shuffled_cache<fp16>, 4>, 64>;

} // namespace

TEST_CASE("insert then decode: fnuz with a scale for each token and head, transposed V",
          "[contract][decode][law]")
{
    check_growth<turned_by_token>(across_pages(), crossed);
}

TEST_CASE("insert then decode: bf16, transposed V in pages of 128", "[contract][decode][law]")
{
    check_growth<turned_bf16>(across_pages(), crossed);
}

TEST_CASE("insert then decode: e4m3 with a scale for each head, packed blocks of 8 pages",
          "[contract][decode][law]")
{
    check_growth<packed_by_head>(across_pages(), crossed);
}

TEST_CASE("insert then decode: fp16, packed blocks of 4 pages", "[contract][decode][law]")
{
    check_growth<packed_fp16>(across_pages(), crossed);
}
