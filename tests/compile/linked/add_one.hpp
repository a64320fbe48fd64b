// SPDX-License-Identifier: MIT
// A kernel that both files of a program launch, by a function of each.
#pragma once

#include "support/machines.hpp"

struct add_args
{
    int* numbers;
};

/// Adds one to the number of each thread, and exchanges it with the neighbour's.
struct add_one
{
    static constexpr kvloom::launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, add_args const& a) const
    {
        auto const tile = kvloom::tile<16>(block);
        int* const mine = a.numbers + block.index() * Block::threads + block.thread();
        *mine           = kvloom::exchange<1>(tile, *mine) + 1;
    }
};

void launch_in_first(kvloom_test::device_array<int> const& numbers);
void launch_in_second(kvloom_test::device_array<int> const& numbers);
