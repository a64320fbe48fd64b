// SPDX-License-Identifier: MIT
// What op/query.hpp refuses.
#include "kvloom/core/bf16.hpp"
#include "kvloom/core/fp16.hpp"
#include "kvloom/core/fp8.hpp"
#include "kvloom/op/query.hpp"
#include "machine.hpp"

using namespace kvloom;

using query_tile  = attention_tile<mfma_16x16x16<bf16>>;
using query_order = vector_order<bf16, 128, 4>;

template <class T>
void load(machine_wave wave, T const* rows)
{
    load_query<query_tile, query_order, 128>(wave, rows, [&](int) { return rows; });
}

void loads(machine_wave wave)
{
    // refuses: load_query: query rows hold bf16 or fp16
    // wrong: load<fp8_e4m3>(wave, nullptr);
    // wrong: load<fp8_e4m3_fnuz>(wave, nullptr);
    load<fp16>(wave, nullptr);
}
