// SPDX-License-Identifier: MIT
// How often the waves of the fused insert go through its loops, at most.
#pragma once

#include "amd/loops.hpp"
#include "kvloom/kernel/qk_norm_rope_insert.hpp"

namespace kvloom_test {

/// Heads that a wave goes through one after the other, where a norm spans them all.
template <class Problem>
std::int64_t heads_in_turn(kvloom::insert_args<Problem> const& args)
{
    bool const all = kvloom::is_same_v<typename Problem::norm_scope, kvloom::over_vector>;
    return all ? std::int64_t{args.q.heads} + args.k.heads : 0;
}

/// A wave has one row, or one row a tile.
template <class Problem>
struct loops_of<kvloom::insert_short<Problem>, kvloom::insert_launch<Problem>>
{
    static loop_passes count(kvloom::insert_short<Problem> const&,
                             kvloom::insert_launch<Problem> const& launch, std::int64_t const waves)
    {
        return {waves * (1 + heads_in_turn(launch.args)), waves * ordinary_passes};
    }
};

/// Query waves take four batches of rows, and where the position is at fault as many stores; waves of V the runs of a
/// window of at most 16 tokens, or its lone tokens with at most four heads each.
template <class Problem, kvloom::insert_shape Shape>
struct loops_of<kvloom::insert_long<Problem, Shape>, kvloom::insert_launch<Problem>>
{
    static loop_passes count(kvloom::insert_long<Problem, Shape> const&,
                             kvloom::insert_launch<Problem> const& launch, std::int64_t const waves)
    {
        auto const& plan              = launch.plan;
        std::int64_t const tiles      = plan.waves / plan.by_tile.divisor;
        std::int64_t const of_values  = tiles * plan.value_items;
        std::int64_t const most_lones = 16 * 4;
        return {of_values * most_lones + (waves - of_values) * (4 + heads_in_turn(launch.args)),
                waves * ordinary_passes};
    }
};

} // namespace kvloom_test
