// SPDX-License-Identifier: MIT
// What paged decode computes, as types: a problem, its defaults, and what follows from it.
#pragma once

#include "kvloom/group/arch.hpp"
#include "kvloom/kernel/page_rows.hpp"
#include "kvloom/layout/page_table.hpp"
#include "kvloom/op/attend.hpp"
#include "kvloom/op/page_stream.hpp"

namespace kvloom {
inline namespace v0 {

/// How many query tokens a sequence has: the same number for all, or what lies between two offsets.
struct uniform_tokens
{
    int count = 1; ///< of each sequence; its rows are sequence * count and on
};
template <class Offset = int>
struct token_offsets
{
    static_assert(is_index_v<Offset>, "token_offsets: an offset must be a signed integer of 32 or 64 bits");

    Offset const* data = nullptr; ///< [sequences + 1], ascending: the first query row of each sequence
    int most           = 1;       ///< query tokens of a sequence, at most
    int rows           = 0;       ///< query tokens of all sequences, for validate() alone; 0: not said
};

/// Which keys a query token sees beside the causal rule: all before it, or the last `size`, its own included.
struct no_window
{};
struct sliding_window
{
    int size = 0; ///< 0 or less: no window
};

/// Sinks: a logit for each query head that enters the denominator once, as given (no softmax scale).
struct no_sinks
{};
struct head_sinks
{
    float const* data = nullptr; ///< [query heads]
};

/// The logarithm of the sum of exponentials of each row's scores, sinks included; -infinity where no key is seen.
struct no_lse
{
    static constexpr bool present = false;
};
template <bool Natural>
struct row_lse
{
    static constexpr bool present = true;
    static constexpr bool natural = Natural;

    float* data      = nullptr; ///< [query tokens][query heads]
    i64 token_stride = 0;
};
using natural_lse = row_lse<true>;
using base2_lse   = row_lse<false>;

/// Which score a functor is asked for. Positions count from token 0 of the sequence and are those of tokens that exist.
struct score_place
{
    int sequence       = 0;
    int query_position = 0;
    int key_position   = 0;
    int query_head     = 0;
};

/// Scores as they are. A functor of one's own has `changes = true` and gives the logit that stands for a scaled one:
/// `float operator()(float logit, score_place const& at) const`. -infinity hides a key. It is asked for hidden keys too,
/// and nothing becomes of what it says of them.
struct plain_logits
{
    static constexpr bool changes = false;
};

/// logit -> limit * tanh(logit / limit).
struct soft_cap
{
    static constexpr bool changes = true;

    float limit = 30.0F;

    KVLOOM_FN float operator()(float logit, score_place const&) const
    {
        // tanh(y) = 1 - 2 / (1 + e^(2 y)), which is 1 or -1 where e^(2 y) overflows or vanishes
        float const power = approximate_exp2(logit / limit * (2.0F * log2_of_e));
        return limit * (1.0F - 2.0F / (1.0F + power));
    }
};

/// logit + slope of the head * (key position - query position).
struct alibi
{
    static constexpr bool changes = true;

    float const* slopes = nullptr; ///< [query heads]

    KVLOOM_FN float operator()(float logit, score_place const& at) const
    {
        return fma(slopes[at.query_head], float(at.key_position - at.query_position), logit);
    }
};

/// In which type the matrix units multiply. A 16-bit cache is always multiplied in its own.
namespace operands {

/// K and V exactly as the cache holds them: fp8 widened to fp16, with query rows lifted into its range (load_query), or
/// to bf16 where each token has a scale of V, since probabilities times scales need its range.
struct exact
{};

/// fp8 widened to the query's type, which is exact too: query rows enter as they are, probabilities are rounded to it.
struct of_query
{};

/// fp8 as it stands: query rows, lifted, and probabilities are rounded to the cache's type, four significant bits. For
/// machines whose units take that type: gfx942 e4m3_fnuz, gfx950 and NVIDIA from compute capability 8.9 on e4m3.
struct of_cache
{};

} // namespace operands

/// How partial results of a sequence become one.
namespace fold {

/// A sequence is cut into nodes from token 0 on, whose size follows from its length, and these are merged from the first
/// to the last. The result does not depend on how work was split, on the grid, or on other sequences.
struct canonical
{
    static constexpr bool by_nodes = true;
};

/// Whatever a block has is one partial: fewer merges, and bits that depend on the cut of the work.
struct free
{
    static constexpr bool by_nodes = false;
};

} // namespace fold

/// Who merges the partial results of a pair that several blocks have worked on. Both give the same bits.
namespace merging {

/// A kernel of its own behind the first: all rows at once.
struct parallel
{
    static constexpr bool by_last = false;
};

/// The block that is last to finish: no second kernel, but one block waits for all partial results of its rows, which
/// takes the longer the more there are.
struct last_arriver
{
    static constexpr bool by_last = true;
};

} // namespace merging

/// Which share of the work a block of the grid takes: a permutation of the blocks, which changes no bit. Shares that follow
/// each other are of one sequence: of its heads, and of blocks of query rows over the same keys.
namespace placing {

/// The one of its number.
struct in_order
{
    template <arch_id>
    KVLOOM_FN static constexpr int share(int block, int)
    {
        return block;
    }
};

/// For machines that deal blocks to `Chiplets` chiplets in turn: those of one chiplet take shares that follow each other,
/// so that what a sequence's heads have in common is read into one cache.
template <int Chiplets>
struct by_chiplet
{
    static_assert(Chiplets > 0, "by_chiplet: there must be at least one chiplet");

    template <arch_id>
    KVLOOM_FN static constexpr int share(int block, int blocks)
    {
        int const each = blocks / Chiplets;
        int const more = blocks % Chiplets; // chiplets that get one block more
        int const own  = block % Chiplets;
        return own * each + (own < more ? own : more) + block / Chiplets;
    }
};

/// By as many chiplets as the machine's have.
struct of_machine
{
    template <arch_id Arch>
    KVLOOM_FN static constexpr int share(int block, int blocks)
    {
        return by_chiplet<chiplets_of(Arch)>::template share<Arch>(block, blocks);
    }
};

} // namespace placing

/// Defaults of a problem. A user's problem derives from this and overrides what differs; a new member breaks nobody.
struct decode_problem
{
    using query          = bf16;                     ///< element of the query rows: bf16 or fp16
    using output         = bf16;                     ///< of the output rows: bf16, fp16 or float
    using key_cache      = shuffled_keys<bf16, 128>; ///< layouts of a page, with their element type
    using value_cache    = shuffled_values<bf16, 128>;
    using table          = block_table<int>; ///< block_table<Id>, page_list<Id>, contiguous
    using length         = int;              ///< of the lengths: signed, 32 or 64 bits
    using tokens         = uniform_tokens;   ///< uniform_tokens, token_offsets<Offset>
    using window         = no_window;        ///< no_window, sliding_window
    using sinks          = no_sinks;         ///< no_sinks, head_sinks
    using logits         = plain_logits;     ///< plain_logits, soft_cap, alibi, or a functor of one's own
    using lse            = no_lse;           ///< no_lse, natural_lse, base2_lse
    using key_scale      = no_scale;         ///< no_scale, cache_scale, head_scale, scale_view
    using value_scale    = no_scale;
    using multiplied     = operands::exact;   ///< operands::exact, operands::of_query, operands::of_cache
    using folding        = fold::canonical;   ///< fold::canonical, fold::free
    using merge_strategy = merging::parallel; ///< merging::parallel, merging::last_arriver
    using placement =
        placing::of_machine; ///< placing::of_machine, placing::by_chiplet<Chiplets>, placing::in_order

    static constexpr int key_block_pages   = 1; ///< pages of a block, as in paged_view
    static constexpr int value_block_pages = 1;
};

/// The types that follow from a problem.
template <class Problem>
struct decode_types
{
    using key_layout   = typename Problem::key_cache;
    using value_layout = typename Problem::value_cache;
    using stored       = typename key_layout::element;
    using query        = typename Problem::query;
    using output       = typename Problem::output;
    using key_view     = paged_view<key_layout, Problem::key_block_pages>;
    using value_view   = paged_view<value_layout, Problem::value_block_pages>;
    using table        = typename Problem::table;
    using source       = page_source<key_view, value_view, typename table::run_type>;

    static constexpr bool token_scaled = is_same_v<typename Problem::value_scale, scale_view>;

    /// What the matrix unit multiplies.
    using operand =
        conditional_t<sizeof(stored) == 2 || is_same_v<typename Problem::multiplied, operands::of_cache>,
                      stored,
                      conditional_t<is_same_v<typename Problem::multiplied, operands::of_query>, query,
                                    conditional_t<token_scaled, bf16, fp16>>>;

    static constexpr int key_dim   = key_layout::dim;
    static constexpr int value_dim = value_layout::dim;
    static constexpr int page_size = key_layout::page_size;

    /// Whether pages can go through rings of shared memory: SHUFFLE pages of 16 tokens whose rings fit.
    static constexpr bool fits_rings =
        are_shuffled_v<key_layout, value_layout, 16> && key_dim <= 128 && value_dim <= 128;

    static_assert(is_cache_element_v<stored>,
                  "paged_decode: caches hold bf16, fp16, fp8_e4m3 or fp8_e4m3_fnuz");
    static_assert(is_same_v<stored, typename value_layout::element>,
                  "paged_decode: K and V must have one element type");
    static_assert(page_size == value_layout::page_size, "paged_decode: K and V must have one page size");
    static_assert(is_page_dim_v<key_dim> && is_page_dim_v<value_dim>,
                  "paged_decode: head sizes must be 64, 128, 256 or 512");
    static_assert(is_same_v<query, bf16> || is_same_v<query, fp16>,
                  "paged_decode: query rows hold bf16 or fp16");
    static_assert(is_same_v<output, bf16> || is_same_v<output, fp16> || is_same_v<output, float>,
                  "paged_decode: output rows hold bf16, fp16 or float");
    static_assert(
        is_same_v<
            typename Problem::multiplied,
            operands::
                exact> || is_same_v<typename Problem::multiplied, operands::of_query> || is_same_v<typename Problem::multiplied, operands::of_cache>,
        "paged_decode: multiplied is operands::exact, operands::of_query or operands::of_cache");
    static_assert(!token_scaled || sizeof(stored) == 2 || is_same_v<operand, bf16>,
                  "paged_decode: probabilities times a scale of each token need operands of bf16");
    static_assert(is_index_v<typename Problem::length>,
                  "paged_decode: lengths are signed integers of 32 or 64 bits");
    static_assert(
        is_page_scale_v<typename Problem::key_scale> && is_page_scale_v<typename Problem::value_scale>,
        "paged_decode: scales are no_scale, cache_scale, head_scale or scale_view");
};

/// Memory that a launch works in, the caller's own: 256-byte aligned, of at least workspace_bytes(), given to
/// prepare_workspace() once. One launch at a time may use it.
struct decode_workspace
{
    void* data = nullptr;
    i64 bytes  = 0;
    int blocks = 0; ///< of the grid; paged_decode::blocks(stream) is what suits the machine
};

/// Arguments. Strides are in elements; bases and strides of caches and rows are multiples of 16 bytes. Pointers are to
/// device memory; output rows must not overlap anything.
///
/// Sequence s has `lengths[s]` tokens, its query tokens included, which are its last: query token t of n sees the keys
/// up to and including position length - n + t.
template <class Problem>
struct decode_args
{
    using types = decode_types<Problem>;

    head_rows<typename types::query const, types::key_dim, strided_heads>
        query;                                                              ///< [query tokens][query heads]
    head_rows<typename types::output, types::value_dim, strided_heads> out; ///< [query tokens][query heads]
    typename types::key_view keys;
    typename types::value_view values;
    typename types::table table;
    typename Problem::length const* lengths = nullptr; ///< [sequences]; less than 1: no tokens
    int sequences                           = 0;
    float softmax_scale                     = 0.0F; ///< of the products; applied once, as given
    typename Problem::tokens tokens;
    typename Problem::window window;
    typename Problem::sinks sinks;
    typename Problem::logits logits;
    typename Problem::lse lse;
    typename Problem::key_scale key_scale;
    typename Problem::value_scale value_scale;
    decode_workspace workspace;
};

} // namespace v0
} // namespace kvloom
