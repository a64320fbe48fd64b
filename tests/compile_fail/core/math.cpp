// SPDX-License-Identifier: MIT
// What core/math.hpp refuses.
#include "kvloom/core/math.hpp"

kvloom::u32 reverse(kvloom::u32 word)
{
    // refuses: permute_bytes: Selector must be four digits from 0 to 7
    // wrong: return kvloom::permute_bytes<0x0128>(word, word);
    // wrong: return kvloom::permute_bytes<0x40123>(word, word);
    return kvloom::permute_bytes<0x0123>(word, word);
}
