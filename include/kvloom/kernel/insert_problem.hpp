// SPDX-License-Identifier: MIT
// What the fused insert computes: its problem type, and the types that follow from one.
#pragma once

#include "kvloom/core/convert.hpp"
#include "kvloom/kernel/contract.hpp"
#include "kvloom/layout/view.hpp"
#include "kvloom/op/angles.hpp"
#include "kvloom/op/rms_norm.hpp"

namespace kvloom {
inline namespace v0 {

/// Rows of a token.
enum class row_kind { query, key, value, index_query, index_key };

/// K and V caches in SHUFFLE pages of T.
template <class T, int PageSize = 16>
struct shuffled_cache
{
    using element                    = T;
    static constexpr int block_pages = 1;
    template <int HeadDim>
    using keys = shuffled_keys<T, HeadDim, PageSize>;
    template <int HeadDim>
    using values = shuffled_values<T, HeadDim, PageSize>;
};

/// K in SHUFFLE pages of T, V with the slots of a dim together.
template <class T, int PageSize = 16>
struct transposed_cache
{
    using element                    = T;
    static constexpr int block_pages = 1;
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
    using element                    = T;
    static constexpr int block_pages = 1;
    template <int HeadDim>
    using keys = token_rows<T, HeadDim, PageSize>;
    template <int HeadDim>
    using values = token_rows<T, HeadDim, PageSize>;
};

/// Pages of another cache in blocks of `Pages`: so many of K, then as many of V, then the next block (packed
/// caches). Slots and page ids count as if all pages were dense: no slot is changed, and a table of blocks gives
/// the same slots as a table of pages.
template <class Cache, int Pages = 8>
struct packed_cache : Cache
{
    static constexpr int block_pages = Pages;
};

/// Stands for the activation type of the problem.
struct as_activation
{};

/// Stands for the problem's `norm`.
struct common_norm
{};

/// Over which elements the mean square of q and of k is taken: each head by itself, or all heads of a token
/// (MiniMax-M2), whose weights then are [heads][head_dim]; such a q or k cannot be prepared in place.
struct over_head
{};
struct over_vector
{};

/// Where angles come from: the position of the token. Else sections<...> or interleaved_sections<...>, which
/// have three positions to a token.
struct one_position
{
    static constexpr int count = 1;
};

/// What becomes of positions outside the table and slots beyond the cache: nothing is stored, and nobody is
/// told, or a counter in device memory is.
struct ignore_faults
{
    static constexpr bool counted = false;
};
struct count_faults
{
    static constexpr bool counted = true;
};

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
    using query      = as_activation;        ///< of q_out: the activation type, or an fp8 type
    using cache      = shuffled_cache<bf16>; ///< of K and V
    using index      = no_index;             ///< index_branch<...> or no_index
    using heads      = dense_heads;          ///< of all row views; strided_heads: q interleaved with a gate

    using norm   = unit_offset; ///< of q, k and the index rows: no_norm, weightless, plain_gain, unit_offset
    using q_norm = common_norm; ///< the same for q alone, and so on
    using k_norm = common_norm;
    using index_norm = common_norm;
    using v_norm     = no_norm;
    using norm_scope = over_head; ///< of q and k: over_head, over_vector

    using pairing      = neox_pairs;    ///< neox_pairs, interleaved_pairs
    using angle_source = one_position;  ///< one_position, sections<...>, interleaved_sections<...>
    using angle        = as_activation; ///< element of the cos/sin table: the activation type or float

    using slot     = i64; ///< signed, 32 or 64 bits
    using position = i64; ///< signed, 32 or 64 bits
    using numerics = contract::aiter_auto;
    using faults   = ignore_faults; ///< ignore_faults, count_faults

    static constexpr int head_dim = 128; ///< 64, 128, 256 or 512
    static constexpr int rotary_dim =
        64; ///< leading dims that RoPE turns; 0: positions and table are not read
    static constexpr bool keys_out = false; ///< prepared k and index_k also leave as dense rows
};

namespace detail {

template <class Sections, int RotaryDims>
inline constexpr bool fits_sections = Sections::frequencies == RotaryDims / 2;
template <int RotaryDims>
inline constexpr bool fits_sections<one_position, RotaryDims> = true;

} // namespace detail

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
    using pairing    = typename Problem::pairing;
    using source     = typename Problem::angle_source;

    template <class T>
    using resolved = conditional_t<is_same_v<T, as_activation>, activation, T>;

    using angle       = resolved<typename Problem::angle>;
    using query       = resolved<typename Problem::query>;
    using index_query = resolved<typename index::query>;
    using index_key   = resolved<typename index::cache>;

    static constexpr int dim    = Problem::head_dim;
    static constexpr int rotary = Problem::rotary_dim;
    static constexpr bool turns = rotary > 0;

    /// Lanes that hold a row, and rows that a tile works on at once in the long shapes: 32 to 64 elements a lane.
    static constexpr int lanes        = dim < 128 ? 8 : 16;
    static constexpr int rows_at_once = dim <= 128 ? 4 : dim <= 256 ? 2 : 1;

    using keys            = typename Problem::cache::template keys<dim>;
    using values          = typename Problem::cache::template values<dim>;
    using key_cache       = paged_view<keys, Problem::cache::block_pages>;
    using value_cache     = paged_view<values, Problem::cache::block_pages>;
    using index_key_cache = paged_view<token_rows<index_key, dim, index::page_size>>;

    template <class Norm>
    using resolved_norm = conditional_t<is_same_v<Norm, common_norm>, typename Problem::norm, Norm>;
    using q_norm        = resolved_norm<typename Problem::q_norm>;
    using k_norm        = resolved_norm<typename Problem::k_norm>;
    using v_norm        = resolved_norm<typename Problem::v_norm>;
    using index_norm    = resolved_norm<typename Problem::index_norm>;

    template <row_kind Kind>
    using norm_of = conditional_t<Kind == row_kind::query, q_norm,
                                  conditional_t<Kind == row_kind::key, k_norm,
                                                conditional_t<Kind == row_kind::value, v_norm, index_norm>>>;

    template <class Norm>
    static constexpr bool weighted = is_same_v<Norm, plain_gain> || is_same_v<Norm, unit_offset>;

    /// Whether the mean square of a row of this kind is that of all heads of its token.
    static constexpr bool whole_vector = is_same_v<typename Problem::norm_scope, over_vector>;
    template <row_kind Kind>
    static constexpr bool over_vector_of = whole_vector && (Kind == row_kind::query || Kind == row_kind::key)
                                           && !is_same_v<norm_of<Kind>, no_norm>;
    /// Whether any row is normalised.
    static constexpr bool normalises =
        !is_same_v<
            q_norm,
            no_norm> || !is_same_v<k_norm, no_norm> || !is_same_v<v_norm, no_norm> || (index::present && !is_same_v<index_norm, no_norm>);
    /// Whether q, k and index rows are all normalised alike.
    static constexpr bool alike =
        !whole_vector && is_same_v<q_norm, k_norm> && (!index::present || is_same_v<q_norm, index_norm>);

    static constexpr bool given_scales = scaling::source == scale_source::given;
    static constexpr bool found_scales = scaling::source == scale_source::found;
    static constexpr bool head_scales  = given_scales && numerics::scales == scale_shape::head;

    /// V leaves row by row, as K does; else in windows of tokens whose slots share vectors. V that is normalised
    /// with weights or with a scale a head leaves row by row always: a window's rule is about rows or about heads.
    static constexpr bool values_by_rows =
        values::vector_axis == axis::dim || weighted<v_norm> || (head_scales && !is_same_v<v_norm, no_norm>);
    /// Windows of V whose rows are looked at as a whole: for their norm, or for a scale of their own.
    static constexpr bool whole_values = found_scales || !is_same_v<v_norm, no_norm>;

    /// The largest magnitude that the K and V caches hold.
    static constexpr float limit = numerics::limit != 0.0F ? numerics::limit : numeric<element>::largest;

    template <class Norm>
    static constexpr bool is_norm = weighted<Norm> || is_same_v<Norm, no_norm> || is_same_v<Norm, weightless>;

    static_assert(is_same_v<activation, bf16> || is_same_v<activation, fp16>,
                  "qk_norm_rope_insert: activations are bf16 or fp16");
    static_assert(is_same_v<angle, activation> || is_same_v<angle, float>,
                  "qk_norm_rope_insert: the angle table holds the activation type or float");
    static_assert(rotary >= 0 && rotary % 2 == 0 && rotary <= dim,
                  "qk_norm_rope_insert: rotary_dim must be even and at most head_dim");
    static_assert(is_norm<q_norm> && is_norm<k_norm> && is_norm<v_norm> && is_norm<index_norm>,
                  "qk_norm_rope_insert: a norm is no_norm, weightless, plain_gain or unit_offset");
    static_assert(whole_vector || is_same_v<typename Problem::norm_scope, over_head>,
                  "qk_norm_rope_insert: norm_scope is over_head or over_vector");
    static_assert(is_same_v<pairing, neox_pairs> || is_same_v<pairing, interleaved_pairs>,
                  "qk_norm_rope_insert: pairing is neox_pairs or interleaved_pairs");
    static_assert(detail::fits_sections<source, rotary>,
                  "qk_norm_rope_insert: the sections must add up to half of rotary_dim");
    static_assert(is_cache_element_v<element>,
                  "qk_norm_rope_insert: caches hold bf16, fp16, fp8_e4m3 or fp8_e4m3_fnuz");
    static_assert(is_same_v<query, activation> || sizeof(query) == 1,
                  "qk_norm_rope_insert: queries leave in the activation type or in fp8");
    static_assert(dim == 64 || dim == 128 || dim == 256 || dim == 512,
                  "qk_norm_rope_insert: head_dim must be 64, 128, 256 or 512");
    static_assert(is_index_v<slot> && is_index_v<position>,
                  "qk_norm_rope_insert: slots and positions are signed integers of 32 or 64 bits");
    static_assert(scaling::source == scale_source::none || sizeof(element) == 1,
                  "qk_norm_rope_insert: only fp8 caches have a scale");
    static_assert(numerics::query_scaling::source != scale_source::found,
                  "qk_norm_rope_insert: the scale of queries is given, or there is none");
    static_assert(numerics::query_scaling::source == scale_source::none || sizeof(query) == 1,
                  "qk_norm_rope_insert: only fp8 queries have a scale");
    static_assert(numerics::limit >= 0.0F && numerics::limit <= numeric<element>::largest,
                  "qk_norm_rope_insert: the limit must be a number of the cache's format");
};

} // namespace v0
} // namespace kvloom
