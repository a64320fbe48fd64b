// SPDX-License-Identifier: MIT
// What the scalar model of the fused insert is told: a problem, and one call of it. All choices are made at run time.
// Written apart from the library and includes none of its headers.
#pragma once

#include "contract/scalar_formats.hpp"

#include <array>
#include <cstdint>

namespace scalar_model {

enum class norm_kind { none, plain_gain, unit_offset, weightless };

/// How a value becomes an fp8 code: as it is, divided by the scale, multiplied by the scale's reciprocal or by
/// the scale itself.
/// A 16-bit cache takes `none`.
enum class scale_mode { none, unit, divide, reciprocal, multiply };

enum class layout { keys, values, rows, transposed };

/// A scale for each token and head: max(largest magnitude, least) / limit.
struct scale_rule
{
    bool found           = false;
    double least         = 0.0;
    double of_zeros      = 1.0; // of a row of zeros, where `least` is 0
    double least_divisor = 0.0;
    bool after_rounding  = false; // the largest magnitude is taken of values in the activation type
};

struct problem
{
    dtype activation            = dtype::bf16;
    dtype query                 = dtype::bf16;
    dtype cache                 = dtype::bf16;
    dtype angle                 = dtype::bf16;
    norm_kind q_norm            = norm_kind::unit_offset;
    norm_kind k_norm            = norm_kind::unit_offset;
    norm_kind v_norm            = norm_kind::none;
    norm_kind index_norm        = norm_kind::unit_offset;
    bool over_vector            = false; // q and k: one mean square for all heads of a token
    bool interleaved            = false; // pairs (2i, 2i + 1) in place of (i, i + R / 2)
    std::array<int, 3> sections = {};    // frequencies of each section; all zero: one position
    bool sections_in_turn       = false;
    scale_mode scale            = scale_mode::none;
    scale_mode query_scale      = scale_mode::none;
    scale_rule rule;
    bool head_scales  = false; // given scales: one for each head
    double limit      = 0.0;   // the largest magnitude in the cache; 0: the format's
    bool has_index    = false;
    dtype index_cache = dtype::bf16;
    dtype index_query = dtype::bf16;
    bool keys_through_activation =
        true; // K, V and index_k: rounded to the activation type before the cache's
    bool queries_through_activation       = false; // the same for q
    bool index_queries_through_activation = false; // the same for index_q
    overflow fp8_overflow                 = overflow::saturate;
    int head_dim                          = 128;
    int rotary_dim                        = 64;
    int page_size                         = 16;
    int block_pages                       = 1; // pages of K, or of V, that lie together
    int index_page_size                   = 16;
    bool round_before_gain                = false;        // x / rms to the activation type before the weights
    bool round_after_norm                 = false;        // the norm's result to the activation type
    bool rotate_in_activation             = false;        // both products of a rotation, and their sum
    layout key_order                      = layout::keys; // or rows, at the view's token stride
    layout value_order                    = layout::values;
    bool keys_out                         = false;
    bool counts_faults                    = false;

    int position_sections() const { return sections[0] + sections[1] + sections[2] == 0 ? 1 : 3; }
};

/// Rows of `head_dim` elements: head h of token t starts at element t * token_stride + h * head_stride.
struct rows
{
    void* data                = nullptr;
    int heads                 = 0;
    std::int64_t token_stride = 0;
    std::int64_t head_stride  = 0;
};

/// A paged cache; strides in elements.
struct cache
{
    void* data                = nullptr;
    int pages                 = 0;
    int heads                 = 0;
    std::int64_t page_stride  = 0;
    std::int64_t head_stride  = 0;
    std::int64_t token_stride = 0; // layout::rows only
    std::int64_t block_stride = 0; // with block_pages above 1
};

/// Scales that are written out.
struct scales
{
    float* data              = nullptr;
    std::int64_t page_stride = 0;
    std::int64_t head_stride = 0;
};

struct slot_list
{
    std::int64_t const* data = nullptr;
    int count                = 0;
};

struct call
{
    int tokens = 0;
    float eps  = 1e-6f;
    rows q, k, v, index_q, index_k, q_out, index_q_out, k_out, index_k_out;
    void const* q_gain            = nullptr;
    void const* k_gain            = nullptr;
    void const* v_gain            = nullptr;
    void const* index_q_gain      = nullptr;
    void const* index_k_gain      = nullptr;
    void const* angles            = nullptr;
    std::int64_t angle_rows       = 0;
    std::int64_t angle_stride     = 0;
    std::int64_t const* positions = nullptr; // [sections][tokens]
    slot_list slots, index_slots;
    cache keys, values, index_keys;
    float const* key_scale   = nullptr; // one, or one for each head
    float const* value_scale = nullptr;
    float const* query_scale = nullptr;
    scales key_scales, value_scales;
    std::uint32_t* faults = nullptr; // positions, slots, index slots
};

/// Element offset of (slot, dim) inside one head of one page. Vectors are 16 bytes: x elements.
inline std::int64_t offset_in_page(layout const order, dtype const type, int const page_size,
                                   int const head_dim, int const slot, int const dim)
{
    int const x = 16 / size_of(type);
    switch (order) {
    case layout::keys:
        return ((dim / x) * std::int64_t{page_size} + slot) * x + dim % x; // [D / x][page][x]
    case layout::transposed:
        return std::int64_t{dim} * page_size + slot;
    case layout::values:
        return ((slot / x) * std::int64_t{head_dim} + dim) * x + slot % x; // [page / x][D][x]
    case layout::rows:
        break;
    }
    return std::int64_t{slot} * head_dim + dim;
}

/// Element offset of one cache element, in 64 bits from the first factor on.
inline std::int64_t offset_in_cache(cache const& c, layout const order, dtype const type, int const page_size,
                                    int const head_dim, std::int64_t const slot, int const head,
                                    int const dim, int const block_pages = 1)
{
    std::int64_t const page = slot / page_size;
    int const inside        = static_cast<int>(slot % page_size);
    std::int64_t const base = page / block_pages * (block_pages > 1 ? c.block_stride : c.page_stride)
                              + page % block_pages * c.page_stride + head * c.head_stride;
    if (order == layout::rows) {
        return base + inside * c.token_stride + dim;
    }
    return base + offset_in_page(order, type, page_size, head_dim, inside, dim);
}

} // namespace scalar_model
