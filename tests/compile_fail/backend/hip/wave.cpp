// SPDX-License-Identifier: MIT
// What backend/hip/wave.hpp refuses.
#include "kvloom/backend/hip.hpp"

using namespace kvloom;

KVLOOM_DEVICE void exchanges(hip::wave wave, u32 word)
{
    // refuses: shift: within a row of 16 lanes
    // wrong: wave.shift<16>(word, site::here());
    // wrong: wave.shift<-16>(word, site::here());
    // wrong: wave.shift<0>(word, site::here());
    wave.shift<15>(word, site::here());

    // refuses: rotate: within a row of 16 lanes
    // wrong: wave.rotate<0>(word, site::here());
    // wrong: wave.rotate<16>(word, site::here());
    wave.rotate<15>(word, site::here());

    // refuses: broadcast_row: within a row of 16 lanes
    // wrong: wave.broadcast_row<16>(word, site::here());
    // wrong: wave.broadcast_row<-1>(word, site::here());
    wave.broadcast_row<15>(word, site::here());
}

// bit_cast refuses the same values with a sentence of its own.
// unreached: dpp: values of 4 bytes
