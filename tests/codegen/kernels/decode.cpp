// SPDX-License-Identifier: MIT
// Paged decode on MiniMax-M3's shapes, for the assembly rules: bf16 and fp8 caches, 16 and 64 query rows, fp8 as it
// stands where the processor's units take its format, and the plan and the merge.
#include "kvloom/backend/hip.hpp"
#include "kvloom/kernel/paged_decode.hpp"

using namespace kvloom;

struct bf16_decode : decode_problem
{};

template <class Format>
struct fp8_decode : decode_problem
{
    using key_cache   = shuffled_keys<Format, 128>;
    using value_cache = shuffled_values<Format, 128>;
};

#if defined(__gfx942__)
using own_format = fp8_e4m3_fnuz;
#else
using own_format = fp8_e4m3;
#endif

struct own_fp8_decode : fp8_decode<own_format>
{
    using multiplied = operands::of_cache;
};

template <class Problem>
using work = kvloom::detail::decode_work<Problem>;
template <class Problem, int Rows>
using attend_rows = decode_through_registers<Problem, Rows, 64>;
using fnuz        = fp8_decode<fp8_e4m3_fnuz>;
using ocp         = fp8_decode<fp8_e4m3>;

template __global__ void hip::entry<attend_rows<bf16_decode, 16>, work<bf16_decode>>(work<bf16_decode>);
template __global__ void hip::entry<attend_rows<bf16_decode, 64>, work<bf16_decode>>(work<bf16_decode>);
template __global__ void hip::entry<attend_rows<fnuz, 16>, work<fnuz>>(work<fnuz>);
template __global__ void hip::entry<attend_rows<ocp, 16>, work<ocp>>(work<ocp>);
#if defined(__gfx942__) || defined(__gfx950__)
template __global__ void
    hip::entry<attend_rows<own_fp8_decode, 16>, work<own_fp8_decode>>(work<own_fp8_decode>);
#endif
template __global__ void hip::entry<decode_planner<bf16_decode>, work<bf16_decode>>(work<bf16_decode>);
template __global__ void hip::entry<decode_merger<bf16_decode>, work<bf16_decode>>(work<bf16_decode>);
