// SPDX-License-Identifier: MIT
// Where each kind of row of the fused insert goes, and with what scale.
#pragma once

#include "kvloom/kernel/insert_rows.hpp"
#include "kvloom/op/insert.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// A problem's limit as a type, for `limited`.
template <class Problem>
struct limit_of
{
    static constexpr float value = insert_types<Problem>::limit;
};

/// The quantiser of K and V for a dequant scale, with the contract's clamp where it has one of its own.
template <class Problem>
KVLOOM_FN auto cache_quantiser(float dequant_scale)
{
    using types      = insert_types<Problem>;
    auto const plain = types::scaling::quantiser(dequant_scale);
    if constexpr (types::numerics::limit != 0.0F) {
        return limited<remove_const_t<decltype(plain)>, limit_of<Problem>>{plain};
    } else {
        return plain;
    }
}

/// The given dequant scale of a head; 1 where the contract has none.
template <class Problem, class Wave>
KVLOOM_FN float given_scale([[maybe_unused]] Wave wave, [[maybe_unused]] float const* from,
                            [[maybe_unused]] int head)
{
    using types = insert_types<Problem>;
    if constexpr (types::given_scales) {
        return bit_cast<float>(wave.template load<u32>(from + (types::head_scales ? head : 0)));
    } else {
        return 1.0F;
    }
}

/// The scale of a row that finds its own, from its largest magnitude.
template <class Problem>
KVLOOM_FN float scale_of_row(float largest)
{
    using types = insert_types<Problem>;
    return found_scale<typename types::scaling, limit_of<Problem>>(largest);
}

/// The scales of K and V rows that are given: read once, by the constructor, where all heads have the same.
template <class Problem, class Wave>
struct given_row_scales
{
    using types = insert_types<Problem>;

    Wave wave;
    insert_args<Problem> const& args;
    float of_keys;
    float of_values;

    KVLOOM_FN given_row_scales(Wave own, insert_args<Problem> const& all)
        : wave(own), args(all), of_keys(first(all.key_scale, all.k.heads > 0)),
          of_values(first(all.value_scale, types::values_by_rows && all.v.heads > 0))
    {}

    /// The scale of a head's row of K or V; that of other rows is not used.
    KVLOOM_FN float of(row_kind kind, [[maybe_unused]] int head) const
    {
        bool const value = types::values_by_rows && kind == row_kind::value;
        if constexpr (types::head_scales) {
            bool const scaled = value || kind == row_kind::key;
            return scaled ? given_scale<Problem>(wave, value ? args.value_scale : args.key_scale, head)
                          : 1.0F;
        } else {
            return value ? of_values : of_keys;
        }
    }

private:
    KVLOOM_FN float first(float const* from, bool wanted) const
    {
        return wanted && !types::head_scales ? given_scale<Problem>(wave, from, 0) : 1.0F;
    }
};

/// y as it enters a cache of Element: through the activation type first where the contract says so.
template <class Problem, class Element, class Tile>
KVLOOM_FN row<Tile, Problem::head_dim> as_stored(row<Tile, Problem::head_dim> const& y)
{
    using types = insert_types<Problem>;
    if constexpr (types::numerics::keys_through_activation
                  && !is_same_v<Element, typename types::activation>) {
        return round_to<typename types::activation>(y);
    } else {
        return y;
    }
}

/// Whether the largest magnitude of a row is that of the rounded row.
template <class Scaling, scale_source = Scaling::source>
inline constexpr bool scale_of_rounded = false;
template <class Scaling>
inline constexpr bool scale_of_rounded<Scaling, scale_source::found> = Scaling::through_activation;

/// The largest magnitudes from which K and V rows find their scales: what a lane holds of one row.
template <class Problem, class Tile>
KVLOOM_FN float held_for_scale(row<Tile, Problem::head_dim> const& y)
{
    if constexpr (scale_of_rounded<typename insert_types<Problem>::scaling>) {
        return largest_held(round_to<typename insert_types<Problem>::activation>(y));
    } else {
        return largest_held(y);
    }
}

/// Writes a row of K or V to its cache. `Rounded`: the row already has values of the activation type.
template <class Problem, bool Rounded, class Tile, class Cache, class Quantiser>
KVLOOM_FN void put_cached(Tile tile, Cache const& cache, token_place where, int head,
                          row<Tile, Problem::head_dim> y, Quantiser const& by)
{
    using types = insert_types<Problem>;
    if constexpr (!Rounded) {
        y = as_stored<Problem, typename types::element>(y);
    }
    insert<typename types::numerics::overflow>(tile, cache, where, head, y, by);
}

/// Writes the scale that a row of K or V has found, if it has. One lane calls for each row.
template <class Problem, class Wave>
KVLOOM_FN void put_scale([[maybe_unused]] Wave wave, [[maybe_unused]] scale_view const& scales,
                         [[maybe_unused]] token_place where, [[maybe_unused]] int head,
                         [[maybe_unused]] float scale)
{
    if constexpr (insert_types<Problem>::found_scales) {
        if (where.valid) {
            wave.store(scales.address(where, head), bit_cast<u32>(scale));
        }
    }
}

template <class Problem, class Tile>
KVLOOM_FN void put_index_key(Tile tile, insert_args<Problem> const& args, token_place where,
                             row<Tile, Problem::head_dim> const& y)
{
    using types = insert_types<Problem>;
    insert<typename types::numerics::overflow>(tile, args.index_keys, where, 0,
                                               as_stored<Problem, typename types::index_key>(y));
}

template <class Problem, class Tile>
KVLOOM_FN void put_index_query(Tile tile, insert_args<Problem> const& args, int token, int head,
                               row<Tile, Problem::head_dim> const& y)
{
    using types       = insert_types<Problem>;
    auto const target = args.index_q_out.row(token, head);
    if constexpr (types::numerics::index_queries_through_activation) {
        store<typename types::numerics::overflow>(tile, target, round_to<typename types::activation>(y));
    } else {
        store<typename types::numerics::overflow>(tile, target, y);
    }
}

/// The dequant scale of fp8 queries; 1 where there is none.
template <class Problem, class Wave>
KVLOOM_FN float query_scale([[maybe_unused]] Wave wave, [[maybe_unused]] insert_args<Problem> const& args)
{
    if constexpr (insert_types<Problem>::numerics::query_scaling::source == scale_source::given) {
        return bit_cast<float>(wave.template load<u32>(args.query_scale));
    } else {
        return 1.0F;
    }
}

template <class Problem, class Tile>
KVLOOM_FN void put_query(Tile tile, row_span<typename insert_types<Problem>::query, Problem::head_dim> target,
                         row<Tile, Problem::head_dim> y, [[maybe_unused]] float scale)
{
    using types    = insert_types<Problem>;
    using numerics = typename types::numerics;
    if constexpr (numerics::queries_through_activation
                  && !is_same_v<typename types::query, typename types::activation>) {
        y = round_to<typename types::activation>(y);
    }
    if constexpr (numerics::query_scaling::source == scale_source::given) {
        auto const quantiser = numerics::query_scaling::quantiser(scale);
        KVLOOM_UNROLL
        for (int k = 0; k < row<Tile, Problem::head_dim>::parts; ++k) {
            y.part[k] = quantiser(y.part[k]);
        }
    }
    store<typename numerics::overflow>(tile, target, y);
}

} // namespace detail
} // namespace v0
} // namespace kvloom
