// SPDX-License-Identifier: MIT
// Runs of consecutive slots, found on the device in a window of tokens.
#pragma once

#include "kvloom/core/math.hpp"
#include "kvloom/core/types.hpp"

namespace kvloom {
inline namespace v0 {

/// What a wave knows of the slots of a window of `Size` tokens and its neighbours. Bit and lane i stand for
/// token `window - 1 + i`; lanes from 2 * Size on stand for none.
template <int Size>
struct slot_window
{
    static_assert(Size == 8 || Size == 16, "slot_window: a window is the 8 or 16 tokens of a 16-byte vector");

    i64 slot   = -1; ///< this lane's token; negative: store nothing
    u32 starts = 0;  ///< tokens of the window at which a whole vector of consecutive slots begins
    u32 lone   = 0;  ///< tokens that have a slot, are led from this window, and belong to no whole vector
};

/// Sorts the tokens of the window that begins at token `window` into whole vectors and lone tokens.
///
/// A token leads if its slot begins a vector or does not follow its predecessor's; each token is led from
/// exactly one window, the one that holds its nearest leader, and that window's wave stores it. A vector may
/// begin anywhere in the window. `slot_of(token)` gives the slot for 0 <= token < `count`. Every lane of the
/// wave calls. @cost one 64-bit shuffle, three ballots
template <int Size, class Wave, class SlotOf>
KVLOOM_FN slot_window<Size> find_runs(Wave wave, int window, int count, SlotOf const& slot_of,
                                      site at = site::here())
{
    int const lane  = wave.lane();
    int const token = window - 1 + lane;
    slot_window<Size> found;
    if (token >= 0 && token < count && lane < 2 * Size) {
        found.slot = slot_of(token);
    }
    i64 const before        = wave.previous(found.slot, at);
    bool const has_slot     = found.slot >= 0;
    bool const begins       = has_slot && found.slot % Size == 0;
    bool const follows      = lane > 0 && has_slot && before >= 0 && found.slot == before + 1 && !begins;
    u32 const follow        = u32(wave.ballot(follows, at));
    u32 const valid         = u32(wave.ballot(has_slot, at));
    constexpr u32 in_window = ((1U << Size) - 1) << 1;
    constexpr u32 tail      = (1U << (Size - 1)) - 1;

    u32 whole = 0;
    for (u32 begin = u32(wave.ballot(begins, at)) & in_window; begin != 0; begin &= begin - 1) {
        int const i = count_trailing_zeros(begin);
        if (((follow >> i >> 1) & tail) == tail) { // i <= Size, so the vector ends before lane 2 * Size
            found.starts |= 1U << i;
            whole |= ((2U << (Size - 1)) - 1) << i;
        }
    }
    u32 const leaders = ~follow & in_window;
    if (leaders != 0) {
        int const first = count_trailing_zeros(leaders);
        int const last  = Size + count_trailing_zeros(~(follow >> Size >> 1));
        u32 const led   = (last >= 31 ? ~0U : (2U << last) - 1) & ~((1U << first) - 1);
        found.lone      = led & ~1U & valid & ~whole;
    }
    return found;
}

} // namespace v0
} // namespace kvloom
