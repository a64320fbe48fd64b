// SPDX-License-Identifier: MIT
// Problems on MiniMax-M3's shapes, for the assembly rules.
#pragma once

#include "kvloom/backend/hip.hpp"
#include "kvloom/kernel/qk_norm_rope_insert.hpp"

using namespace kvloom;

struct bf16_cache : insert_problem
{
    using index = index_branch<>;
};

template <class Format, class Numerics>
struct fp8_cache : insert_problem
{
    using cache    = shuffled_cache<Format>;
    using index    = index_branch<>;
    using numerics = Numerics;
};

template <class Problem>
using wide = insert_long<Problem, insert_shape::long_wide>;
template <class Problem>
using work = insert_launch<Problem>;
