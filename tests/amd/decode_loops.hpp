// SPDX-License-Identifier: MIT
// How often the waves of paged decode go through its loops, at most. What a sequence holds is known to the device alone: as
// many tokens as its table has room for are counted.
#pragma once

#include "amd/loops.hpp"
#include "kvloom/kernel/paged_decode.hpp"

#include <algorithm>

namespace kvloom_test {

template <class Problem>
std::int64_t tokens_of(kvloom::detail::decode_work<Problem> const& work)
{
    return std::int64_t{work.args.table.most_pages()} * kvloom::decode_types<Problem>::page_size;
}

template <class Problem>
std::int64_t nodes_of(kvloom::detail::decode_work<Problem> const& work)
{
    return std::min<std::int64_t>(work.sizes.nodes,
                                  (tokens_of(work) >> kvloom::detail::least_node_shift) + 1);
}

/// A pass looks for the length of a node, in few instructions, as often as a number has bits.
inline constexpr std::int64_t bits = 32;

template <>
struct loops_of<kvloom::detail::clear_counters, kvloom::detail::counters_at>
{
    static loop_passes count(kvloom::detail::clear_counters const&,
                             kvloom::detail::counters_at const& counters, std::int64_t const waves)
    {
        return {waves + counters.count / 64};
    }
};

/// A thread has the sequences of a 256th, and looks in all for the one in which a block begins.
template <class Problem>
struct loops_of<kvloom::decode_planner<Problem>, kvloom::detail::decode_work<Problem>>
{
    static loop_passes count(kvloom::decode_planner<Problem> const&,
                             kvloom::detail::decode_work<Problem> const& work, std::int64_t const waves)
    {
        std::int64_t const sequences = work.sizes.sequences / 256 + 1;
        std::int64_t const blocks    = work.sizes.blocks / 256 + 1;
        return {waves * (2 * sequences + blocks * (1 + bits) + ordinary_passes),
                waves * 2 * sequences * bits};
    }
};

/// A block's waves share the steps of a node, of 16 tokens or more, between them, but for those side by side over rows. Of
/// each node a wave takes a step more where they do not divide, hands over and folds, part by part, and merges; each
/// segment and each sequence is a pass too.
template <class Problem, int Rows, int Lanes>
struct loops_of<kvloom::decode_through_registers<Problem, Rows, Lanes>, kvloom::detail::decode_work<Problem>>
{
    using kernel = kvloom::decode_through_registers<Problem, Rows, Lanes>;
    using shape  = typename kernel::shape;

    static loop_passes count(kernel const&, kvloom::detail::decode_work<Problem> const& work,
                             std::int64_t const waves)
    {
        std::int64_t const pairs = work.sizes.pairs();
        std::int64_t const steps = pairs * shape::row_tiles * (tokens_of(work) / 16);
        std::int64_t const nodes = pairs * nodes_of(work) * shape::waves;
        std::int64_t const segments =
            pairs * shape::waves + waves * (1 + work.sizes.sequences / work.sizes.blocks);
        return {steps + nodes * (2 + 2 * shape::parts) + segments,
                (waves + shape::waves * work.sizes.sequences) * bits};
    }
};

/// A tile of lanes has a row of a pair, some dims at a time, and takes what the blocks have of it several at once.
template <class Problem>
struct loops_of<kvloom::decode_merger<Problem>, kvloom::detail::decode_work<Problem>>
{
    using kernel = kvloom::decode_merger<Problem>;

    static loop_passes count(kernel const&, kvloom::detail::decode_work<Problem> const& work,
                             std::int64_t const waves)
    {
        std::int64_t const parts    = (kernel::dims + 4 * kernel::lanes - 1) / (4 * kernel::lanes);
        std::int64_t const blocks   = kernel::layout::of(work.sizes.rows).blocks(work.sizes.pairs());
        std::int64_t const rows     = blocks * (kernel::bounds.threads / 64) + waves;
        std::int64_t const partials = nodes_of(work) + work.sizes.blocks;
        return {rows * parts * (partials / kernel::ahead + 2), rows * bits};
    }
};

} // namespace kvloom_test
