// SPDX-License-Identifier: MIT
// insert_values: V rows from memory into a cache whose vectors run along slots, whole vectors where slots are
// consecutive.
#pragma once

#include "kvloom/op/insert_values_strips.hpp"
#include "kvloom/op/insert_values_tiles.hpp"

namespace kvloom {
inline namespace v0 {

/// How a machine turns a run of V rows into vectors: with a matrix transpose `Width` strips of 32 dims of `Heads`
/// heads an item, without one a tile of lanes a head.
template <class Wave, int Dim, int Heads, int Width = 1>
using value_split =
    conditional_t<Wave::has_transpose, value_strips<Dim, Heads, Width>, value_tiles<Wave::size, Dim>>;

/// Writes item `item` of the window of tokens that begins at `window` (a multiple of Split::window<T>).
///
/// Items 0 .. Split::items(heads) - 1 together write V of all heads of every token that is led from the
/// window (slot_runs.hpp). Rows are read only for tokens below `count`; `slot_of(token)` negative: nothing is
/// stored for that token. Consecutive slots that fill a vector leave as whole 16-byte vectors; other tokens
/// element by element, so no store touches another token's bytes. Every lane of the wave calls with the same
/// arguments. `rule`: see same_for_all. No shared memory.
template <class Split, class Overflow = saturate, class Wave, class T, int Dim, class HeadsAre, class Cache,
          class SlotOf, class Rule>
KVLOOM_FN void insert_values(Wave wave, head_rows<T const, Dim, HeadsAre> const& source, Cache const& cache,
                             int window, int count, int item, SlotOf const& slot_of, Rule const& rule,
                             site at = site::here())
{
    static_assert(sizeof(T) == 2, "insert_values: rows are bf16 or fp16");
    static_assert(Cache::layout::vector_axis == axis::slot,
                  "insert_values: for layouts whose vectors run along slots; use insert");
    static_assert(Cache::layout::dim == Dim, "insert_values: the rows' length is not the cache's head size");
    Split::template write<Overflow>(wave, source, cache, window, count, item, slot_of, rule, at);
}

/// Writes V of one token and one head element by element, one wave a row: the shortest chain from load to
/// store.
///
/// `find_place()` gives the token's place and is called with the row's loads in flight. Every lane of the
/// wave calls with the same arguments. Where the place is not valid nothing is written; the row is read all
/// the same.
template <class Overflow = saturate, class Wave, class T, int Dim, class Cache, class FindPlace, class Rule>
KVLOOM_FN void insert_value_row(Wave wave, row_span<T const, Dim> source, Cache const& cache, int head,
                                FindPlace const& find_place, Rule const& rule, site at = site::here())
{
    static_assert(Cache::layout::dim == Dim,
                  "insert_value_row: the row's length is not the cache's head size");
    auto const elements     = detail::fetch_elements(wave, source, true);
    auto const whole        = detail::fetch_whole<Rule>(wave, source, true);
    token_place const where = find_place();
    auto const quantiser =
        detail::quantiser_of(detail::whole_row_tile<Wave, Dim>{wave}, whole, head, rule, at);
    detail::scatter_elements<Overflow, T>(wave, elements, cache, where, head, quantiser);
    if (wave.lane() == 0) {
        detail::record(rule, wave, where, head, quantiser);
    }
}

} // namespace v0
} // namespace kvloom
