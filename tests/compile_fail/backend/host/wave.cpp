// SPDX-License-Identifier: MIT
// What backend/host/wave.hpp refuses.
#include "kvloom/backend/host/wave.hpp"
#include "kvloom/core/vec.hpp"

using namespace kvloom;

using wave = host::wave<host::cdna>;
using warp = host::wave<host::warp32>;

struct three_bytes
{
    char byte[3];
};

struct counted
{
    counted(counted const&);
    int number;
};

void exchanges(wave w, u32 word)
{
    // refuses: exchange: the value must have 4 bytes
    // wrong: w.exchange<1>(u64(word));
    w.exchange<1>(word);

    // refuses: exchange: the mask must name another lane of the wave
    // wrong: w.exchange<0>(word);
    // wrong: w.exchange<64>(word);
    w.exchange<63>(word);

    // refuses: shift: the value must have 4 bytes
    // wrong: w.shift<1>(u64(word));
    w.shift<1>(word);

    // refuses: shift: the distance must stay within a row of 16 lanes
    // wrong: w.shift<16>(word);
    // wrong: w.shift<-16>(word);
    w.shift<15>(word);

    // refuses: rotate: the value must have 4 bytes
    // wrong: w.rotate<1>(u64(word));
    w.rotate<1>(word);

    // refuses: rotate: the distance must be 1 to 15
    // wrong: w.rotate<0>(word);
    // wrong: w.rotate<16>(word);
    w.rotate<15>(word);

    // refuses: broadcast_row: the value must have 4 bytes
    // wrong: w.broadcast_row<0>(u64(word));
    w.broadcast_row<0>(word);

    // refuses: broadcast_row: no such lane in a row of 16
    // wrong: w.broadcast_row<16>(word);
    // wrong: w.broadcast_row<-1>(word);
    w.broadcast_row<15>(word);
}

void reads(wave w, u64 wide, counted const& number)
{
    // refuses: shuffle: the value must have 4 or 8 bytes
    // wrong: w.shuffle(vec<u32, 4>{}, 0);
    w.shuffle(wide, 0);

    // refuses: from_lane: the value must have 4 or 8 bytes
    // wrong: w.from_lane(vec<u32, 4>{}, 0);
    w.from_lane(wide, 0);

    // refuses: previous: the value must have 4 or 8 bytes
    // wrong: w.previous(vec<u32, 4>{});
    w.previous(wide);

    // refuses: wave: what lanes exchange must be trivially copyable, of 4 or 8 bytes
    // wrong: w.shuffle(number, 0);
    w.shuffle(number.number, 0);
}

u32 transposes(warp w, u32 pair)
{
    // refuses: transpose8: only warps of 32 lanes have it
    // wrong: return wave{}.transpose8(pair);
    return w.transpose8(pair);
}

void accesses(wave w, void* memory, counted const& number)
{
    // refuses: access: the value must have 1, 2, 4, 8 or 16 bytes
    // wrong: w.store(memory, three_bytes{});
    // wrong: w.load<three_bytes>(memory);
    w.store(memory, u16(0));

    // refuses: access: the value must be trivially copyable
    // wrong: w.store(memory, number);
    w.store(memory, number.number);
}

template <class T>
T hint(wave w, T const* from)
{
    return w.load_hint(from);
}

void hints(wave w)
{
    // refuses: load_hint: a 32 or 64-bit signed integer
    // wrong: hint<u32>(w, nullptr);
    // wrong: hint<u64>(w, nullptr);
    // wrong: hint<short>(w, nullptr);
    hint<int>(w, nullptr);
}
