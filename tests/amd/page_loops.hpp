// SPDX-License-Identifier: MIT
// How often the waves of copy_pages and read_back go through their loops, at most: a pass for each item, or for as many as
// a wave has at once.
#pragma once

#include "amd/loops.hpp"
#include "kvloom/kernel/copy_pages.hpp"
#include "kvloom/kernel/read_back.hpp"

namespace kvloom_test {

template <class Problem>
struct loops_of<kvloom::copy_vectors<Problem>, kvloom::detail::copy_pages_work<Problem>>
{
    using kernel = kvloom::copy_vectors<Problem>;

    static loop_passes count(kernel const&, kvloom::detail::copy_pages_work<Problem> const& work,
                             std::int64_t const waves)
    {
        return {waves + std::int64_t{work.spans} * kernel::vectors / (64 * kernel::flight)};
    }
};

template <class Problem>
struct loops_of<kvloom::copy_lines<Problem>, kvloom::detail::copy_pages_work<Problem>>
{
    using kernel = kvloom::copy_lines<Problem>;

    static loop_passes count(kernel const&, kvloom::detail::copy_pages_work<Problem> const& work,
                             std::int64_t const waves)
    {
        return {waves + std::int64_t{work.spans} * kernel::groups * kernel::lanes / 64};
    }
};

template <class Problem>
struct loops_of<kvloom::read_lines<Problem>, kvloom::detail::read_back_work<Problem>>
{
    using kernel = kvloom::read_lines<Problem>;

    static loop_passes count(kernel const&, kvloom::detail::read_back_work<Problem> const& work,
                             std::int64_t const waves)
    {
        return {waves + std::int64_t{work.items} * kernel::lanes / 64};
    }
};

} // namespace kvloom_test
