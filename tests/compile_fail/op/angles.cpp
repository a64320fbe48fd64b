// SPDX-License-Identifier: MIT
// What op/angles.hpp refuses.
#include "kvloom/core/fp8.hpp"
#include "kvloom/op/angles.hpp"
#include "machine.hpp"

using namespace kvloom;

void read(machine_tile tile)
{
    // refuses: fetch_angles: a table holds bf16, fp16 or float
    // wrong: load_angles(tile, angle_table<fp8_e4m3>{}, i64(0));
    // wrong: load_angles(tile, angle_table<double>{}, i64(0));
    load_angles(tile, angle_table<float>{}, i64(0));
}
