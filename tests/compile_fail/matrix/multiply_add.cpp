// SPDX-License-Identifier: MIT
// What matrix/multiply_add.hpp refuses.
#include "kvloom/core/bf16.hpp"
#include "kvloom/matrix/multiply_add.hpp"
#include "machine.hpp"

using namespace kvloom;

using narrow_wave = host::wave<host::warp32>;

template <class Unit, class Wave>
void multiply(Wave wave)
{
    multiply_add<Unit>(wave, a_operand<Unit>{}, b_operand<Unit>{}, accumulator<Unit>{});
}

void products(machine_wave wave, narrow_wave narrow)
{
    // refuses: multiply_add: the unit is not one of this machine
    // wrong: multiply<mma_16x8<bf16>>(wave);
    multiply<mfma_16x16x16<bf16>>(wave);

    // refuses: multiply_add: the unit is not one of this machine
    // wrong: multiply<mfma_16x16x16<bf16>>(narrow);
    // wrong: multiply<mfma_16x16x32<bf16>>(narrow);
    multiply<mma_16x8<bf16>>(narrow);
}

// Only what is compiled for an AMD processor has the first, only what is compiled for an NVIDIA one the second.
// unreached: multiply_add: no such unit on this processor
// unreached: multiply_add: no such unit on this processor
