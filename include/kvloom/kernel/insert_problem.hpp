// SPDX-License-Identifier: MIT
// What the fused insert computes: its problem type, its arguments, and the views of a packed projection row.
#pragma once

#include "kvloom/core/fp16.hpp"
#include "kvloom/core/fp8.hpp"
#include "kvloom/kernel/contract.hpp"
#include "kvloom/layout/view.hpp"
#include "kvloom/op/rms_norm.hpp"

namespace kvloom {
inline namespace v0 {

/// K and V caches in SHUFFLE pages of T.
template <class T, int PageSize = 16>
struct shuffled_cache
{
    using element = T;
    template <int HeadDim>
    using keys = shuffled_keys<T, HeadDim, PageSize>;
    template <int HeadDim>
    using values = shuffled_values<T, HeadDim, PageSize>;
};

/// K in SHUFFLE pages of T, V with the slots of a dim together.
template <class T, int PageSize = 16>
struct transposed_cache
{
    using element = T;
    template <int HeadDim>
    using keys = shuffled_keys<T, HeadDim, PageSize>;
    template <int HeadDim>
    using values = transposed_values<T, HeadDim, PageSize>;
};

/// K and V caches of token rows of T. The views' strides make of it NHD (token stride heads * head_dim, head
/// stride head_dim), HND (token stride head_dim), K and V side by side in one row (twice the token stride), or
/// a plane each; pages of any size, 1 included.
template <class T, int PageSize = 16>
struct token_cache
{
    using element = T;
    template <int HeadDim>
    using keys = token_rows<T, HeadDim, PageSize>;
    template <int HeadDim>
    using values = token_rows<T, HeadDim, PageSize>;
};

/// Stands for the activation type of the problem.
struct as_activation
{};

/// An index branch: index queries leave as QueryT, the index key enters a cache of token rows of CacheT.
template <class CacheT = as_activation, class QueryT = as_activation, int PageSize = 16>
struct index_branch
{
    static constexpr bool present  = true;
    static constexpr int page_size = PageSize;
    using cache                    = CacheT;
    using query                    = QueryT;
};

/// No index branch, or one that this layer skips: index sections of the projection row are not looked at.
struct no_index
{
    static constexpr bool present  = false;
    static constexpr int page_size = 1;
    using cache                    = as_activation;
    using query                    = as_activation;
};

/// Defaults of a problem. A user's problem derives from this and overrides what differs; a new member breaks
/// nobody.
struct insert_problem
{
    using activation = bf16;                 ///< of the projection row, the gains and q_out: bf16 or fp16
    using cache      = shuffled_cache<bf16>; ///< of K and V
    using index      = no_index;             ///< index_branch<...> or no_index
    using heads =
        dense_heads; ///< of all row views: dense_heads, or strided_heads (a q interleaved with a gate)
    using norm  = unit_offset;   ///< of q, k and the index rows: no_norm, weightless, plain_gain, unit_offset
    using angle = as_activation; ///< element of the cos/sin table: the activation type or float
    using slot  = i64;           ///< signed, 32 or 64 bits
    using position = i64;        ///< signed, 32 or 64 bits
    using numerics = contract::aiter_auto;

    static constexpr int head_dim = 128;
    static constexpr int rotary_dim =
        64; ///< leading dims that RoPE turns; 0: none, and neither positions nor table are read
};

/// The types that follow from a problem.
template <class Problem>
struct insert_types
{
    using activation = typename Problem::activation;
    using numerics   = typename Problem::numerics;
    using scaling    = typename numerics::scaling;
    using index      = typename Problem::index;
    using element    = typename Problem::cache::element;
    using slot       = typename Problem::slot;
    using position   = typename Problem::position;

    template <class T>
    using resolved = conditional_t<is_same_v<T, as_activation>, activation, T>;

    using angle       = resolved<typename Problem::angle>;
    using index_query = resolved<typename index::query>;
    using index_key   = resolved<typename index::cache>;

    static constexpr int dim    = Problem::head_dim;
    static constexpr int rotary = Problem::rotary_dim;
    static constexpr bool turns = rotary > 0;

    using keys       = typename Problem::cache::template keys<dim>;
    using values     = typename Problem::cache::template values<dim>;
    using index_keys = token_rows<index_key, dim, index::page_size>;

    /// V leaves row by row, as K does; else in windows of tokens whose slots share vectors.
    static constexpr bool values_by_rows = values::vector_axis == axis::dim;

    static constexpr bool weighted =
        is_same_v<typename Problem::norm, plain_gain> || is_same_v<typename Problem::norm, unit_offset>;

    static_assert(is_same_v<activation, bf16> || is_same_v<activation, fp16>,
                  "qk_norm_rope_insert: activations are bf16 or fp16");
    static_assert(is_same_v<angle, activation> || is_same_v<angle, float>,
                  "qk_norm_rope_insert: the angle table holds the activation type or float");
    static_assert(rotary >= 0 && rotary % 2 == 0 && rotary <= dim,
                  "qk_norm_rope_insert: rotary_dim must be even and at most head_dim");
    using norm = typename Problem::norm;
    static_assert(weighted || is_same_v<norm, no_norm> || is_same_v<norm, weightless>,
                  "qk_norm_rope_insert: norm is no_norm, weightless, plain_gain or unit_offset");
    static_assert(sizeof(element) <= 2,
                  "qk_norm_rope_insert: caches hold bf16, fp16, fp8_e4m3 or fp8_e4m3_fnuz");
    static_assert(dim == 128, "qk_norm_rope_insert: head_dim must be 128");
    static_assert(is_index_v<slot> && is_index_v<position>,
                  "qk_norm_rope_insert: slots and positions are signed integers of 32 or 64 bits");
    static_assert(!scaling::reads_scale || sizeof(element) == 1,
                  "qk_norm_rope_insert: only fp8 caches have a scale");
};

/// Arguments, in the order in which a kernel reads them. Row strides are in elements; all bases, strides and
/// table rows are multiples of 16 bytes. Pointers are to device memory; sources may overlap each other, outputs
/// and caches must not overlap anything (an output may be the very view that it is computed from).
///
/// Queries and index queries are written for every token. Tokens from `slot_count` on are padding: they have no
/// slot, and their k and v are never read; the same holds for index_k from `index_slot_count` on. A negative
/// slot, or one beyond the cache, stores nothing in that cache; the two slot lists are independent. A position
/// outside the table: that token's q and index_q are zeros, and nothing enters a cache. Gains and the table
/// must not be written by the kernel just before in the stream.
template <class Problem>
struct insert_args
{
    using types      = insert_types<Problem>;
    using activation = typename types::activation;
    using heads      = typename Problem::heads;

    static constexpr int dim = types::dim;

    int tokens           = 0;
    float eps            = 1e-6F;
    int slot_count       = 0; ///< tokens from here on are padding; 0: all of them
    int index_slot_count = 0; ///< the same for the index cache

    typename types::position const* positions = nullptr; ///< [tokens]
    angle_table<typename types::angle> angles;           ///< [rows][cos of rotary_dim / 2 | sin of the same]

    head_rows<activation const, dim, heads> q; ///< [tokens][heads][head_dim]
    head_rows<activation, dim, heads> q_out;   ///< as q; may be q itself
    activation const* q_gain = nullptr; ///< [head_dim], as the other gains; not read by norms without weights

    typename types::slot const* slots = nullptr; ///< [slot_count]
    head_rows<activation const, dim, heads> k;   ///< [tokens][kv heads][head_dim]
    activation const* k_gain = nullptr;
    paged_view<typename types::keys> keys;
    float const* key_scale = nullptr; ///< one dequant scale, for contracts that have one

    head_rows<activation const, dim, heads> v; ///< [tokens][kv heads][head_dim]
    paged_view<typename types::values> values;
    float const* value_scale = nullptr;

    head_rows<activation const, dim, heads> index_q; ///< [tokens][index heads][head_dim]
    head_rows<typename types::index_query, dim, heads>
        index_q_out; ///< as index_q; may be index_q itself where the types agree
    activation const* index_q_gain = nullptr;

    typename types::slot const* index_slots = nullptr; ///< [index_slot_count]
    head_rows<activation const, dim, heads> index_k;   ///< [tokens][1][head_dim]
    activation const* index_k_gain = nullptr;
    paged_view<typename types::index_keys> index_keys;
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
