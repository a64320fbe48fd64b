// SPDX-License-Identifier: MIT
// Attention of one query row in double precision, straight from the formula, and how far rounding may stray from it.
//
//   s[i] = logit(scale * key_scale[i] * (q . k[i]))        tokens i that the row sees and that have a page; -infinity hides
//   l    = sum of e^s[i], and e^sink where there is one
//   o[d] = sum of e^s[i] * value_scale[i] * v[i][d] / l    zero where no token is seen
//   lse  = log l                                           -infinity where no token is seen
//
// This folder includes no header of the library: only standard headers, arrays of numbers and sizes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace oracle {

/// Tokens of one sequence and head. Tokens without a page are there as numbers that must not matter.
struct context
{
    int key_dim   = 0;
    int value_dim = 0;
    std::vector<float> keys;   // [token][key_dim], as stored
    std::vector<float> values; // [token][value_dim]
    std::vector<double> key_scales, value_scales;
    std::vector<char> present;
};

/// What an implementation may round besides its result.
struct attention_rounding
{
    double probability = 0.0; // relative, at most: half a step at 1 of the type that probabilities have
    double least       = 0.0; // absolute: half of that type's smallest step
    double query       = 0.0; // relative, of the query's elements
    double least_query = 0.0; // absolute, of each, as a part of the row's largest element
    double logit       = 0.0; // absolute, of a logit that a functor has changed
};

/// The keys that a query row sees, and what becomes of its scores.
struct attention_rule
{
    double scale       = 1.0;
    std::int64_t first = 0; // tokens [first, last)
    std::int64_t last  = 0;
    bool has_sink      = false;
    double sink        = 0.0;
};

struct attention_row
{
    std::vector<double> out;
    std::vector<double> slack;    // the most that out may be off, before it is rounded to the output type
    std::vector<double> variance; // what rounding the probabilities does on average: the mean square
    double lse       = -std::numeric_limits<double>::infinity();
    double lse_slack = 0.0;
    bool empty       = true;
};

namespace detail {

/// Rounding to nearest moves a number by at most half a step; on average the root of the mean square is this much of
/// it, where mantissas are spread as logarithms are.
inline constexpr double mean_of_half_step = 0.4248;

struct seen_token
{
    std::int64_t at = 0;
    double score    = 0.0;
    double drift    = 0.0; // absolute error of the score
};

template <class Logit>
std::vector<seen_token> score_tokens(context const& c, std::vector<double> const& query,
                                     attention_rule const& rule, attention_rounding const& rounding,
                                     Logit const& logit)
{
    std::vector<seen_token> tokens;
    double const step = std::ldexp(1.0, -24);
    double largest    = 0.0;
    for (double const element : query) {
        largest = std::max(largest, std::fabs(element));
    }
    for (std::int64_t i = std::max<std::int64_t>(rule.first, 0); i < rule.last; ++i) {
        if (c.present[static_cast<std::size_t>(i)] == 0) {
            continue;
        }
        float const* const key = &c.keys[static_cast<std::size_t>(i * c.key_dim)];
        double product = 0.0, size = 0.0, keys = 0.0;
        for (int d = 0; d < c.key_dim; ++d) {
            double const one = query[static_cast<std::size_t>(d)] * static_cast<double>(key[d]);
            product += one;
            size += std::fabs(one);
            keys += std::fabs(static_cast<double>(key[d]));
        }
        double const by    = rule.scale * c.key_scales[static_cast<std::size_t>(i)];
        double const score = logit(by * product, i);
        if (std::isinf(score) && score < 0.0) {
            continue; // hidden
        }
        double const drift = by * size * (rounding.query + (c.key_dim + 16) * step)
                             + by * keys * largest * rounding.least_query
                             + 4.0 * step * (std::fabs(by * product) + std::fabs(score)) + rounding.logit
                             + 16.0 * step;
        tokens.push_back({i, score, drift});
    }
    return tokens;
}

} // namespace detail

/// Attention of a query row over the tokens of a context. `logit(score, token)` is what becomes of a scaled score.
template <class Logit>
attention_row attend(context const& c, std::vector<double> const& query, attention_rule const& rule,
                     attention_rounding const& rounding, Logit const& logit)
{
    auto const width = static_cast<std::size_t>(c.value_dim);
    attention_row row;
    row.out = row.slack = row.variance = std::vector<double>(width, 0.0);
    auto const tokens                  = detail::score_tokens(c, query, rule, rounding, logit);
    if (tokens.empty()) {
        return row;
    }
    row.empty  = false;
    double top = rule.has_sink ? rule.sink : tokens[0].score;
    for (auto const& token : tokens) {
        top = std::max(top, token.score);
    }
    double sum = rule.has_sink ? std::exp(rule.sink - top) : 0.0;
    double own = 0.0, drift = 0.0;
    for (auto const& token : tokens) {
        double const weight = std::exp(token.score - top);
        sum += weight;
        own += weight;
        drift += weight * token.drift;
    }
    drift /= sum;
    // additions of fp32 numbers: one for each 16 tokens, some more where partial results meet
    double const additions = (static_cast<double>(tokens.size()) / 16.0 + 64.0) * std::ldexp(1.0, -23);
    for (auto const& token : tokens) {
        double const weight     = std::exp(token.score - top) / sum;
        double const scale      = c.value_scales[static_cast<std::size_t>(token.at)];
        double const rest       = rounding.probability + std::expm1(token.drift + drift) + additions;
        double const mean       = rounding.probability * detail::mean_of_half_step;
        float const* const from = &c.values[static_cast<std::size_t>(token.at * c.value_dim)];
        for (std::size_t d = 0; d < width; ++d) {
            double const stored = static_cast<double>(from[d]);
            double const part   = weight * scale * stored;
            row.out[d] += part;
            row.slack[d] += std::fabs(part) * rest + std::fabs(stored) * rounding.least / own;
            row.variance[d] += part * part * mean * mean;
        }
    }
    row.lse       = top + std::log(sum);
    row.lse_slack = drift + std::ldexp(1.0 + std::fabs(row.lse), -20);
    return row;
}

} // namespace oracle
