// SPDX-License-Identifier: MIT
// The fused insert on MiniMax-M3's shapes, for the assembly rules: bf16, fp8 with a unit scale and with static ones.
#include "../insert_problems.hpp"

using unit_ocp     = fp8_cache<fp8_e4m3, contract::aiter_unit>;
using unit_fnuz    = fp8_cache<fp8_e4m3_fnuz, contract::aiter_unit>;
using static_fnuz  = fp8_cache<fp8_e4m3_fnuz, contract::aiter_static>;
using product_fnuz = fp8_cache<fp8_e4m3_fnuz, contract::seed>;

template __global__ void hip::entry<wide<bf16_cache>, work<bf16_cache>>(work<bf16_cache>);
template __global__ void hip::entry<insert_short<bf16_cache>, work<bf16_cache>>(work<bf16_cache>);
template __global__ void hip::entry<wide<unit_ocp>, work<unit_ocp>>(work<unit_ocp>);
template __global__ void hip::entry<wide<unit_fnuz>, work<unit_fnuz>>(work<unit_fnuz>);
template __global__ void hip::entry<insert_short<unit_fnuz>, work<unit_fnuz>>(work<unit_fnuz>);
template __global__ void hip::entry<wide<static_fnuz>, work<static_fnuz>>(work<static_fnuz>);
template __global__ void hip::entry<wide<product_fnuz>, work<product_fnuz>>(work<product_fnuz>);
