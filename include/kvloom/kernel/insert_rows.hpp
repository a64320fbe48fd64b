// SPDX-License-Identifier: MIT
// How the fused insert prepares a row: norm over the head or over the whole vector, rotation, and the rounding
// points of the contract.
#pragma once

#include "kvloom/kernel/insert_angles.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// A row kind that the compiler knows.
template <row_kind Kind>
struct kind_constant
{
    static constexpr row_kind value = Kind;

    KVLOOM_FN constexpr operator row_kind() const { return Kind; }
};

/// Calls f with a constant of the row's kind; where q, k and index rows are all normalised alike, with one
/// constant for all of them. `kind` is the same for all lanes of the wave, and value only where V leaves row by
/// row.
template <class Problem, class F>
KVLOOM_FN auto with_kind([[maybe_unused]] row_kind kind, F const& f)
{
    using types = insert_types<Problem>;
    if constexpr (types::values_by_rows) {
        if (kind == row_kind::value) {
            return f(kind_constant<row_kind::value>{});
        }
    }
    if constexpr (types::alike) {
        return f(kind_constant<row_kind::query>{});
    } else {
        if (kind == row_kind::query) {
            return f(kind_constant<row_kind::query>{});
        }
        if constexpr (types::index::present) {
            if (kind != row_kind::key) {
                return f(kind_constant<row_kind::index_key>{});
            }
        }
        return f(kind_constant<row_kind::key>{});
    }
}

/// The weights of a norm as loaded.
template <class Problem, class Tile>
struct stored_gain
{
    using types      = insert_types<Problem>;
    using activation = typename types::activation;

    stored_row<activation, Tile, types::dim> weights;

    /// Zeros where `from` is null: a norm without weights.
    KVLOOM_FN static stored_gain fetch(Tile tile, activation const* from)
    {
        constexpr bool always =
            types::alike
            && types::template weighted<
                typename types::
                    q_norm> && (!types::values_by_rows || types::template weighted<typename types::v_norm>);
        row_span<activation const, types::dim> const row{from};
        return {fetch_constant(tile, row, always || from != nullptr)};
    }

    /// The factor of each element, or no_gain.
    template <class Norm>
    KVLOOM_FN auto factor() const
    {
        if constexpr (is_same_v<Norm, unit_offset>) {
            return one_plus(widen(weights));
        } else if constexpr (is_same_v<Norm, plain_gain>) {
            return widen(weights);
        } else {
            return no_gain{};
        }
    }
};

/// The norm of a loaded row: `r` from inverse_rms (not used without a norm).
template <class Problem, class Norm, class Tile, class Gain>
KVLOOM_FN row<Tile, Problem::head_dim> normalised(Tile tile, row<Tile, Problem::head_dim> y, float r,
                                                  Gain const& gain)
{
    using types    = insert_types<Problem>;
    using numerics = typename types::numerics;
    using T        = typename types::activation;
    if constexpr (!is_same_v<Norm, no_norm>) {
        if constexpr (numerics::round_before_gain && types::template weighted<Norm>) {
            y = weighted(tile, round_to<T>(scaled(tile, y, r, no_gain{})), gain);
        } else {
            y = scaled(tile, y, r, gain);
        }
        if constexpr (numerics::round_after_norm) {
            y = round_to<T>(y);
        }
    }
    return y;
}

/// The rotation of a row by its token's angles.
template <class Problem, class Tile>
KVLOOM_FN row<Tile, Problem::head_dim> rotated(Tile tile, row<Tile, Problem::head_dim> const& y,
                                               angles<Tile> const& turn, site at)
{
    using types    = insert_types<Problem>;
    using rounding = conditional_t<types::numerics::rotate_in_activation,
                                   rotation_in<typename types::activation>, fused_rotation>;
    if constexpr (!types::turns) {
        return y;
    } else if constexpr (is_same_v<typename types::pairing, neox_pairs>) {
        return rope_neox<rounding>(tile, y, turn, at);
    } else {
        return rope_interleaved<rounding>(tile, y, turn, at);
    }
}

/// 1 / rms of several loaded rows, each by itself; nothing where `Norms` says that none of them is normalised.
template <bool Norms, class T, int Count, class Tile, int Dim>
KVLOOM_FN vec<float, Count> row_factors(Tile tile, stored_row<T, Tile, Dim> const (&stored)[Count], float eps,
                                        site at)
{
    if constexpr (!Norms) {
        return {};
    } else {
        rows<Tile, Dim, Count> x;
        KVLOOM_UNROLL
        for (int i = 0; i < Count; ++i) {
            x[i] = widen(stored[i]);
        }
        return inverse_rms(tile, x, eps, at);
    }
}

/// Sums that are added pairwise at distance 1, 2, 4, ... in the order in which they come, like a binary counter:
/// as if all were known and padded with zeros.
struct pairwise_sum
{
    static constexpr int levels = 8;

    float waiting[levels] = {}; ///< sums of 1, 2, 4, ... terms, where the bit of `count` is set
    int count             = 0;

    KVLOOM_FN void push(float sum)
    {
        bool carried = true;
        KVLOOM_UNROLL
        for (int i = 0; i < levels; ++i) {
            bool const taken = (count >> i & 1) != 0;
            float const both = add(waiting[i], sum);
            waiting[i]       = carried && !taken ? sum : waiting[i];
            sum              = carried && taken ? both : sum;
            carried          = carried && taken;
        }
        ++count;
    }

    KVLOOM_FN float total() const
    {
        float sum = 0.0F;
        KVLOOM_UNROLL
        for (int i = 0; i < levels; ++i) {
            sum = (count >> i & 1) != 0 ? add(waiting[i], sum) : sum;
        }
        return sum;
    }
};

/// Heads that a norm over the vector may span.
inline constexpr int most_vector_heads = 1024;

/// 1 / rms over all heads of one token of `source`, in every lane of the tile, as if the heads were one long row.
///
/// Every lane of the wave calls; tiles may name different tokens. @cost one read of the token's heads by each tile
template <class Tile, class T, int Dim, class Heads>
KVLOOM_FN float vector_factor(Tile tile, head_rows<T const, Dim, Heads> const& source, int token, float eps,
                              site at)
{
    pairwise_sum sums;
    for (int first = 0; first < source.heads; first += Tile::size) {
        float mine = 0.0F; // the sum of head first + rank
        for (int i = 0; i < Tile::size && first + i < source.heads; ++i) {
            auto const x    = widen(fetch(tile, source.row(token, first + i)));
            float const sum = row_sum_of_squares(tile, x, at);
            mine            = i == tile.rank() ? sum : mine;
        }
        sums.push(all_reduce(tile, mine, plus{}, at));
    }
    float const share = divide(1.0F, float(source.heads * Dim));
    return reciprocal(square_root(fma(sums.total(), share, eps)));
}

} // namespace detail
} // namespace v0
} // namespace kvloom
