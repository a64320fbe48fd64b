// SPDX-License-Identifier: MIT
// The machines that kvloom knows by name.
#pragma once

#include "kvloom/core/config.hpp"

namespace kvloom {
inline namespace v0 {

/// A machine: the CPU models of a CDNA wave, of one whose matrix units are CDNA4's, of an RDNA wave, of an NVIDIA warp, and
/// of one that copies in bulk; AMD processors; NVIDIA architectures.
///
/// Tuning is a constexpr function of it: the host calls it with the id found at run time, a kernel with its
/// own.
enum class arch_id {
    host_cdna,
    host_cdna4,
    host_rdna,
    host_warp32,
    host_sm_90,
    gfx90a,
    gfx942,
    gfx950,
    gfx11,
    gfx12,
    sm_80,
    sm_90
};

/// Whether this is a machine of AMD's, or its model, whose waves have 32 lanes.
KVLOOM_FN constexpr bool is_narrow(arch_id arch)
{
    return arch == arch_id::host_rdna || arch == arch_id::gfx11 || arch == arch_id::gfx12;
}

/// Whether a machine copies whole spans to shared memory in bulk.
KVLOOM_FN constexpr bool copies_in_bulk(arch_id arch)
{
    return arch == arch_id::host_sm_90 || arch == arch_id::sm_90;
}

/// Chiplets with caches of their own to which a machine deals the blocks of a grid in turn: those of a whole MI300X or
/// MI355X.
KVLOOM_FN constexpr int chiplets_of(arch_id arch)
{
    return arch == arch_id::gfx942 || arch == arch_id::gfx950 ? 8 : 1;
}

} // namespace v0
} // namespace kvloom
