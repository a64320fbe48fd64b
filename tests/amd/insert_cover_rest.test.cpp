// SPDX-License-Identifier: MIT
// The fused insert with problems that complete the cover of pairs: cover_8 to cover_10.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert stores what the models store: cover_8, cover_9, cover_10", "[contract][kernel]")
{
    check_small_scenes<cover_8>(168, false);
    check_small_scenes<cover_9>(169, false);
    check_small_scenes<cover_10>(170, false);
}
