// SPDX-License-Identifier: MIT
// A sequence and attention of one query as plain loops in double precision, and how far results lie apart.
#pragma once

#include "../support/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace plain {

inline constexpr int heads    = 8; ///< of queries
inline constexpr int kv_heads = 2; ///< of K and V; each serves four heads of queries

/// A sequence's keys and values, [token][kv head].
struct sequence
{
    std::vector<row> keys;
    std::vector<row> values;

    int length() const { return int(keys.size()) / kv_heads; }

    void drop(int const tokens)
    {
        keys.resize(keys.size() - std::size_t(tokens) * kv_heads);
        values.resize(values.size() - std::size_t(tokens) * kv_heads);
    }
};

/// The row that a cache or a query of bf16 holds: normalised and rotated, then rounded once.
inline row stored(kvloom::bf16 const* const from, kvloom::bf16 const* const weight,
                  kvloom::bf16 const* const turn)
{
    row x = prepared(from, weight, turn);
    for (double& value : x) {
        value = kvloom::decode(kvloom::encode<kvloom::bf16>(float(value)));
    }
    return x;
}

/// Attention of the query of `head` at `position`, which sees the keys up to its own. `score(logit, query position, key
/// position)` stands for a logit; -infinity: the key is not seen.
template <class Score>
row attention(row const& query, sequence const& of, int const head, int const position, double const scale,
              Score const& score)
{
    int const kv_head = head / (heads / kv_heads);
    std::vector<double> scores;
    for (int k = 0; k <= position; ++k) {
        row const& key = of.keys[std::size_t(k) * kv_heads + kv_head];
        double product = 0;
        for (int d = 0; d < dim; ++d) {
            product += query[d] * key[d];
        }
        scores.push_back(score(scale * product, position, k));
    }
    double const largest = *std::max_element(scores.begin(), scores.end());
    double sum           = 0;
    row out(dim);
    for (int k = 0; k <= position; ++k) {
        double const weight = std::exp(scores[k] - largest);
        row const& value    = of.values[std::size_t(k) * kv_heads + kv_head];
        sum += weight;
        for (int d = 0; d < dim; ++d) {
            out[d] += weight * value[d];
        }
    }
    for (double& value : out) {
        value /= sum;
    }
    return out;
}

/// Length of the difference of a row from what it should be, as a share of the latter's.
inline double relative_error(kvloom::bf16 const* const got, row const& want)
{
    double difference = 0;
    double size       = 0;
    for (int d = 0; d < dim; ++d) {
        double const apart = kvloom::decode(got[d]) - want[d];
        difference += apart * apart;
        size += want[d] * want[d];
    }
    return std::sqrt(difference / size);
}

/// The largest error among rows; NaN counts as infinite.
struct worst_error
{
    double of = 0;

    void take(double const error) { of = error <= of ? of : error == error ? error : infinity; }

    static constexpr double infinity = std::numeric_limits<double>::infinity();
};

/// Says how a step went; whether it went well. Probabilities and outputs are rounded to bf16 once each.
inline bool report(char const* const what, std::vector<int> const& lengths, int const queries,
                   worst_error const& error)
{
    constexpr double tolerance = 4e-3;
    bool const good            = error.of > 0 && error.of <= tolerance;
    std::string text;
    for (int const length : lengths) {
        text += ' ' + std::to_string(length);
    }
    std::printf("  %-38s%-14s %8d  %8.1e  %s\n", what, text.c_str(), queries, error.of,
                good ? "ok" : "WRONG");
    return good;
}

} // namespace plain
