// SPDX-License-Identifier: MIT
// What a benchmark of paged decode runs on: lengths, pages in random order, and as many sets of all of it as keep a
// chain of launches cold.
#pragma once

#include "kvloom/kernel/paged_decode.hpp"
#include "kvloom/kernel/qk_norm_rope_insert.hpp"
#include "support/attention_reference.hpp"
#include "support/read_floor.hpp"
#include "support/traffic.hpp"

#include <numeric>
#include <random>

namespace kvloom_bench {

inline constexpr int head_size       = 128;
inline constexpr int page_tokens     = 16;
inline constexpr double cold_bytes   = device::real ? 400e6 : 1; ///< that one replay touches at least
inline constexpr float softmax_scale = 0.35F; ///< of random rows: logits that spread by more than 1

enum class spread { uniform, ragged };

/// What a step does in a layer: decode alone, or the insert of the new tokens and then decode.
enum class work { decode, insert_and_decode };

struct decode_case
{
    int query_heads;
    int kv_heads;
    int query_tokens;
    int batch;
    int context;
    spread lengths = spread::uniform;
    work step      = work::decode;
};

/// Lengths of the sequences, and where their pages begin in the list.
struct sequence_pages
{
    explicit sequence_pages(decode_case const& c) : starts(1, 0)
    {
        std::mt19937_64 random(20261130);
        int const least = std::max(c.query_tokens, c.context / 16);
        for (int i = 0; i < c.batch; ++i) {
            int const ragged = least + int(random() % unsigned(c.context - least + 1));
            lengths.push_back(c.lengths == spread::ragged ? ragged : c.context);
            starts.push_back(starts.back() + (lengths.back() + page_tokens - 1) / page_tokens);
        }
        tokens = std::accumulate(lengths.begin(), lengths.end(), kvloom::i64(0));
    }

    int pages() const { return starts.back(); }

    std::vector<int> lengths;
    std::vector<int> starts;
    kvloom::i64 tokens = 0;
};

/// The fewest bytes of a step: each input read once, each output written once.
template <class Element>
double step_bytes(decode_case const& c, sequence_pages const& p)
{
    double const rows    = double(c.batch) * c.query_tokens;
    double const queries = rows * c.query_heads * head_size * 2.0;
    double const cached  = 2.0 * c.kv_heads * head_size * sizeof(Element); // of a token
    double const decode  = double(p.tokens) * cached + 2 * queries + 4.0 * (p.pages() + 2.0 * c.batch);
    if (c.step == work::decode) {
        return decode;
    }
    double const source = queries + rows * 2 * c.kv_heads * head_size * 2;
    return decode + source + queries + rows * (cached + 2.0 * 64 + 16);
}

/// Memory of one case.
template <class Problem>
class decode_scene
{
public:
    using element   = typename kvloom::decode_types<Problem>::stored;
    using insertion = typename Problem::insertion;
    using decode    = kvloom::paged_decode<Problem>;

    explicit decode_scene(decode_case const& c)
        : shape_(c), pages_(c), bytes_(step_bytes<element>(c, pages_)),
          sets_(std::max(1, std::min(2048, int(cold_bytes / bytes_) + 1))), rows_(c.batch * c.query_tokens),
          total_(pages_.pages() * sets_),
          row_((c.step == work::decode ? 0 : c.query_heads + 2 * c.kv_heads) * head_size),
          cache_(cache_elements()), ids_(std::size_t(total_)), starts_(pages_.starts),
          lengths_(pages_.lengths), query_(query_elements()), out_(query_elements()),
          source_(std::size_t(sets_) * rows_ * row_), gains_(2 * head_size),
          angles_(std::size_t(row_ == 0 ? 1 : c.context) * 64),
          slots_(std::size_t(row_ == 0 ? 1 : sets_ * rows_)), positions_(std::size_t(rows_)),
          workspace_(workspace_bytes())
    {
        fill(on, cache_, 3);
        fill(on, query_, 4);
        fill(on, source_, 5);
        fill(on, gains_, 6);
        fill(on, angles_, 7);
        arrange();
        auto const a = decode_args(0);
        require(decode::prepare_workspace(on.stream(), a));
        require(decode::plan(on.stream(), a));
        on.finish();
    }

    double bytes() const { return bytes_; }
    double cache_bytes() const { return double(pages_.pages()) * 2.0 * double(page()) * sizeof(element); }
    int sets() const { return sets_; }

    /// Launches in a chain: all sets, and no fewer than the clock can tell apart.
    int launches() const
    {
        int const wanted = device::real ? std::clamp(int(8e9 / bytes_), 2, 40) : 1;
        return std::max(sets_, wanted);
    }

    void launch(int set) const
    {
        if (row_ != 0) {
            require(kvloom::qk_norm_rope_insert<insertion>::launch(on.stream(), insert_args(set)));
        }
        require(decode::launch(on.stream(), decode_args(set)));
    }

    /// Of the output of the first set.
    double error() const
    {
        launch(0);
        on.finish();
        return relative_error<Problem>(on, decode_args(0));
    }

    double floor_seconds(read_floors& floors) const
    {
        auto const* const from = reinterpret_cast<char const*>(cache_.data());
        return floors.in_order(on, from, tiles(), sets_, launches());
    }

    double span_floor_seconds(read_floors& floors) const
    {
        spans_of_pages<page_tokens * head_size* int(sizeof(element))> spans;
        spans.keys   = reinterpret_cast<char const*>(keys());
        spans.values = reinterpret_cast<char const*>(values());
        spans.ids    = ids_.data();
        spans.pages  = pages_.pages();
        spans.heads  = shape_.kv_heads;
        return floors.of_spans(on, spans, sets_, launches());
    }

    device on;

private:
    kvloom::i64 page() const { return kvloom::i64(shape_.kv_heads) * page_tokens * head_size; }
    element* keys() const { return cache_.data(); }
    element* values() const { return cache_.data() + total_ * page(); }
    int tiles() const { return std::max(1, int(bytes_ / tile_bytes + 0.5)); }

    /// Room for K and V, and for all that the floor reads in order.
    std::size_t cache_elements() const
    {
        auto const caches = std::size_t(2 * total_ * page());
        return std::max(caches, std::size_t(sets_) * std::size_t(tiles()) * tile_bytes / sizeof(element));
    }
    std::size_t query_elements() const
    {
        return std::size_t(sets_) * std::size_t(rows_) * std::size_t(shape_.query_heads) * head_size;
    }
    std::size_t workspace_bytes() const
    {
        return std::size_t(decode::workspace_bytes(on.stream(), decode_args_without_workspace(0)));
    }

    /// Pages in random order, and the places of the new tokens.
    void arrange()
    {
        std::vector<int> ids(std::size_t(total_), 0);
        std::iota(ids.begin(), ids.end(), 0);
        std::shuffle(ids.begin(), ids.end(), std::mt19937_64(20261129));
        device::upload(ids_.data(), ids.data(), ids.size() * sizeof(int));
        if (row_ == 0) {
            return;
        }
        std::vector<kvloom::i64> slots;
        std::vector<kvloom::i64> positions;
        for (int i = 0; i < sets_ * rows_; ++i) {
            int const sequence = i % rows_ / shape_.query_tokens;
            int const position = pages_.lengths[sequence] - shape_.query_tokens + i % shape_.query_tokens;
            int const page = i / rows_ * pages_.pages() + pages_.starts[sequence] + position / page_tokens;
            slots.push_back(kvloom::i64(ids[page]) * page_tokens + position % page_tokens);
            positions.push_back(position);
        }
        device::upload(slots_.data(), slots.data(), slots.size() * sizeof(kvloom::i64));
        device::upload(positions_.data(), positions.data(), std::size_t(rows_) * sizeof(kvloom::i64));
    }

    template <class Args>
    void set_caches(Args& a) const
    {
        a.keys   = {keys(), int(total_), shape_.kv_heads, page()};
        a.values = {values(), int(total_), shape_.kv_heads, page()};
    }

    kvloom::decode_args<Problem> decode_args_without_workspace(int set) const
    {
        int const heads        = shape_.query_heads;
        kvloom::i64 const from = kvloom::i64(set) * rows_ * heads * head_size;
        kvloom::decode_args<Problem> a;
        a.query         = {query_.data() + from, heads, kvloom::i64(heads) * head_size};
        a.out           = {out_.data() + from, heads, kvloom::i64(heads) * head_size};
        a.table         = {ids_.data() + kvloom::i64(set) * pages_.pages(), starts_.data(), shape_.batch,
                           (shape_.context + page_tokens - 1) / page_tokens};
        a.lengths       = lengths_.data();
        a.sequences     = shape_.batch;
        a.softmax_scale = softmax_scale;
        a.tokens        = {shape_.query_tokens};
        set_caches(a);
        a.workspace.blocks = decode::blocks(on.stream());
        return a;
    }

    kvloom::decode_args<Problem> decode_args(int set) const
    {
        auto a            = decode_args_without_workspace(set);
        a.workspace.data  = workspace_.data();
        a.workspace.bytes = kvloom::i64(workspace_.count());
        return a;
    }

    kvloom::insert_args<insertion> insert_args(int set) const
    {
        int const heads        = shape_.query_heads;
        kvloom::i64 const from = kvloom::i64(set) * rows_;
        kvloom::insert_args<insertion> a;
        a.tokens = rows_;
        kvloom::packed_row<insertion>(a, source_.data() + from * row_, {heads, shape_.kv_heads, 0, 0});
        a.q_out      = {query_.data() + from * heads * head_size, heads, kvloom::i64(heads) * head_size};
        a.q_gain     = gains_.data();
        a.k_gain     = gains_.data() + head_size;
        a.angles     = {angles_.data(), shape_.context, 64};
        a.positions  = positions_.data();
        a.slots      = slots_.data() + from;
        a.slot_count = rows_;
        set_caches(a);
        return a;
    }

    decode_case shape_;
    sequence_pages pages_;
    double bytes_;
    int sets_;
    int rows_;          // query tokens of a set
    kvloom::i64 total_; // pages of all sets
    kvloom::i64 row_;   // elements of a projection row; 0: nothing is inserted
    memory<element> cache_;
    memory<int> ids_, starts_, lengths_;
    memory<kvloom::bf16> query_, out_, source_, gains_, angles_;
    memory<kvloom::i64> slots_, positions_;
    memory<unsigned char> workspace_;
};

} // namespace kvloom_bench
