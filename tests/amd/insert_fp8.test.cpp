// SPDX-License-Identifier: MIT
// The fused insert into SHUFFLE pages of both fp8 formats, with every kind of scale.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert stores what the models store: m3_seed, fnuz_static_96, half_fnuz_unit",
          "[contract][kernel]")
{
    check_small_scenes<m3_seed>(110, false);
    check_small_scenes<fnuz_static_96>(111, true);
    check_small_scenes<half_fnuz_unit>(112, false);
}

TEST_CASE("the fused insert stores what the models store: half_seed_no_rope, unit_96, half_fnuz_seed_20",
          "[contract][kernel]")
{
    check_small_scenes<half_seed_no_rope>(113, false);
    check_small_scenes<unit_96>(114, false);
    check_small_scenes<half_fnuz_seed_20>(115, false);
}

TEST_CASE("the fused insert stores what the models store: own_contract, token_scales_exact, quant_shuffle",
          "[contract][kernel]")
{
    check_small_scenes<own_contract>(116, true);
    check_small_scenes<token_scales_exact>(117, false);
    check_small_scenes<quant_shuffle>(118, false);
}
