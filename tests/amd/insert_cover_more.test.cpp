// SPDX-License-Identifier: MIT
// The fused insert with problems that complete the cover of pairs: cover_3 to cover_7.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert stores what the models store: cover_3, cover_4, cover_5", "[contract][kernel]")
{
    check_small_scenes<cover_3>(163, false);
    check_small_scenes<cover_4>(164, false);
    check_small_scenes<cover_5>(165, false);
}

TEST_CASE("the fused insert stores what the models store: cover_6, cover_7", "[contract][kernel]")
{
    check_small_scenes<cover_6>(166, false);
    check_small_scenes<cover_7>(167, false);
}
