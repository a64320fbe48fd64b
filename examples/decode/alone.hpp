// SPDX-License-Identifier: MIT
// Decode alone: plain code fills the pages, one plan and one launch attend; scores as they are, and by a functor.
#pragma once

#include "pages.hpp"

#include <cmath>

namespace example {

struct plain_scores : kvloom::decode_problem
{
    using key_cache   = key_layout;
    using value_cache = value_layout;
};

/// Documents of `size` tokens follow each other in a sequence: a token sees its own document alone, and what lies further
/// back in it less.
struct within_document
{
    static constexpr bool changes = true;

    int size      = 1;
    float penalty = 0.0F; ///< for each token of distance

    KVLOOM_FN float operator()(float logit, kvloom::score_place const& at) const
    {
        bool const same = at.query_position / size == at.key_position / size;
        return same ? logit - penalty * float(at.query_position - at.key_position) : -INFINITY;
    }
};

struct own_scores : plain_scores
{
    using logits = within_document;
};

/// Sequences and the same in pages.
struct paged_sequences
{
    std::vector<int> page_ids = make_page_ids();
    std::vector<plain::sequence> numbers{sequences};
    std::vector<bf16> keys   = std::vector<bf16>(cache_elements, not_a_number);
    std::vector<bf16> values = std::vector<bf16>(cache_elements, not_a_number);

    explicit paged_sequences(std::vector<int> const& lengths)
    {
        constexpr int dim = plain::dim;
        auto const table  = table_of(page_ids.data());
        for (int s = 0; s < sequences; ++s) {
            std::size_t const rows = std::size_t(lengths[s]) * plain::kv_heads;
            auto const k           = plain::random_values(rows * dim, unsigned(10 + s), 2.0F);
            auto const v           = plain::random_values(rows * dim, unsigned(20 + s), 1.0F);
            for (std::size_t row = 0; row < rows; ++row) { // [token][kv head]
                i64 const slot = table.slot(s, i64(row) / plain::kv_heads, page_size);
                i64 const span =
                    slot / page_size * page_stride + i64(row) % plain::kv_heads * i64(key_layout::elements);
                int const at = int(slot % page_size);
                for (int d = 0; d < dim; ++d) {
                    keys[span + key_layout::offset(at, d)]     = k[row * dim + d];
                    values[span + value_layout::offset(at, d)] = v[row * dim + d];
                }
                numbers[s].keys.push_back(plain::copied(&k[row * dim]));
                numbers[s].values.push_back(plain::copied(&v[row * dim]));
            }
        }
    }
};

/// One decode of `count` query tokens to a sequence; `score` says in plain code what `logits` computes.
template <class Problem, class Stream, class Score>
bool decode_alone(char const* const what, Stream const& stream, std::vector<int> const& lengths,
                  int const count, typename Problem::logits const& logits, Score const& score)
{
    paged_sequences const paged(lengths);
    auto const rows = plain::random_values(std::size_t(sequences) * count * query_stride, 5, 2.0F);
    array<bf16> const query(rows);
    array<bf16> const out(std::vector<bf16>(rows.size(), not_a_number));
    array<bf16> const keys(paged.keys);
    array<bf16> const values(paged.values);
    array<int> const page_ids(paged.page_ids);
    array<int> const length(lengths);

    auto args         = decode_arguments<Problem>(query, out, keys, values, page_ids, length);
    args.tokens.count = count;
    args.logits       = logits;
    workspace<Problem> const memory(stream, args);
    memory.give_to(args);
    require(kvloom::paged_decode<Problem>::plan(stream, args));   // once a step
    require(kvloom::paged_decode<Problem>::launch(stream, args)); // in each layer

    auto const got = out.values();
    plain::worst_error error;
    for (int s = 0; s < sequences; ++s) {
        for (int t = 0; t < count; ++t) {
            for (int h = 0; h < plain::heads; ++h) {
                i64 const at       = (i64(s) * count + t) * query_stride + i64(h) * plain::dim;
                int const position = lengths[s] - count + t;
                error.take(plain::relative_error(&got[at],
                                                 plain::attention(plain::copied(&rows[at]), paged.numbers[s],
                                                                  h, position, softmax_scale, score)));
            }
        }
    }
    return plain::report(what, lengths, count, error);
}

template <class Stream>
bool show_decode_alone(Stream const& stream)
{
    auto const as_it_is = [](double const logit, int, int) { return logit; };
    return decode_alone<plain_scores>("decode alone", stream, {1, 45, 300}, 1, {}, as_it_is);
}

template <class Stream>
bool show_own_scores(Stream const& stream)
{
    within_document const rule{32, 0.125F};
    auto const score = [&](double const logit, int const query, int const key) {
        return query / rule.size == key / rule.size ? logit - double(rule.penalty) * (query - key)
                                                    : -plain::worst_error::infinity;
    };
    return decode_alone<own_scores>("decode, own scores: documents of 32", stream, {98, 45, 300}, 4, rule,
                                    score); // queries of the first lie in two documents
}

} // namespace example
