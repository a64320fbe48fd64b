// SPDX-License-Identifier: MIT
// How often the waves of a kernel go through its loops, at most: what the estimate of instructions multiplies.
#pragma once

#include "amd/estimate.hpp"

#include <stdexcept>

namespace kvloom_test {

/// Passes of a wave through the loops of a kernel that says nothing else.
inline constexpr std::int64_t ordinary_passes = 16;

/// Whether a kernel says how often its waves loop: `static std::int64_t passes(Args const&, std::int64_t waves)`.
template <class Kernel, class Args>
constexpr auto says_passes(int) -> decltype(Kernel::passes(Args(), std::int64_t{}), true)
{
    return true;
}
template <class Kernel, class Args>
constexpr bool says_passes(long)
{
    return false;
}

/// Of the kernels of tests; the library's are specialisations, in the headers *_loops.hpp of this folder.
template <class Kernel, class Args>
struct loops_of
{
    static loop_passes count(Kernel const&, [[maybe_unused]] Args const& args, std::int64_t const waves)
    {
        if (demangled_name<Kernel>().rfind("kvloom::v", 0) == 0) {
            throw std::runtime_error("nothing says how often " + demangled_name<Kernel>() + " loops");
        }
        if constexpr (says_passes<Kernel, Args>(0)) {
            return {Kernel::passes(args, waves)};
        } else {
            return {waves * ordinary_passes};
        }
    }
};

} // namespace kvloom_test
