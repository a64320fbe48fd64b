// SPDX-License-Identifier: MIT
// The fused insert on MiniMax-M3's shapes, for the assembly rules: scales of a token and head that the kernel finds.
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

using token_ocp  = fp8_cache<fp8_e4m3, contract::aiter_per_token>;
using token_fnuz = fp8_cache<fp8_e4m3_fnuz, contract::aiter_per_token>;

template <class Problem>
using wide = insert_long<Problem, insert_shape::long_wide>;
template <class Problem>
using work = insert_launch<Problem>;

template __global__ void hip::entry<wide<token_ocp>, work<token_ocp>>(work<token_ocp>);
template __global__ void hip::entry<insert_short<token_ocp>, work<token_ocp>>(work<token_ocp>);
template __global__ void hip::entry<wide<token_fnuz>, work<token_fnuz>>(work<token_fnuz>);
template __global__ void hip::entry<insert_short<token_fnuz>, work<token_fnuz>>(work<token_fnuz>);
