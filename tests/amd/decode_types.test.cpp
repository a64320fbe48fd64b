// SPDX-License-Identifier: MIT
// Paged decode of fp16 and bf16 caches, with queries and outputs of other types, and scales of 16-bit caches.
#include "amd/small_decode.hpp"

using namespace kvloom_test;

namespace {

template <class T>
using of_type = decode_of<shuffled_keys<T, 128>, shuffled_values<T, 128>>;

struct half_throughout : of_type<fp16>
{
    using query  = fp16;
    using output = fp16;
};
struct half_query : of_type<bf16>
{
    using query  = fp16;
    using output = float;
};
struct bf16_query : of_type<fp16>
{};
struct scaled_bf16 : of_type<bf16>
{
    using key_scale   = scale_view;
    using value_scale = head_scale;
};

} // namespace

TEST_CASE("paged_decode: fp16, and queries and outputs of another type", "[contract][decode]")
{
    check_small_decode<half_throughout>();
    check_small_decode<half_query>();
    check_small_decode<bf16_query>();
}

TEST_CASE("paged_decode: scales of 16-bit caches", "[contract][decode]")
{
    check_small_decode<scaled_bf16>();
}
