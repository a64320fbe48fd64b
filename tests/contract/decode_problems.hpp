// SPDX-License-Identifier: MIT
// Problems of paged decode with other rules, for more than one test program.
#pragma once

#include "kvloom/kernel/paged_decode.hpp"

namespace kvloom_test {

using namespace kvloom;

struct capped : decode_problem
{
    using logits = soft_cap;
    using window = sliding_window;
    using sinks  = head_sinks;
    using lse    = natural_lse;
};

struct sloped : decode_problem
{
    using logits = alibi;
    using tokens = token_offsets<i64>;
};

} // namespace kvloom_test
