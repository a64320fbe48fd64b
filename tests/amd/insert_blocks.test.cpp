// SPDX-License-Identifier: MIT
// The fused insert into transposed values and into packed blocks of pages.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert stores what the models store: transposed_bf16, transposed_unit_64, token_writer",
          "[contract][kernel]")
{
    check_small_scenes<transposed_bf16>(130, false);
    check_small_scenes<transposed_unit_64>(131, true);
    check_small_scenes<token_writer>(132, false);
}

TEST_CASE("the fused insert stores what the models store: packed_head_scales, packed_bf16, packed_rows",
          "[contract][kernel]")
{
    check_small_scenes<packed_head_scales>(133, false);
    check_small_scenes<packed_bf16>(134, true);
    check_small_scenes<packed_rows>(135, false);
}
