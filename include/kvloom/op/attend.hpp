// SPDX-License-Identifier: MIT
// One step of attention: 16 query rows of a wave against the tokens of a step.
#pragma once

#include "kvloom/op/query.hpp"
#include "kvloom/op/softmax.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// Scores of a step: of each row of the lane, its tokens of each product.
template <class Tile, int Groups>
struct score_fragment
{
    float of[Tile::lane_rows][Groups][Tile::per_lane];
};

/// Q K^T. Keys are asked for by bundles of dims.
template <class Tile, class Wave, class Step, int Dim>
KVLOOM_FN score_fragment<Tile, Step::groups> multiply_keys(Wave wave, Step& step,
                                                           query_fragment<Tile, Dim> const& query, site at)
{
    typename Tile::sums sums[Step::groups][Tile::score_tiles] = {};
    KVLOOM_UNROLL
    for (int b = 0; b < Dim / Tile::depth / Step::key_slices; ++b) {
        auto const keys = step.keys(b);
        KVLOOM_UNROLL
        for (int i = 0; i < Step::key_slices; ++i) {
            KVLOOM_UNROLL
            for (int t = 0; t < Step::groups; ++t) {
                KVLOOM_UNROLL
                for (int h = 0; h < Tile::score_tiles; ++h) {
                    sums[t][h] = Tile::multiply(wave, keys.at[i][t][h], query.slice[b * Step::key_slices + i],
                                                sums[t][h], at);
                }
            }
        }
    }
    step.keys_done();
    score_fragment<Tile, Step::groups> scores;
    KVLOOM_UNROLL
    for (int t = 0; t < Step::groups; ++t) {
        KVLOOM_UNROLL
        for (int h = 0; h < Tile::score_tiles; ++h) {
            KVLOOM_UNROLL
            for (int e = 0; e < Tile::unit::c_numbers; ++e) {
                if (Tile::counts(e)) {
                    scores.of[Tile::own_row(e)][t][Tile::own_token(h, e)] = sums[t][h][e];
                }
            }
        }
    }
    return scores;
}

/// P V, added to the accumulators.
template <class Tile, class Wave, class Step, int Dim>
KVLOOM_FN void multiply_values(Wave wave, Step& step,
                               typename Tile::row_operand const (&probabilities)[Step::groups],
                               softmax_fragment<Tile, Dim>& softmax, site at)
{
    KVLOOM_UNROLL
    for (int b = 0; b < softmax.tiles / Step::value_tiles; ++b) {
        auto const values = step.values(b);
        KVLOOM_UNROLL
        for (int i = 0; i < Step::value_tiles; ++i) {
            KVLOOM_UNROLL
            for (int t = 0; t < Step::groups; ++t) {
                auto& out = softmax.out[b * Step::value_tiles + i];
                out       = Tile::multiply(wave, values.at[i][t], probabilities[t], out, at);
            }
        }
    }
    step.values_done();
}

/// Scores of tokens that a row does not see: no power of two at all.
template <class Tile, class Step>
KVLOOM_FN void hide(Step const& step, int group, token_range const (&seen)[Tile::lane_rows],
                    score_fragment<Tile, Step::groups>& scores)
{
    KVLOOM_UNROLL
    for (int i = 0; i < Tile::per_lane * Step::groups; ++i) {
        int const token   = Step::token(i / Tile::per_lane, group, i % Tile::per_lane);
        bool const exists = step.has(token);
        KVLOOM_UNROLL
        for (int r = 0; r < Tile::lane_rows; ++r) {
            float& score = scores.of[r][i / Tile::per_lane][i % Tile::per_lane];
            score        = exists && seen[r].holds(token) ? score : -__builtin_huge_valf();
        }
    }
}

/// Scores become probabilities; says whether one has left the reference too far behind.
template <class Tile, int Groups>
KVLOOM_FN bool exponentials(score_fragment<Tile, Groups> const& scores, float const (&scale)[Tile::lane_rows],
                            float const (&top)[Tile::lane_rows], score_fragment<Tile, Groups>& probabilities,
                            float (&sum)[Tile::lane_rows])
{
    float most = no_maximum;
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        sum[r] = 0.0F;
        KVLOOM_UNROLL
        for (int i = 0; i < Tile::per_lane * Groups; ++i) {
            int const t               = i / Tile::per_lane;
            int const e               = i % Tile::per_lane;
            float const power         = fma(scores.of[r][t][e], scale[r], -top[r]);
            float const probability   = approximate_exp2(power);
            most                      = larger(most, power);
            probabilities.of[r][t][e] = probability;
            sum[r] += probability;
        }
    }
    return most > most_lag<typename Tile::element> + headroom<typename Tile::element>;
}

/// The largest score of each row that the lane holds.
template <class Tile, int Groups>
KVLOOM_FN void find_largest(score_fragment<Tile, Groups> const& scores, float const (&scale)[Tile::lane_rows],
                            float (&largest)[Tile::lane_rows])
{
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        largest[r] = no_maximum;
        KVLOOM_UNROLL
        for (int i = 0; i < Tile::per_lane * Groups; ++i) {
            float const score = scores.of[r][i / Tile::per_lane][i % Tile::per_lane];
            largest[r]        = larger(largest[r], multiply(score, scale[r]));
        }
    }
}

/// Of each four elements the last two before the first two, if `swapped`.
template <class Tile>
KVLOOM_FN void swap_pairs(bool swapped, typename Tile::row_operand& operand)
{
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        if constexpr (sizeof(typename Tile::element) == 1) {
            KVLOOM_UNROLL
            for (int w = 0; w < Tile::words; ++w) {
                u32& word = operand[w * Tile::unit_rows + r];
                word      = swapped ? word << 16 | word >> 16 : word;
            }
        } else {
            KVLOOM_UNROLL
            for (int w = 0; w < Tile::words; w += 2) {
                u32& low         = operand[w * Tile::unit_rows + r];
                u32& high        = operand[(w + 1) * Tile::unit_rows + r];
                u32 const first  = low;
                u32 const second = high;
                low              = swapped ? second : first;
                high             = swapped ? first : second;
            }
        }
    }
}

/// Whether a score is above its row's reference.
template <class Tile, int Dim>
KVLOOM_FN bool passes(softmax_fragment<Tile, Dim> const& softmax, float const (&largest)[Tile::lane_rows])
{
    bool passed = false;
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        passed = passed || largest[r] > softmax.top[r] + headroom<typename Tile::element>;
    }
    return passed;
}

/// Scores become probabilities against a reference that is near enough: it is moved before, or, where it may lag and a
/// score has left it too far behind, after a first try.
template <class Tile, class Wave, int Groups, int Dim>
KVLOOM_FN void exponentiate(Wave wave, score_fragment<Tile, Groups> const& scores,
                            float const (&scale)[Tile::lane_rows], bool fresh,
                            softmax_fragment<Tile, Dim>& softmax, score_fragment<Tile, Groups>& probabilities,
                            float (&sum)[Tile::lane_rows], site at)
{
    constexpr float lag = most_lag<typename Tile::element>;
    constexpr bool lags = lag != 0.0F;
    float largest[Tile::lane_rows];
    if (!lags || fresh) {
        find_largest<Tile>(scores, scale, largest);
    }
    if (fresh) {
        refer_to<Tile>(wave, softmax, largest, at);
    } else if constexpr (!lags) {
        if (wave.ballot(passes<Tile>(softmax, largest), at) != 0) {
            raise<Tile>(wave, softmax, largest, at);
        }
    }
    [[maybe_unused]] bool const behind = exponentials<Tile>(scores, scale, softmax.top, probabilities, sum);
    if constexpr (lags) {
        if (wave.ballot(behind, at) != 0) {
            find_largest<Tile>(scores, scale, largest);
            raise<Tile>(wave, softmax, largest, at);
            (void)exponentials<Tile>(scores, scale, softmax.top, probabilities, sum);
        }
    }
}

/// Probabilities as operands of the second product.
template <class Tile, class Step, class Weigh>
KVLOOM_FN void weigh_and_pack(score_fragment<Tile, Step::groups> const& probabilities, int group,
                              Weigh const& weigh, typename Tile::row_operand (&operands)[Step::groups])
{
    KVLOOM_UNROLL
    for (int t = 0; t < Step::groups; ++t) {
        float numbers[Tile::lane_rows][Tile::per_lane];
        KVLOOM_UNROLL
        for (int r = 0; r < Tile::lane_rows; ++r) {
            KVLOOM_UNROLL
            for (int e = 0; e < Tile::per_lane; ++e) {
                numbers[r][e] = weigh(Tile::per_lane * t + e, probabilities.of[r][t][e]);
            }
        }
        operands[t] = Tile::pack(numbers);
        if constexpr (Step::swaps) { // values come in the order of their tokens
            swap_pairs<Tile>(group >= 2, operands[t]);
        }
    }
}

} // namespace detail

/// What a step of attention is told beside the operands. `scale` turns the products of a lane's row into powers of two.
template <class Tile>
struct step_rules
{
    float scale[Tile::lane_rows]; ///< above zero
    token_range seen[Tile::lane_rows];
    /// The tokens whose values are numbers; those of others count as zeros, whatever memory holds.
    token_range present;
};

/// Products that are scores as they are, and probabilities that meet values as they are.
struct as_computed
{
    static constexpr bool changes = false;

    KVLOOM_FN float operator()(int, float probability) const { return probability; }
};

/// One step: scores, probabilities, and their part of the output. `fresh`: the first that the fragment takes in. Where
/// `all` is true every row sees every token, and `rules.seen` and `rules.present` are not looked at. `change(r, i, power)`
/// gives the power of two that stands for a score of the lane's row r and token i of the step; `weigh(i, probability)` the
/// factor of that token's value.
///
/// The reference of the softmax lags: it moves only if a score has passed it by more than most_lag, and then for all rows
/// of the wave. Collective; every lane of the wave calls, with the same `fresh` and `all`.
/// @cost rows * tokens * (KeyDim + ValueDim) products, an exponential a score
template <class Tile, class Wave, class Step, int KeyDim, int ValueDim, class Change, class Weigh>
KVLOOM_FN void attend(Wave wave, Step& step, query_fragment<Tile, KeyDim> const& query, bool fresh, bool all,
                      step_rules<Tile> const& rules, Change const& change, Weigh const& weigh,
                      softmax_fragment<Tile, ValueDim>& softmax, site at = site::here())
{
    int const group = Tile::group(wave.lane());
    auto scores     = detail::multiply_keys<Tile>(wave, step, query, at);
    float scale[Tile::lane_rows];
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        scale[r] = rules.scale[r];
        if constexpr (Change::changes) {
            KVLOOM_UNROLL
            for (int i = 0; i < Tile::per_lane * Step::groups; ++i) {
                float& score = scores.of[r][i / Tile::per_lane][i % Tile::per_lane];
                score        = change(r, i, multiply(score, scale[r]));
            }
            scale[r] = 1.0F;
        }
    }
    if (!all) {
        detail::hide<Tile>(step, group, rules.seen, scores);
    }
    detail::score_fragment<Tile, Step::groups> probabilities;
    float sum[Tile::lane_rows];
    detail::exponentiate<Tile>(wave, scores, scale, fresh, softmax, probabilities, sum, at);
    typename Tile::row_operand operands[Step::groups];
    detail::weigh_and_pack<Tile, Step>(probabilities, group, weigh, operands);
    KVLOOM_UNROLL
    for (int r = 0; r < Tile::lane_rows; ++r) {
        softmax.sum[r] += sum[r];
    }
    step.begin_values();
    if (!all) {
        step.clear_values(rules.present);
    }
    detail::multiply_values<Tile>(wave, step, operands, softmax, at);
}

} // namespace v0
} // namespace kvloom
