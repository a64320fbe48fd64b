// SPDX-License-Identifier: MIT
// The order in which the lanes of a tile hold the chunks of a row.
#pragma once

#include "kvloom/core/config.hpp"
#include "kvloom/core/types.hpp"

namespace kvloom {
inline namespace v0 {

/// Elements of a chunk: the run of neighbouring elements that one lane holds together (16 bytes of bf16).
inline constexpr int chunk_size = 8;

/// The number of leading dims of a row that RoPE turns; a tile that will rotate says so in its type.
template <int Dims>
struct rotary
{
    static_assert(Dims >= 0 && Dims % 2 == 0, "rotary: the number of rotated dims must be even");

    static constexpr int dims = Dims;
};

/// Lane i holds chunk i.
struct natural_order
{
    KVLOOM_FN static constexpr int chunk(int lane) { return lane; }
    KVLOOM_FN static constexpr int lane(int chunk) { return chunk; }
};

/// Lanes 4-7 hold chunks 7-4, so that the chunk four further on is lane ^ 7, a DPP operand on CDNA (lane ^ 4
/// is none).
struct mirrored_order
{
    KVLOOM_FN static constexpr int chunk(int lane) { return (lane & ~3) == 4 ? lane ^ 3 : lane; }
    KVLOOM_FN static constexpr int lane(int chunk) { return (chunk & ~3) == 4 ? chunk ^ 3 : chunk; }
};

/// The order of a tile of `Lanes` lanes whose rows turn `RotaryDims` dims, on a machine with or without quad
/// rows.
template <bool QuadRows, int Lanes, int RotaryDims>
using tile_order = conditional_t<QuadRows && (Lanes == 8 || Lanes == 16) && RotaryDims == 8 * chunk_size,
                                 mirrored_order, natural_order>;

} // namespace v0
} // namespace kvloom
