// SPDX-License-Identifier: MIT
// The fused insert with problems that complete the cover of pairs: cover_11 to cover_14.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert stores what the models store: cover_11, cover_12, cover_13", "[contract][kernel]")
{
    check_small_scenes<cover_11>(171, false);
    check_small_scenes<cover_12>(172, false);
    check_small_scenes<cover_13>(173, false);
}

TEST_CASE("the fused insert stores what the models store: cover_14", "[contract][kernel]")
{
    check_small_scenes<cover_14>(174, false);
}
