// SPDX-License-Identifier: MIT
// Paged decode where keys have another number of dims than values.
#include "contract/decode_check.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <int KeyDim, int ValueDim>
struct uneven : decode_problem
{
    using key_cache   = shuffled_keys<bf16, KeyDim>;
    using value_cache = shuffled_values<bf16, ValueDim>;
    using lse         = natural_lse;
};

template <class Problem>
void check_dims()
{
    decode_options o;
    o.lengths  = {0, 1, 40, 530, 1100};
    o.heads    = 6;
    o.kv_heads = 3;
    o.rows     = page_form::apart;
    check_decode<Problem>(o);
    o.count    = 5;
    o.heads    = 8;
    o.kv_heads = 1;
    o.rows     = page_form::outer;
    check_decode<Problem>(o);
}

} // namespace

TEST_CASE("paged_decode: keys of 128 dims, values of 64, and the other way round", "[contract][decode]")
{
    check_dims<uneven<128, 64>>();
    check_dims<uneven<64, 128>>();
}
