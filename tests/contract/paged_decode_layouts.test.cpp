// SPDX-License-Identifier: MIT
// Paged decode of every layout, of head sizes 64 to 512, of pages of 1 to 1024 tokens, of packed blocks of pages.
#include "contract/decode_check.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class Keys, class Values>
struct laid_out : decode_problem
{
    using key_cache   = Keys;
    using value_cache = Values;
    using lse         = natural_lse;
};

struct packed : laid_out<token_rows<bf16, 64>, shuffled_values<bf16, 64>>
{
    static constexpr int key_block_pages   = 8;
    static constexpr int value_block_pages = 4;
};

template <class Problem>
void check_layout()
{
    decode_options o;
    o.lengths  = {0, 1, 40, 530, 1100};
    o.heads    = 6;
    o.kv_heads = 3;
    o.caches   = page_form::apart;
    check_decode<Problem>(o);
    o.count    = 5;
    o.heads    = 8;
    o.kv_heads = 1;
    o.caches   = page_form::outer;
    o.faulty   = true;
    check_decode<Problem>(o);
}

} // namespace

TEST_CASE("paged_decode: heads of 256 dims in token rows, pages of 64", "[contract][decode]")
{
    check_layout<laid_out<token_rows<bf16, 256, 64>, token_rows<bf16, 256, 64>>>();
}

TEST_CASE("paged_decode: transposed values, pages of 128", "[contract][decode]")
{
    check_layout<laid_out<shuffled_keys<bf16, 128, 128>, transposed_values<bf16, 128, 128>>>();
}

TEST_CASE("paged_decode: pages of 1024 tokens, keys with their tokens together", "[contract][decode]")
{
    check_layout<laid_out<shuffled_keys<bf16, 64, 1024>, shuffled_values<bf16, 64, 1024>>>();
}

TEST_CASE("paged_decode: a page for each token", "[contract][decode]")
{
    check_layout<laid_out<token_rows<bf16, 64, 1>, token_rows<bf16, 64, 1>>>();
}

TEST_CASE("paged_decode: packed blocks of pages, the cache of K packed otherwise", "[contract][decode]")
{
    check_layout<packed>();
}
