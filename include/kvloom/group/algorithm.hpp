// SPDX-License-Identifier: MIT
// Collectives over tiles: exchange, broadcast, any, all_reduce, and sums of several rows at once.
#pragma once

#include "kvloom/core/math.hpp"
#include "kvloom/core/types.hpp"
#include "kvloom/core/vec.hpp"
#include "kvloom/group/tile.hpp"

namespace kvloom {
inline namespace v0 {

/// Value of the lane whose rank is this lane's rank ^ Mask.
///
/// Collective: every lane of the wave calls. @cost one cross-lane move (on CDNA a DPP operand for masks 1, 2,
/// 3, 7, 8, 15)
template <int Mask, class Tile, class T>
KVLOOM_FN T exchange(Tile tile, T value, site at = site::here())
{
    static_assert(is_tile_v<Tile>, "exchange: the first argument must be a tile");
    static_assert(Mask > 0 && Mask < Tile::size, "exchange: the mask must keep the lane in its tile");
    return tile.wave.template exchange<Mask>(value, at);
}

/// Value of the tile's lane of rank `Lane`, in every lane of the tile; T is one or several words of 4 bytes. Every lane of
/// the wave calls. @cost one cross-lane move a word
template <int Lane, class Tile, class T>
KVLOOM_FN T broadcast(Tile tile, T value, site at = site::here())
{
    static_assert(is_tile_v<Tile>, "broadcast: the first argument must be a tile");
    static_assert(Lane >= 0 && Lane < Tile::size, "broadcast: no such lane in the tile");
    static_assert(sizeof(T) % 4 == 0, "broadcast: the value must consist of words of 4 bytes");
    if constexpr (sizeof(T) > 4 || __is_class(T)) {
        return detail::with_each_word(value, [&](u32 word) { return broadcast<Lane>(tile, word, at); });
    } else if constexpr (Tile::size == 16) {
        return tile.wave.template broadcast_row<Lane>(value, at);
    } else {
        return tile.wave.shuffle(value, tile.index() * Tile::size + Lane, at);
    }
}

/// Whether the predicate holds in any lane of the tile. Every lane of the wave calls.
template <class Tile>
KVLOOM_FN bool any(Tile tile, bool predicate, site at = site::here())
{
    static_assert(is_tile_v<Tile>, "any: the first argument must be a tile");
    u64 const lanes = tile.wave.ballot(predicate, at) >> (tile.index() * Tile::size);
    return Tile::size == 64 ? lanes != 0 : (lanes & ((u64(1) << (Tile::size & 63)) - 1)) != 0;
}

namespace detail {

/// Lane mask of the reduction step at `distance`: where the lanes of a quad (of half a row) agree already,
/// CDNA may read any of them, and mirrors are DPP operands.
template <class Wave>
KVLOOM_FN constexpr int step_mask(int distance)
{
    return Wave::quad_rows && distance == 4 ? 7 : Wave::quad_rows && distance == 8 ? 15 : distance;
}

template <int Distance, class Tile, class T, class Combine>
KVLOOM_FN T reduce_from(Tile tile, T value, Combine combine, site at)
{
    if constexpr (Distance < Tile::size) {
        constexpr int mask = step_mask<typename Tile::wave_type>(Distance);
        value              = combine(value, tile.wave.template exchange<mask>(value, at));
        return reduce_from<2 * Distance>(tile, value, combine, at);
    } else {
        return value;
    }
}

/// Combines over the quads of a tile; lane i of quad 1 (of quad 0 in a tile of one quad) gets the result over
/// lanes i of all quads.
template <class Tile, class Combine>
KVLOOM_FN float combine_quads(Tile tile, float value, Combine combine, site at)
{
    if constexpr (Tile::wave_type::quad_rows && Tile::size >= 8) {
        value =
            combine(value, tile.wave.template rotate<4>(value, at)); // right in odd quads, which is enough
        if constexpr (Tile::size >= 16) {
            value = combine(value, tile.wave.template rotate<8>(value, at));
        }
    } else if constexpr (Tile::size >= 8) {
        value = combine(value, tile.wave.template exchange<4>(value, at));
        if constexpr (Tile::size >= 16) {
            value = combine(value, tile.wave.template exchange<8>(value, at));
        }
    }
    if constexpr (Tile::size >= 32) {
        value = combine(value, tile.wave.template exchange<16>(value, at));
    }
    if constexpr (Tile::size >= 64) {
        value = combine(value, tile.wave.template exchange<32>(value, at));
    }
    return value;
}

} // namespace detail

/// Combines one value of each lane, pairwise at distance 1, 2, 4, ...; every lane of the tile gets the
/// result.
///
/// `combine` must be commutative. Collective: every lane of the wave calls. @cost log2(Tile::size) cross-lane
/// moves
template <class Tile, class T, class Combine>
KVLOOM_FN T all_reduce(Tile tile, T value, Combine combine, site at = site::here())
{
    static_assert(is_tile_v<Tile>, "all_reduce: the first argument must be a tile");
    return detail::reduce_from<1>(tile, value, combine, at);
}

struct plus
{
    KVLOOM_FN float operator()(float a, float b) const { return add(a, b); }
};

/// The larger of two values; of a number and a NaN, the number.
struct maximum
{
    KVLOOM_FN float operator()(float a, float b) const { return larger(a, b); }
};

/// The larger of two values that are neither negative nor NaN.
struct larger_magnitude
{
    KVLOOM_FN float operator()(float a, float b) const { return larger_size(a, b); }
};

namespace detail {

template <int Group, class Tile, int Count, class Combine>
KVLOOM_FN float sort_and_combine(Tile tile, vec<float, Count> const& values, Combine combine, site at)
{
    bool const odd    = (tile.rank() & 1) != 0;
    bool const second = (tile.rank() & 2) != 0;
    float sorted =
        combine(odd ? values[1] : values[0], tile.wave.template exchange<1>(odd ? values[0] : values[1], at));
    if constexpr (Count == 4) {
        float const upper = combine(odd ? values[3] : values[2],
                                    tile.wave.template exchange<1>(odd ? values[2] : values[3], at));
        sorted =
            combine(second ? upper : sorted, tile.wave.template exchange<2>(second ? sorted : upper, at));
    } else {
        sorted = combine(sorted, tile.wave.template exchange<2>(sorted, at));
    }
    sorted = combine_quads(tile, sorted, combine, at);
    if constexpr (Group >= 2) {
        sorted = combine(sorted, tile.wave.template exchange<1>(sorted, at));
    }
    if constexpr (Group >= 4) {
        sorted = combine(sorted, tile.wave.template exchange<2>(sorted, at));
    }
    return sorted;
}

} // namespace detail

/// Lanes from this rank on hold what was sorted into the lanes of a quad: that of value i the i-th of them.
template <class Tile>
inline constexpr int sorted_lane = Tile::size >= 8 ? 4 : 0;

/// Combines 2 or 4 values over the tile: from `sorted_lane` on, one result a lane; of two, each in two lanes.
///
/// The first two steps sort the values into the lanes of a quad, so that the later steps, and what is done with the
/// results, are done once for all of them. `combine` must be commutative: the bits are those of plain reductions.
/// Neighbouring `Group` results (the parts of one row) are combined pairwise.
///
/// Collective: every lane of the wave calls. @cost for four values 1 + log2(Tile::size) cross-lane moves
template <int Group, class Tile, int Count, class Combine>
KVLOOM_FN float reduce_sorted(Tile tile, vec<float, Count> values, Combine combine, site at = site::here())
{
    static_assert(is_tile_v<Tile>, "reduce_sorted: the first argument must be a tile");
    static_assert(Count == 2 || Count == 4, "reduce_sorted: the number of values must be 2 or 4");
    static_assert(Count % Group == 0, "reduce_sorted: the values must fall into whole groups");
    return detail::sort_and_combine<Group>(tile, values, combine, at);
}

/// `Count` sorted values, each in every lane of the tile. Every lane of the wave calls. @cost a broadcast each
template <int Count, int Group = 1, class Tile, class T>
KVLOOM_FN vec<T, Count / Group> spread_sorted(Tile tile, T sorted, site at = site::here())
{
    constexpr int base = sorted_lane<Tile>;
    if constexpr (Count / Group == 1) {
        return {{{broadcast<base>(tile, sorted, at)}}};
    } else if constexpr (Count / Group == 2) {
        return {{{broadcast<base>(tile, sorted, at), broadcast<base + Group>(tile, sorted, at)}}};
    } else {
        return {{{broadcast<base>(tile, sorted, at), broadcast<base + 1>(tile, sorted, at),
                  broadcast<base + 2>(tile, sorted, at), broadcast<base + 3>(tile, sorted, at)}}};
    }
}

/// Combines `Count` (1, 2 or 4) values over the tile, then applies `finish` (a root and a division, say) to each
/// result, once for all of them: every lane gets the `Count / Group` results. `combine` and `Group` as in reduce_sorted.
///
/// Collective: every lane of the wave calls. @cost for four values 1 + log2(Tile::size) cross-lane moves and four
/// broadcasts
template <int Group, class Tile, int Count, class Combine, class Finish>
KVLOOM_FN vec<float, Count / Group> reduce_rows(Tile tile, vec<float, Count> values, Combine combine,
                                                Finish finish, site at = site::here())
{
    static_assert(is_tile_v<Tile>, "reduce_rows: the first argument must be a tile");
    static_assert(Count == 1 || Count == 2 || Count == 4,
                  "reduce_rows: the number of values must be 1, 2 or 4");
    static_assert(Count % Group == 0, "reduce_rows: the values must fall into whole groups");
    if constexpr (Count == 1) {
        return {{finish(all_reduce(tile, values[0], combine, at))}};
    } else {
        float const sorted = detail::sort_and_combine<Group>(tile, values, combine, at);
        return spread_sorted<Count, Group>(tile, finish(sorted), at);
    }
}

/// reduce_rows by addition.
template <int Group, class Tile, int Count, class Finish>
KVLOOM_FN vec<float, Count / Group> sum_rows(Tile tile, vec<float, Count> values, Finish finish,
                                             site at = site::here())
{
    return reduce_rows<Group>(tile, values, plus{}, finish, at);
}

} // namespace v0
} // namespace kvloom
