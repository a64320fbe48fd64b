// SPDX-License-Identifier: MIT
// The machines whose waves the host runs.
#pragma once

#include "kvloom/group/arch.hpp"

namespace kvloom {
inline namespace v0 {
namespace host {

/// Waves of 64 lanes, of which cross-lane steps at distance 4 and 8 are mirrors of rows and half rows.
struct cdna
{
    static constexpr int wave_size  = 64;
    static constexpr bool quad_rows = true;
    static constexpr arch_id arch   = arch_id::host_cdna;
    static constexpr bool flushes   = false; ///< whether matrix products take subnormal numbers for zeros
};

/// The same with products that flush, as gfx90a's do.
struct cdna2 : cdna
{
    static constexpr bool flushes = true;
};

/// The same with the matrix units of CDNA4.
struct cdna4 : cdna
{
    static constexpr arch_id arch = arch_id::host_cdna4;
};

/// Warps of 32 lanes.
struct warp32
{
    static constexpr int wave_size  = 32;
    static constexpr bool quad_rows = false;
    static constexpr arch_id arch   = arch_id::host_warp32;
    static constexpr bool flushes   = false;
};

/// The same with bulk copies to shared memory, as NVIDIA has them from compute capability 9.0 on.
struct sm_90 : warp32
{
    static constexpr arch_id arch = arch_id::host_sm_90;
};

/// Waves of 32 lanes without a matrix unit.
struct rdna : warp32
{
    static constexpr arch_id arch = arch_id::host_rdna;
};

} // namespace host
} // namespace v0
} // namespace kvloom
