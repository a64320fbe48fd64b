// SPDX-License-Identifier: MIT
// What core/fp8.hpp refuses.
#include "kvloom/core/fp8.hpp"

// refuses: encode: the overflow policy must be saturate or to_nan
// wrong: kvloom::fp8_e4m3 const one = kvloom::detail::codec<kvloom::fp8_e4m3>::encode<int>(1.0F);
kvloom::fp8_e4m3 const one = kvloom::detail::codec<kvloom::fp8_e4m3>::encode<kvloom::to_nan>(1.0F);
