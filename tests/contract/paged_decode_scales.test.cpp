// SPDX-License-Identifier: MIT
// Paged decode with dequant scales of each kind.
#include "contract/decode_check.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class T, class KeyScale, class ValueScale>
struct scaled : decode_problem
{
    using key_cache   = shuffled_keys<T, 128>;
    using value_cache = shuffled_values<T, 128>;
    using key_scale   = KeyScale;
    using value_scale = ValueScale;
    using lse         = natural_lse;
};

using by_cache       = scaled<fp8_e4m3, cache_scale, cache_scale>;
using by_head        = scaled<fp8_e4m3_fnuz, head_scale, head_scale>;
using by_token       = scaled<fp8_e4m3, scale_view, scale_view>;
using fnuz_by_token  = scaled<fp8_e4m3_fnuz, scale_view, scale_view>;
using keys_by_token  = scaled<bf16, scale_view, no_scale>;
using values_by_head = scaled<bf16, no_scale, head_scale>;

struct rows_by_token : scaled<fp8_e4m3, scale_view, scale_view>
{
    using key_cache   = token_rows<fp8_e4m3, 64, 64>;
    using value_cache = token_rows<fp8_e4m3, 64, 64>;
    using query       = fp16;
    using output      = float;
};

/// Few rows to a head, many, gaps, pages that do not exist, and every cut.
template <class Problem>
void check_scales(int const power = 0)
{
    decode_options o;
    o.lengths     = {0, 1, 17, 63, 64, 65, 300, 1400};
    o.heads       = 6;
    o.kv_heads    = 2;
    o.scale_power = power;
    o.scale       = std::ldexp(0.11F, -power);
    for (int const blocks : {1, 5}) {
        o.blocks = blocks;
        check_decode<Problem>(o);
    }
    o.lengths  = {530, 31};
    o.count    = 3;
    o.heads    = 11;
    o.kv_heads = 1;
    o.caches   = page_form::apart;
    o.faulty   = true;
    check_decode<Problem>(o);
}

} // namespace

TEST_CASE("paged_decode: one scale for a cache, one for each head", "[contract][decode]")
{
    check_scales<by_cache>();
    check_scales<by_head>();
    check_scales<by_head>(-9);
}

TEST_CASE("paged_decode: a scale for each token and head", "[contract][decode]")
{
    check_scales<by_token>();
    check_scales<fnuz_by_token>(-9);
    check_scales<rows_by_token>();
}

TEST_CASE("paged_decode: scales of 16-bit caches, of keys alone and of values alone", "[contract][decode]")
{
    check_scales<keys_by_token>();
    check_scales<values_by_head>();
}

TEST_CASE("paged_decode: scales far from one lose nothing", "[contract][decode]")
{
    check_scales<by_token>(-24);
    check_scales<by_token>(18);
    check_scales<by_head>(18);
}
