// SPDX-License-Identifier: MIT
// What kernel/merge_states.hpp refuses.
#include "kvloom/kernel/merge_states.hpp"

using namespace kvloom;

struct problem : merge_problem
{
    // refuses: merge_states: the head size must be 64, 128, 256 or 512
    // wrong: static constexpr int dim = 96;
    // wrong: static constexpr int dim = 1024;
    static constexpr int dim = 64;

    // refuses: merge_states: states have logarithms
    // wrong: using lse = no_lse;
    using lse = base2_lse;
};

/// The asserts of the kernel alone: its arguments need a logarithm too.
int const lanes = state_merger<problem>::lanes;
