// SPDX-License-Identifier: MIT
// What core/types.hpp refuses.
#include "kvloom/core/types.hpp"

// refuses: bit_cast: both types must have the same size
// wrong: kvloom::u32 const bits = kvloom::bit_cast<kvloom::u32>(1.0);
kvloom::u32 const bits = kvloom::bit_cast<kvloom::u32>(1.0F);

// No compiler that has HIP or CUDA has other sizes.
// unreached: kvloom: unexpected integer sizes
