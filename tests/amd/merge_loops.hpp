// SPDX-License-Identifier: MIT
// How often the waves of merge_states go through its loops, at most.
#pragma once

#include "amd/loops.hpp"
#include "kvloom/kernel/merge_states.hpp"

namespace kvloom_test {

/// A tile of lanes has a row, some dims at a time, state after state.
template <class Problem>
struct loops_of<kvloom::state_merger<Problem>, kvloom::merge_args<Problem>>
{
    using kernel = kvloom::state_merger<Problem>;

    static loop_passes count(kernel const&, kvloom::merge_args<Problem> const& args, std::int64_t const waves)
    {
        std::int64_t const parts = (Problem::dim + 4 * kernel::lanes - 1) / (4 * kernel::lanes);
        std::int64_t const rows  = std::int64_t{args.rows} * args.out.heads * kernel::lanes / 64;
        return {(waves + rows) * (1 + parts * (1 + args.count))};
    }
};

} // namespace kvloom_test
