// SPDX-License-Identifier: MIT
// V into vectors along slots on waves of quad rows: a tile of lanes turns one head's run in registers,
// without any exchange.
#pragma once

#include "kvloom/group/row.hpp"
#include "kvloom/op/insert_values_elements.hpp"
#include "kvloom/op/slot_runs.hpp"

namespace kvloom {
inline namespace v0 {

/// One item is one window of as many heads as the wave has tiles of Dim / 8 lanes. A lane holds one chunk of
/// each token of a run and writes eight vectors, one a dim.
template <int WaveSize, int Dim>
struct value_tiles
{
    KVLOOM_FN static constexpr int lanes_of(int chunks)
    {
        int lanes = 1;
        while (lanes < chunks) {
            lanes *= 2;
        }
        return lanes;
    }

    static constexpr int lanes = lanes_of(chunk_count<Dim>);
    static constexpr int heads = WaveSize / lanes;
    static_assert(lanes <= WaveSize, "value_tiles: a row must fit the wave, 8 elements a lane");

    template <class Element>
    static constexpr int window = vector_size<Element>;

    /// Items to a window.
    KVLOOM_FN static constexpr int items(int all_heads) { return (all_heads + heads - 1) / heads; }

    template <class Overflow, class Wave, class T, class HeadsAre, class Layout, class SlotOf, class Scale>
    KVLOOM_FN static void write(Wave wave, head_rows<T const, Dim, HeadsAre> const& source,
                                paged_view<Layout> const& cache, int first, int count, int item,
                                SlotOf const& slot_of, Scale const& scale, site at)
    {
        using element      = typename Layout::element;
        constexpr int size = window<element>;
        int const head     = item * heads;
        auto const found   = find_runs<size>(wave, first, count, slot_of, at);
        for (u32 starts = found.starts; starts != 0; starts &= starts - 1) {
            int const i    = count_trailing_zeros(starts);
            i64 const slot = wave.from_lane(found.slot, i, at);
            turn<Overflow>(wave, source, cache, place(cache, slot), first - 1 + i, head, scale);
        }
        for (u32 lone = found.lone; lone != 0; lone &= lone - 1) {
            int const i             = count_trailing_zeros(lone);
            token_place const where = place(cache, wave.from_lane(found.slot, i, at));
            for (int h = head; h < head + heads && h < source.heads; ++h) {
                auto const row = detail::fetch_elements(wave, source.row(first - 1 + i, h), where.valid);
                detail::scatter_elements<Overflow, T>(wave, row, cache, where, h, scale);
            }
        }
    }

private:
    template <class Overflow, class Wave, class T, class HeadsAre, class Layout, class Scale>
    KVLOOM_FN static void turn(Wave wave, head_rows<T const, Dim, HeadsAre> const& source,
                               paged_view<Layout> const& cache, token_place where, int first, int first_head,
                               Scale const& scale)
    {
        constexpr int size = window<typename Layout::element>;
        int const head     = first_head + wave.lane() / lanes;
        int const chunk    = wave.lane() % lanes;
        if (head >= source.heads || chunk >= chunk_count<Dim>) {
            return;
        }
        vec<u32, 4> held[size];
        KVLOOM_UNROLL
        for (int t = 0; t < size; ++t) {
            held[t] = wave.template load<vec<u32, 4>>(source.row(first + t, head).data + chunk * chunk_size);
        }
        constexpr int a_dim = dim_stride_v<Layout> * int(sizeof(typename Layout::element));
        char* const target  = reinterpret_cast<char*>(cache.address(where, head, chunk * chunk_size));
        KVLOOM_UNROLL
        for (int k = 0; k < chunk_size; ++k) {
            wave.store(target + k * a_dim, vector_of<Overflow, T, typename Layout::element>(held, k, scale));
        }
    }

    /// Element k of the chunk of every token of the run, as the 16 bytes of one vector.
    template <class Overflow, class T, class Element, int Size, class Scale>
    KVLOOM_FN static vec<u32, 4> vector_of(vec<u32, 4> const (&held)[Size], int k, Scale const& scale)
    {
        vec<u32, 4> words;
        auto const value = [&](int token) {
            float_pair const pair = widen_pair<T>(held[token][k / 2]);
            return scale(k % 2 == 0 ? pair.low : pair.high);
        };
        KVLOOM_UNROLL
        for (int i = 0; i < 4; ++i) {
            if constexpr (is_same_v<Element, T> && is_same_v<Scale, as_it_is>) {
                u32 const now  = held[2 * i][k / 2];
                u32 const next = held[2 * i + 1][k / 2];
                words[i]       = k % 2 == 0 ? interleave_low(now, next) : interleave_high(now, next);
            } else if constexpr (sizeof(Element) == 2) {
                words[i] = narrow_pair<Element, Overflow>(value(2 * i), value(2 * i + 1));
            } else {
                u32 const low  = narrow_pair<Element, Overflow>(value(4 * i), value(4 * i + 1));
                u32 const high = narrow_pair<Element, Overflow>(value(4 * i + 2), value(4 * i + 3));
                words[i]       = low | high << 16;
            }
        }
        return words;
    }
};

} // namespace v0
} // namespace kvloom
