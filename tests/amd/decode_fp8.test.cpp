// SPDX-License-Identifier: MIT
// Paged decode of caches of both fp8 formats, with every kind of scale.
#include "amd/small_decode.hpp"

using namespace kvloom_test;

namespace {

template <class T, class Scale>
struct scaled : decode_of<shuffled_keys<T, 128>, shuffled_values<T, 128>>
{
    using key_scale   = Scale;
    using value_scale = Scale;
};

} // namespace

TEST_CASE("paged_decode: fp8 without scales", "[contract][decode]")
{
    check_small_decode<scaled<fp8_e4m3, no_scale>>();
    check_small_decode<scaled<fp8_e4m3_fnuz, no_scale>>();
}

TEST_CASE("paged_decode: a scale for the cache, for each head, for each token and head", "[contract][decode]")
{
    check_small_decode<scaled<fp8_e4m3, cache_scale>>();
    check_small_decode<scaled<fp8_e4m3_fnuz, head_scale>>();
    check_small_decode<scaled<fp8_e4m3, scale_view>>();
}
