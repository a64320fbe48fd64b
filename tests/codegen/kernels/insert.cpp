// SPDX-License-Identifier: MIT
// The fused insert on MiniMax-M3's shapes, for the assembly rules: bf16, fp8 with a unit scale and with a static one.
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

using unit_ocp    = fp8_cache<fp8_e4m3, contract::aiter_unit>;
using unit_fnuz   = fp8_cache<fp8_e4m3_fnuz, contract::aiter_unit>;
using static_fnuz = fp8_cache<fp8_e4m3_fnuz, contract::aiter_static>;

template <class Problem>
using wide = insert_long<Problem, insert_shape::long_wide>;
template <class Problem>
using work = insert_launch<Problem>;

template __global__ void hip::entry<wide<bf16_cache>, work<bf16_cache>>(work<bf16_cache>);
template __global__ void hip::entry<insert_short<bf16_cache>, work<bf16_cache>>(work<bf16_cache>);
template __global__ void hip::entry<wide<unit_ocp>, work<unit_ocp>>(work<unit_ocp>);
template __global__ void hip::entry<wide<unit_fnuz>, work<unit_fnuz>>(work<unit_fnuz>);
template __global__ void hip::entry<insert_short<unit_fnuz>, work<unit_fnuz>>(work<unit_fnuz>);
template __global__ void hip::entry<wide<static_fnuz>, work<static_fnuz>>(work<static_fnuz>);
