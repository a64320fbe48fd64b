// SPDX-License-Identifier: MIT
// The fused insert of fp16 and bf16 into SHUFFLE pages of either.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert stores what the models store: half_page_64, half_cache_20, half_to_bf16_32",
          "[contract][kernel]")
{
    check_small_scenes<half_page_64>(100, false);
    check_small_scenes<half_cache_20>(101, false);
    check_small_scenes<half_to_bf16_32>(102, true);
}

TEST_CASE("the fused insert stores what the models store: bare_page_64, weightless_32, transformers_m3",
          "[contract][kernel]")
{
    check_small_scenes<bare_page_64>(103, false);
    check_small_scenes<weightless_32>(104, false);
    check_small_scenes<transformers_m3>(105, false);
}

TEST_CASE("the fused insert stores what the models store: transformers_qwen3", "[contract][kernel]")
{
    check_small_scenes<transformers_qwen3>(106, false);
}
