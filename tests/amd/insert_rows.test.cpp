// SPDX-License-Identifier: MIT
// The fused insert into token rows, by the contracts of the systems that have them.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert stores what the models store: rows_page_1, rows_page_128, rows_static_16",
          "[contract][kernel]")
{
    check_small_scenes<rows_page_1>(120, false);
    check_small_scenes<rows_page_128>(121, false);
    check_small_scenes<rows_static_16>(122, true);
}

TEST_CASE("the fused insert stores what the models store: native_unit, trtllm_rounded, trtllm_exact",
          "[contract][kernel]")
{
    check_small_scenes<native_unit>(123, false);
    check_small_scenes<trtllm_rounded>(124, false);
    check_small_scenes<trtllm_exact>(125, false);
}

TEST_CASE("the fused insert stores what the models store: flashinfer_rows, token_scales_rows",
          "[contract][kernel]")
{
    check_small_scenes<flashinfer_rows>(126, false);
    check_small_scenes<token_scales_rows>(127, false);
}
