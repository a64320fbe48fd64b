// SPDX-License-Identifier: MIT
// What a kernel declares about its launch.
#pragma once

namespace kvloom {
inline namespace v0 {

/// Threads of a block, and how many of its blocks (NVIDIA) or waves (AMD) one multiprocessor or SIMD must be
/// able to hold, from which the compilers derive their register budget.
struct launch_bounds
{
    int threads                 = 128;
    int blocks_a_multiprocessor = 1;
    int waves_a_simd            = 1;
};

} // namespace v0
} // namespace kvloom
