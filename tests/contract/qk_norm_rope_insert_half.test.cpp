// SPDX-License-Identifier: MIT
// The fused insert against the scalar model and the oracle: fp16 rows and caches.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert writes the model's bytes: fp16 pages of 64 without weights", "[contract][kernel]")
{
    check_problem<half_page_64>(5);
}

TEST_CASE("the fused insert writes the model's bytes: bf16 rows into an fp16 cache", "[contract][kernel]")
{
    check_problem<half_cache_20>(6);
}

TEST_CASE("the fused insert writes the model's bytes: fp16 rows into a bf16 cache", "[contract][kernel]")
{
    check_problem<half_to_bf16_32>(7);
}
