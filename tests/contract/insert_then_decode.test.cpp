// SPDX-License-Identifier: MIT
// Insert, then decode, step by step over growing sequences: SHUFFLE pages of 16 to 1024 tokens.
#include "contract/growing_cache.hpp"
#include "contract/own_contracts.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

/// K and V as they come: no norm, no rotation.
template <class Activation, class Cache, int Dim>
struct as_it_comes : insert_problem
{
    using activation = Activation;
    using cache      = Cache;
    using norm       = no_norm;

    static constexpr int head_dim   = Dim;
    static constexpr int rotary_dim = 0;
};

using m3_bf16    = insert_problem;
using fp16_of_64 = as_it_comes<fp16, shuffled_cache<fp16, 64>, 64>;
using unscaled   = as_it_comes<bf16, shuffled_cache<fp8_e4m3_fnuz, 1024>, 64>;

struct static_scales : insert_problem
{
    using cache    = shuffled_cache<fp8_e4m3, 128>;
    using numerics = contract::aiter_static;
};

/// Some grow over the ends of pages and of nodes, one from nothing.
growth across_pages()
{
    return usual_growth({0, 13, 14, 253, 254, 62});
}
std::vector<std::int64_t> const crossed = {1, 15, 16, 17, 63, 64, 65, 255, 256, 257};

} // namespace

TEST_CASE("insert then decode: bf16, SHUFFLE pages of 16", "[contract][decode][law]")
{
    check_growth<m3_bf16>(across_pages(), crossed);
    auto g   = across_pages();
    g.caches = page_form::apart;
    g.blocks = 1;
    g.seed   = 2;
    check_growth<m3_bf16>(g, crossed);
}

TEST_CASE("insert then decode: fp16, SHUFFLE pages of 64", "[contract][decode][law]")
{
    check_growth<fp16_of_64>(across_pages(), crossed);
}

TEST_CASE("insert then decode: e4m3 with a scale for the cache, SHUFFLE pages of 128",
          "[contract][decode][law]")
{
    check_growth<static_scales>(across_pages(), crossed);
}

TEST_CASE("insert then decode: fnuz without a scale, SHUFFLE pages of 1024", "[contract][decode][law]")
{
    check_growth<unscaled>(usual_growth({1019, 13, 254}), {15, 16, 257, 1022, 1026, 1030, 1031});
}
