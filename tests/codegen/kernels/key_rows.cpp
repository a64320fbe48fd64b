// SPDX-License-Identifier: MIT
// The key rows of the fused insert item after item, so that a turn of the loop is what one item costs: 4 rows of 4 tokens,
// with slots, position and angles loaded for each. In the ready kernel a wave takes one item and no loop shows it.
// For the assembly rules.
#include "../insert_problems.hpp"

template <class Problem>
struct key_items
{
    static constexpr launch_bounds bounds = wide<Problem>::bounds;
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, insert_launch<Problem> const& launch) const
    {
        for (int part = 0; part < launch.plan.key_items; ++part) {
            asm volatile("; turn of keys");
            detail::insert_keys<Problem, false>(block.wave(), launch.args, block.index() * 4, part);
        }
    }
};

struct bf16_alone : insert_problem
{};

template <class Format, class Numerics>
struct fp8_alone : insert_problem
{
    using cache    = shuffled_cache<Format>;
    using numerics = Numerics;
};

using unit_ocp     = fp8_alone<fp8_e4m3, contract::aiter_unit>;
using unit_fnuz    = fp8_alone<fp8_e4m3_fnuz, contract::aiter_unit>;
using static_ocp   = fp8_alone<fp8_e4m3, contract::aiter_static>;
using static_fnuz  = fp8_alone<fp8_e4m3_fnuz, contract::aiter_static>;
using product_ocp  = fp8_alone<fp8_e4m3, contract::seed>;
using product_fnuz = fp8_alone<fp8_e4m3_fnuz, contract::seed>;
using token_ocp    = fp8_alone<fp8_e4m3, contract::aiter_per_token>;
using token_fnuz   = fp8_alone<fp8_e4m3_fnuz, contract::aiter_per_token>;

template __global__ void hip::entry<key_items<bf16_alone>, work<bf16_alone>>(work<bf16_alone>);
template __global__ void hip::entry<key_items<unit_ocp>, work<unit_ocp>>(work<unit_ocp>);
template __global__ void hip::entry<key_items<unit_fnuz>, work<unit_fnuz>>(work<unit_fnuz>);
template __global__ void hip::entry<key_items<static_ocp>, work<static_ocp>>(work<static_ocp>);
template __global__ void hip::entry<key_items<static_fnuz>, work<static_fnuz>>(work<static_fnuz>);
template __global__ void hip::entry<key_items<token_ocp>, work<token_ocp>>(work<token_ocp>);
template __global__ void hip::entry<key_items<token_fnuz>, work<token_fnuz>>(work<token_fnuz>);
template __global__ void hip::entry<key_items<product_ocp>, work<product_ocp>>(work<product_ocp>);
template __global__ void hip::entry<key_items<product_fnuz>, work<product_fnuz>>(work<product_fnuz>);
