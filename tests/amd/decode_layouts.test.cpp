// SPDX-License-Identifier: MIT
// Paged decode of every layout, of head sizes 64 to 512, of pages of one token to 64.
#include "amd/small_decode.hpp"

using namespace kvloom_test;

namespace {

struct packed : decode_of<token_rows<bf16, 64>, shuffled_values<bf16, 64>>
{
    static constexpr int key_block_pages   = 8;
    static constexpr int value_block_pages = 4;
};

} // namespace

TEST_CASE("paged_decode: token rows of 256 dims, pages of 64", "[contract][decode]")
{
    check_small_decode<decode_of<token_rows<bf16, 256, 64>>>();
}

TEST_CASE("paged_decode: token rows of fp8 and 512 dims", "[contract][decode]")
{
    using wide = decode_of<token_rows<fp8_e4m3_fnuz, 512>>;
    auto o     = few_rows(); // fewer tokens: the code of a step is long
    o.lengths  = {0, 1, 17, 100};
    check_decode<wide>(o);
    o         = many_rows();
    o.lengths = {100, 31};
    check_decode<wide>(o);
}

TEST_CASE("paged_decode: transposed values", "[contract][decode]")
{
    check_small_decode<decode_of<shuffled_keys<bf16, 128>, transposed_values<bf16, 128>>>();
}

TEST_CASE("paged_decode: a page for each token, and packed blocks of pages", "[contract][decode]")
{
    check_small_decode<decode_of<token_rows<bf16, 64, 1>>>();
    check_small_decode<packed>();
}
