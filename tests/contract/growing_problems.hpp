// SPDX-License-Identifier: MIT
// What tests of insert and decode have in common: their problems, and how their sequences grow.
#pragma once

#include "contract/growing_cache.hpp"
#include "contract/own_contracts.hpp"

namespace kvloom_test {

/// K and V as they come: no norm, no rotation.
template <class Activation, class Cache, int Dim>
struct as_it_comes : kvloom::insert_problem
{
    using activation = Activation;
    using cache      = Cache;
    using norm       = kvloom::no_norm;

    static constexpr int head_dim   = Dim;
    static constexpr int rotary_dim = 0;
};

template <class Cache, class Numerics>
struct stored_with : kvloom::insert_problem
{
    using cache    = Cache;
    using numerics = Numerics;
};

/// Some grow over the ends of pages and of nodes, one from nothing.
inline growth across_pages()
{
    return usual_growth({0, 13, 14, 253, 254, 62});
}
inline std::vector<std::int64_t> const crossed = {1, 15, 16, 17, 63, 64, 65, 255, 256, 257};

} // namespace kvloom_test
