// SPDX-License-Identifier: MIT
// Groups of lanes: the wave of a block and the tiles into which it falls.
#pragma once

#include "kvloom/core/config.hpp"
#include "kvloom/core/types.hpp"
#include "kvloom/group/order.hpp"

namespace kvloom {
inline namespace v0 {

/// `Lanes` neighbouring lanes of a wave that hold rows together. The tile owns the order of a row's chunks.
///
/// A row of more chunks than lanes is held in parts: lane r holds chunk `part * Lanes + order::chunk(r)`.
template <class Wave, int Lanes, class Rotary>
struct tile_group
{
    static_assert(Lanes >= 4 && (Lanes & (Lanes - 1)) == 0,
                  "tile: the number of lanes must be a power of two, at least 4");
    static_assert(Lanes <= Wave::size, "tile: wider than the machine's wave");

    using wave_type = Wave;
    using rotary    = Rotary;
    using order     = tile_order<Wave::quad_rows, Lanes, Rotary::dims>;

    static constexpr int size     = Lanes;
    static constexpr int per_wave = Wave::size / Lanes;

    Wave wave;

    /// This lane's number in the tile.
    KVLOOM_FN int rank() const { return wave.lane() & (Lanes - 1); }

    /// The tile's number in its wave.
    KVLOOM_FN int index() const { return wave.lane() / Lanes; }

    /// The chunk that this lane holds of part `part` of a row.
    KVLOOM_FN int chunk(int part = 0) const { return part * Lanes + order::chunk(rank()); }
};

template <class T>
struct is_tile
{
    static constexpr bool value = false;
};
template <class Wave, int Lanes, class Rotary>
struct is_tile<tile_group<Wave, Lanes, Rotary>>
{
    static constexpr bool value = true;
};
template <class T>
inline constexpr bool is_tile_v = is_tile<T>::value;

/// The tile of `Lanes` lanes of a block to which the calling lane belongs, for rows of which RoPE turns
/// `Rotary::dims` dims.
template <int Lanes, class Rotary = rotary<0>, class Block>
KVLOOM_FN tile_group<typename Block::wave_type, Lanes, Rotary> tile(Block const& block)
{
    return {block.wave()};
}

} // namespace v0
} // namespace kvloom
