// SPDX-License-Identifier: MIT
// Insert, then decode, step by step over growing sequences: token rows as NHD, HND and side by side.
#include "contract/growing_problems.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

using by_token     = stored_with<token_cache<fp8_e4m3>, contract::aiter_per_token>;
using by_head      = stored_with<token_cache<fp8_e4m3_fnuz, 32>, head_scales_alone>;
using fp16_of_bf16 = as_it_comes<bf16, token_cache<fp16, 1>, 64>;
using bf16_rows    = as_it_comes<bf16, token_cache<bf16, 64>, 64>;

/// Every place that token rows may have.
template <class Insert>
void check_rows()
{
    auto g   = across_pages();
    g.caches = page_form::outer; // NHD
    check_growth<Insert>(g, crossed);
    g.caches = page_form::apart; // HND with gaps
    g.seed   = 2;
    check_growth<Insert>(g, crossed);
    g.caches       = page_form::outer;
    g.side_by_side = true;
    g.seed         = 3;
    check_growth<Insert>(g, crossed);
}

} // namespace

TEST_CASE("insert then decode: e4m3 with a scale for each token and head, token rows",
          "[contract][decode][law]")
{
    check_rows<by_token>();
}

TEST_CASE("insert then decode: fnuz with a scale for each head, token rows in pages of 32",
          "[contract][decode][law]")
{
    check_rows<by_head>();
}

TEST_CASE("insert then decode: bf16 narrowed to fp16, a page for each token", "[contract][decode][law]")
{
    auto g   = across_pages();
    g.caches = page_form::outer;
    check_growth<fp16_of_bf16>(g, crossed);
}

TEST_CASE("insert then decode: bf16, token rows in pages of 64", "[contract][decode][law]")
{
    auto g         = across_pages();
    g.side_by_side = true;
    check_growth<bf16_rows>(g, crossed);
}
