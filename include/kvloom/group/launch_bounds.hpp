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
    /// Every wave calls `dependency()` before it reads or writes what an earlier kernel of the stream may still be
    /// working on, so the launch may begin before that kernel has ended (NVIDIA from compute capability 9.0 on).
    bool dependent = false;
};

namespace detail {

template <class... Types>
struct make_void
{
    using type = void;
};

template <class Kernel, class = void>
inline constexpr bool is_kernel_v = false;
template <class Kernel>
inline constexpr bool
    is_kernel_v<Kernel, typename make_void<decltype(Kernel::bounds.threads), typename Kernel::shared>::type> =
        true;

} // namespace detail

/// Whether a functor declares what a launch needs: `static constexpr launch_bounds bounds`, and `struct shared` with
/// what its blocks hold in shared memory (empty: nothing). It is called as `operator()(Block const&, Args const&) const`.
template <class Kernel>
inline constexpr bool is_kernel_v = detail::is_kernel_v<Kernel>;

} // namespace v0
} // namespace kvloom
