// SPDX-License-Identifier: MIT
// The fused insert on MiniMax-M3's shapes, for the assembly rules: scales of a token and head that the kernel finds.
#include "../insert_problems.hpp"

using token_ocp  = fp8_cache<fp8_e4m3, contract::aiter_per_token>;
using token_fnuz = fp8_cache<fp8_e4m3_fnuz, contract::aiter_per_token>;

template __global__ void hip::entry<wide<token_ocp>, work<token_ocp>>(work<token_ocp>);
template __global__ void hip::entry<insert_short<token_ocp>, work<token_ocp>>(work<token_ocp>);
template __global__ void hip::entry<wide<token_fnuz>, work<token_fnuz>>(work<token_fnuz>);
template __global__ void hip::entry<insert_short<token_fnuz>, work<token_fnuz>>(work<token_fnuz>);
