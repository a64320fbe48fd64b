// SPDX-License-Identifier: MIT
// The fused insert with problems that complete the cover of pairs: cover_0 to cover_2.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert stores what the models store: cover_0, cover_1, cover_2", "[contract][kernel]")
{
    check_small_scenes<cover_0>(160, false);
    check_small_scenes<cover_1>(161, false);
    check_small_scenes<cover_2>(162, false);
}
