// SPDX-License-Identifier: MIT
// The scenes of paged decode in the plain AMD test programs: 0 to 300 tokens.
#pragma once

#include "contract/decode_check.hpp"

namespace kvloom_test {

using namespace kvloom;

template <class Keys, class Values = Keys>
struct decode_of : decode_problem
{
    using key_cache   = Keys;
    using value_cache = Values;
    using lse         = natural_lse;
};

/// Few rows to a head, cut into several blocks.
inline decode_options few_rows()
{
    decode_options o;
    o.lengths  = {0, 1, 17, 300};
    o.heads    = 6;
    o.kv_heads = 2;
    o.spare    = 0;
    return o;
}

/// So many rows that waves lie side by side over them, with gaps, and every third page out of range.
inline decode_options many_rows()
{
    decode_options o = few_rows();
    o.lengths        = {290, 31};
    o.count          = 3;
    o.heads          = 11;
    o.kv_heads       = 1;
    o.rows           = page_form::apart;
    o.caches         = page_form::apart;
    o.faulty         = true;
    return o;
}

template <class Problem>
void check_small_decode()
{
    check_decode<Problem>(few_rows());
    check_decode<Problem>(many_rows());
}

} // namespace kvloom_test
