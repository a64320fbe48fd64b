// SPDX-License-Identifier: MIT
// Steps of a batch: the fused insert writes K and V of new tokens, and paged decode attends with their queries.
#pragma once

#include "pages.hpp"
#include <kvloom/kernel/qk_norm_rope_insert.hpp>

namespace example {

struct loop_insert : kvloom::insert_problem
{
    using cache                     = kvloom::shuffled_cache<bf16, page_size>;
    static constexpr int head_dim   = plain::dim;
    static constexpr int rotary_dim = plain::rotary;
};

struct loop_decode : kvloom::decode_problem
{
    using key_cache   = key_layout;
    using value_cache = value_layout;
    using tokens      = kvloom::token_offsets<int>; // so that steps may differ in their query tokens
};

inline constexpr int most_queries        = 4;   ///< of a sequence in a step
inline constexpr std::size_t most_tokens = 160; ///< of a launch
inline constexpr kvloom::row_sections sections{plain::heads, plain::kv_heads, 0, 0};
inline constexpr int row_heads = sections.q + 2 * sections.kv;

/// The new tokens of a step: what the host gives to both kernels, and the queries in plain numbers.
struct new_tokens
{
    std::vector<bf16> rows; ///< [token][q | k | v]
    std::vector<i64> positions;
    std::vector<i64> slots;
    std::vector<int> lengths;
    std::vector<int> offsets{0}; ///< the first token of each sequence
    std::vector<plain::row> queries;

    int count() const { return int(slots.size()); }
};

/// A batch in the course of its requests, in plain numbers.
struct batch
{
    std::vector<plain::sequence> numbers{sequences};
    std::vector<int> page_ids = make_page_ids();
    std::vector<bf16> gains   = plain::random_values(2 * plain::dim, 2, 0.5F); ///< of q and of k
    std::vector<bf16> angles  = plain::angles(width * page_size, 1e4);
    unsigned seed             = 100;

    /// Adds tokens to each sequence. K and V of the numbers come from plain loops alone.
    new_tokens add(std::vector<int> const& counts)
    {
        constexpr int dim = plain::dim;
        new_tokens tokens;
        for (int s = 0; s < sequences; ++s) {
            plain::sequence& to = numbers[s];
            for (int t = 0; t < counts[s]; ++t) {
                int const position       = to.length();
                bf16 const* const turn   = &angles[std::size_t(position) * plain::rotary];
                auto const row           = plain::random_values(row_heads * dim, ++seed, 4.0F);
                auto const head          = [&](int const h) { return &row[std::size_t(h) * dim]; };
                bf16 const* const q_gain = gains.data();
                bf16 const* const k_gain = gains.data() + dim;
                for (int h = 0; h < plain::heads; ++h) {
                    tokens.queries.push_back(plain::stored(head(h), q_gain, turn));
                }
                for (int h = 0; h < plain::kv_heads; ++h) {
                    to.keys.push_back(plain::stored(head(sections.q + h), k_gain, turn));
                    to.values.push_back(plain::copied(head(sections.q + sections.kv + h)));
                }
                tokens.rows.insert(tokens.rows.end(), row.begin(), row.end());
                tokens.positions.push_back(position);
                tokens.slots.push_back(table_of(page_ids.data()).slot(s, position, page_size));
            }
            tokens.lengths.push_back(to.length());
            tokens.offsets.push_back(tokens.count());
        }
        return tokens;
    }
};

/// What the machine holds from step to step. Nothing is allocated later.
struct loop_memory
{
    explicit loop_memory(batch const& b) : page_ids(b.page_ids), gains(b.gains), angles(b.angles) {}

    void take(new_tokens const& tokens) const
    {
        rows.assign(tokens.rows);
        positions.assign(tokens.positions);
        slots.assign(tokens.slots);
        lengths.assign(tokens.lengths);
        offsets.assign(tokens.offsets);
    }

    array<int> page_ids;
    array<bf16> gains;
    array<bf16> angles;
    array<bf16> keys{std::vector<bf16>(cache_elements, not_a_number)};
    array<bf16> values{std::vector<bf16>(cache_elements, not_a_number)};

    array<bf16> rows{most_tokens * row_heads * plain::dim};
    array<i64> positions{most_tokens};
    array<i64> slots{most_tokens};
    array<int> lengths{sequences};
    array<int> offsets{sequences + 1};
    array<bf16> query{most_tokens * query_stride};
    array<bf16> out{most_tokens * query_stride};
};

/// Both kernels on a stream, and the comparison.
template <class Stream>
class decode_loop
{
public:
    explicit decode_loop(Stream const& on) : stream(on), m(b), work(on, decode_args()) {}

    /// A prompt: into the cache, without attention.
    void prefill(std::vector<int> const& counts)
    {
        new_tokens const tokens = b.add(counts);
        m.take(tokens);
        require(kvloom::qk_norm_rope_insert<loop_insert>::launch(stream, insert_args(tokens.count())));
    }

    /// `count` new tokens to each sequence.
    bool step(char const* const what, int const count)
    {
        new_tokens const tokens = b.add(std::vector<int>(sequences, count));
        m.take(tokens);
        auto args = decode_args();
        work.give_to(args);
        require(kvloom::paged_decode<loop_decode>::plan(stream, args)); // once a step
        require(kvloom::qk_norm_rope_insert<loop_insert>::launch(stream, insert_args(tokens.count())));
        require(kvloom::paged_decode<loop_decode>::launch(stream, args)); // both in each layer
        return check(what, count, tokens);
    }

    /// Forgets the last tokens of each sequence; later ones take their slots.
    void drop(int const tokens)
    {
        for (auto& each : b.numbers) {
            each.drop(tokens);
        }
    }

private:
    /// Normalises, rotates and stores the new tokens; their queries go to `query`.
    kvloom::insert_args<loop_insert> insert_args(int const tokens) const
    {
        kvloom::insert_args<loop_insert> a;
        a.tokens = tokens;
        kvloom::packed_row<loop_insert>(a, m.rows.data(), sections);
        a.q_out      = {m.query.data(), plain::heads, query_stride};
        a.q_gain     = m.gains.data();
        a.k_gain     = m.gains.data() + plain::dim;
        a.angles     = {m.angles.data(), width * page_size, plain::rotary};
        a.positions  = m.positions.data();
        a.slots      = m.slots.data();
        a.slot_count = tokens;
        a.keys       = {m.keys.data(), pages, plain::kv_heads, page_stride};
        a.values     = {m.values.data(), pages, plain::kv_heads, page_stride};
        return a;
    }

    /// The same in all steps: lengths and offsets are read on the device.
    kvloom::decode_args<loop_decode> decode_args() const
    {
        auto a   = decode_arguments<loop_decode>(m.query, m.out, m.keys, m.values, m.page_ids, m.lengths);
        a.tokens = {m.offsets.data(), most_queries, most_queries * sequences};
        return a;
    }

    bool check(char const* const what, int const count, new_tokens const& tokens) const
    {
        auto const as_it_is = [](double const logit, int, int) { return logit; };
        auto const got      = m.out.values();
        plain::worst_error error;
        for (int t = 0; t < tokens.count(); ++t) {
            for (int h = 0; h < plain::heads; ++h) {
                auto const want =
                    plain::attention(tokens.queries[std::size_t(t) * plain::heads + h], b.numbers[t / count],
                                     h, int(tokens.positions[t]), softmax_scale, as_it_is);
                error.take(plain::relative_error(&got[t * query_stride + h * plain::dim], want));
            }
        }
        return plain::report(what, tokens.lengths, count, error);
    }

    Stream const& stream;
    batch b;
    loop_memory m;
    workspace<loop_decode> work;
};

template <class Stream>
bool show_loop(Stream const& stream)
{
    decode_loop<Stream> loop(stream);
    loop.prefill({45, 13, 100});
    bool good = true;
    for (int i = 0; i < 4; ++i) { // the second sequence goes over into its second page
        good = loop.step("insert + decode, one token", 1) && good;
    }
    good = loop.step("insert + decode, four proposed tokens", 4) && good;
    loop.drop(2); // the last two were refused
    return loop.step("insert + decode, two of them refused", 1) && good;
}

} // namespace example
