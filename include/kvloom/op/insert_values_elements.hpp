// SPDX-License-Identifier: MIT
// A V row spread over a whole wave, element by element: what is left where slots are not consecutive.
#pragma once

#include "kvloom/core/convert.hpp"
#include "kvloom/layout/view.hpp"
#include "kvloom/op/insert.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Elements lane, lane + wave, lane + 2 * wave, ... of a row, so that neighbouring lanes write neighbouring
/// vectors.
template <class Wave, int Dim>
struct spread_row
{
    static constexpr int count = (Dim + Wave::size - 1) / Wave::size;

    u16 bits[count];
};

template <class Wave, class T, int Dim>
KVLOOM_FN spread_row<Wave, Dim> fetch_elements(Wave wave, row_span<T const, Dim> source, bool present)
{
    spread_row<Wave, Dim> got{};
    KVLOOM_UNROLL
    for (int q = 0; q < got.count; ++q) {
        int const dim = wave.lane() + q * Wave::size;
        if (present && (Dim % Wave::size == 0 || dim < Dim)) {
            got.bits[q] = wave.template load<u16>(source.data + dim);
        }
    }
    return got;
}

template <class Overflow, class T, class Wave, int Dim, class Cache, class Quantiser>
KVLOOM_FN void scatter_elements(Wave wave, spread_row<Wave, Dim> const& row, Cache const& cache,
                                token_place where, int head, Quantiser const& quantiser)
{
    using element = typename Cache::layout::element;
    using bits    = conditional_t<sizeof(element) == 1, u8, u16>;
    if (!where.valid) {
        return;
    }
    KVLOOM_UNROLL
    for (int q = 0; q < row.count; q += 2) {
        bool const two   = q + 1 < row.count;
        u32 stored       = u32(row.bits[q]) | (two ? u32(row.bits[two ? q + 1 : q]) << 16 : 0U);
        constexpr int at = 8 * int(sizeof(element)); // bits to an element
        if constexpr (!is_same_v<element, T> || !is_same_v<Quantiser, as_it_is>) {
            float_pair const pair  = widen_pair<T>(stored);
            vec<float, 2> const by = quantiser(vec<float, 2>{{pair.low, pair.high}});
            stored                 = narrow_pair<element, Overflow>(by[0], by[1]);
        }
        int const dim = wave.lane() + q * Wave::size;
        if (Dim % Wave::size == 0 || dim < Dim) {
            wave.store(cache.address(where, head, dim), bits(stored));
        }
        if (two && (Dim % Wave::size == 0 || dim + Wave::size < Dim)) {
            wave.store(cache.address(where, head, dim + Wave::size), bits(stored >> at));
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace kvloom
