// SPDX-License-Identifier: MIT
// Arguments of the fused insert, and the views of a packed projection row.
#pragma once

#include "kvloom/kernel/insert_problem.hpp"

namespace kvloom {
inline namespace v0 {

/// What count_faults counts: tokens whose position lies outside the table, tokens whose slot lies beyond a K or V
/// cache, tokens whose index slot lies beyond the index cache. Negative slots are no faults.
struct fault_counts
{
    u32 positions   = 0;
    u32 slots       = 0;
    u32 index_slots = 0;
};

/// Arguments. Row strides are in elements; all bases, strides and table rows are multiples of 16 bytes. Pointers
/// are to device memory; sources may overlap each other, outputs and caches must not overlap anything (an output
/// may be the very view that it is computed from).
///
/// Queries and index queries are written for every token, and so are k_out and index_k_out where the problem has
/// them. Tokens from `slot_count` on are padding: they have no slot, and without k_out their k and v are never
/// read; the same holds for index_k from `index_slot_count` on. A negative slot, or one beyond the K or the V cache,
/// stores nothing in either; likewise in the index cache; the two slot lists are independent. Where two tokens name one slot,
/// either may win in each element. A position outside the table: that token's dense
/// rows are zeros, and nothing enters a cache. Gains and the table must not be written by the kernel just before
/// in the stream.
///
/// A section without heads is absent: its rows, outputs and caches are not looked at. The fused kernel lets index_q be
/// absent, and the whole index branch where the problem has none; the unfused ones what they do not work on.
template <class Problem>
struct insert_args
{
    using types      = insert_types<Problem>;
    using activation = typename types::activation;
    using heads      = typename Problem::heads;

    static constexpr int dim = types::dim;

    int tokens           = 0;
    float eps            = 1e-6F;
    int slot_count       = 0; ///< tokens from here on are padding: with 0 nothing enters K and V caches
    int index_slot_count = 0; ///< the same for the index cache

    typename types::position const* positions = nullptr; ///< [tokens], or [sections][tokens]
    angle_table<typename types::angle> angles;           ///< [rows][cos of rotary_dim / 2 | sin of the same]

    head_rows<activation const, dim, heads> q;          ///< [tokens][heads][head_dim]
    head_rows<typename types::query, dim, heads> q_out; ///< as q; may be q itself where the types agree
    activation const* q_gain = nullptr; ///< [head_dim], or [heads][head_dim] for norms over the vector
    float const* query_scale = nullptr; ///< one dequant scale, for contracts that have one

    typename types::slot const* slots = nullptr; ///< [slot_count]
    head_rows<activation const, dim, heads> k;   ///< [tokens][kv heads][head_dim]
    activation const* k_gain = nullptr;
    typename types::key_cache keys;
    float const* key_scale = nullptr;        ///< given dequant scales: one, or [kv heads]
    scale_view key_scales;                   ///< found dequant scales, written for each stored token and head
    head_rows<activation, dim, heads> k_out; ///< as k; may be k itself; for problems with keys_out

    head_rows<activation const, dim, heads> v; ///< [tokens][kv heads][head_dim]
    activation const* v_gain = nullptr;
    typename types::value_cache values;
    float const* value_scale = nullptr;
    scale_view value_scales;

    head_rows<activation const, dim, heads> index_q; ///< [tokens][index heads][head_dim]
    head_rows<typename types::index_query, dim, heads>
        index_q_out; ///< as index_q; may be index_q itself where the types agree
    activation const* index_q_gain = nullptr;

    typename types::slot const* index_slots = nullptr; ///< [index_slot_count]
    head_rows<activation const, dim, heads> index_k;   ///< [tokens][1][head_dim]
    activation const* index_k_gain = nullptr;
    typename types::index_key_cache index_keys;
    head_rows<activation, dim, heads> index_k_out; ///< as index_k; for problems with keys_out

    i64 position_stride  = 0;       ///< positions from one section to the next, for angles by sections
    fault_counts* faults = nullptr; ///< for problems with count_faults; added to
};

/// The sections of a packed projection row [q | k | v | index_q | index_k], in heads of head_dim elements.
struct row_sections
{
    int q       = 0;
    int kv      = 0; ///< of k, and of v
    int index_q = 0;
    int index_k = 0; ///< 0 or 1
};

/// Fills the five source views from packed rows, one after the other without a gap unless `token_stride`
/// (elements) is given.
template <class Problem>
KVLOOM_FN void packed_row(insert_args<Problem>& args, typename insert_types<Problem>::activation const* data,
                          row_sections sections, i64 token_stride = 0)
{
    constexpr int dim = insert_types<Problem>::dim;
    i64 const heads   = i64(sections.q) + 2 * i64(sections.kv) + sections.index_q + sections.index_k;
    i64 const stride  = token_stride != 0 ? token_stride : heads * dim;
    i64 at            = 0;
    auto const next   = [&](int count) {
        head_rows<typename insert_types<Problem>::activation const, dim, typename Problem::heads> rows;
        rows.data         = data == nullptr ? nullptr : data + at * dim;
        rows.heads        = count;
        rows.token_stride = stride;
        at += count;
        return rows;
    };
    args.q       = next(sections.q);
    args.k       = next(sections.kv);
    args.v       = next(sections.kv);
    args.index_q = next(sections.index_q);
    args.index_k = next(sections.index_k);
}

} // namespace v0
} // namespace kvloom
