// SPDX-License-Identifier: MIT
// The contract of the fused insert as a scalar program: one element at a time, every rounding written down, exact bytes
// of every output. All choices are made at run time. Written apart from the library and includes none of its headers.
#pragma once

#include "contract/scalar_formats.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace scalar_model {

enum class norm_kind { none, plain_gain, unit_offset, weightless };

/// How a value becomes an fp8 code: as it is, divided by the scale, or multiplied by the scale's reciprocal.
/// A 16-bit cache takes `none`.
enum class scale_mode { none, unit, divide, reciprocal };

enum class layout { keys, values, rows, transposed };

struct problem
{
    dtype activation             = dtype::bf16;
    dtype cache                  = dtype::bf16;
    dtype angle                  = dtype::bf16;
    norm_kind norm               = norm_kind::unit_offset;
    scale_mode scale             = scale_mode::none;
    bool has_index               = false;
    dtype index_cache            = dtype::bf16;
    dtype index_query            = dtype::bf16;
    bool keys_through_activation = true; // K and index_k: rounded to the activation type before the cache's
    bool index_queries_through_activation = false; // the same for index_q
    overflow fp8_overflow                 = overflow::saturate;
    int head_dim                          = 128;
    int rotary_dim                        = 64;
    int page_size                         = 16;
    int index_page_size                   = 16;
    bool round_before_gain                = false;        // x / rms to the activation type before the weights
    bool round_after_norm                 = false;        // the norm's result to the activation type
    bool rotate_in_activation             = false;        // both products of a rotation, and their sum
    layout key_order                      = layout::keys; // or rows, at the view's token stride
    layout value_order                    = layout::values;
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
    rows q, k, v, index_q, index_k, q_out, index_q_out;
    void const* q_gain            = nullptr;
    void const* k_gain            = nullptr;
    void const* index_q_gain      = nullptr;
    void const* index_k_gain      = nullptr;
    void const* angles            = nullptr;
    std::int64_t angle_rows       = 0;
    std::int64_t angle_stride     = 0;
    std::int64_t const* positions = nullptr;
    slot_list slots, index_slots;
    cache keys, values, index_keys;
    float key_scale   = 1.0f;
    float value_scale = 1.0f;
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
                                    int const dim)
{
    std::int64_t const page = slot / page_size;
    int const inside        = static_cast<int>(slot % page_size);
    std::int64_t const base = page * c.page_stride + head * c.head_stride;
    if (order == layout::rows) {
        return base + inside * c.token_stride + dim;
    }
    return base + offset_in_page(order, type, page_size, head_dim, inside, dim);
}

// Each operation below rounds once to fp32. A product of two fp32 numbers is exact in double, and a sum, quotient or
// root that is rounded to double first rounds to fp32 as if it had been rounded once; so no compiler can contract them.
inline float product(float const a, float const b)
{
    return static_cast<float>(static_cast<double>(a) * static_cast<double>(b));
}
inline float sum(float const a, float const b)
{
    return static_cast<float>(static_cast<double>(a) + static_cast<double>(b));
}
inline float quotient(float const a, float const b)
{
    return static_cast<float>(static_cast<double>(a) / static_cast<double>(b));
}
inline float root(float const a)
{
    return static_cast<float>(std::sqrt(static_cast<double>(a)));
}
inline float fused(float const a, float const b, float const c)
{
    return std::fma(a, b, c);
}

/// Squares in runs of eight neighbours, each an even and an odd chain; then runs pairwise at distance 1, 2, 4, ...
inline float sum_of_squares(std::vector<float> const& x)
{
    std::size_t count = 1;
    while (count * 8 < x.size()) {
        count *= 2;
    }
    std::vector<float> runs(count, 0.0f);
    for (std::size_t run = 0; run * 8 < x.size(); ++run) {
        float chain[2] = {};
        for (int parity = 0; parity < 2; ++parity) {
            float const* const first = &x[run * 8 + static_cast<std::size_t>(parity)];
            chain[parity]            = product(first[0], first[0]);
            for (int step = 2; step < 8; step += 2) {
                chain[parity] = fused(first[step], first[step], chain[parity]);
            }
        }
        runs[run] = sum(chain[0], chain[1]);
    }
    for (std::size_t distance = 1; distance < count; distance *= 2) {
        for (std::size_t run = 0; run < count; run += 2 * distance) {
            runs[run] = sum(runs[run], runs[run + distance]);
        }
    }
    return runs[0];
}

inline void normalise(problem const& p, std::vector<float>& x, void const* const gain, float const eps)
{
    if (p.norm == norm_kind::none) {
        return;
    }
    float const share = quotient(1.0f, static_cast<float>(x.size()));
    float const scale = quotient(1.0f, root(fused(sum_of_squares(x), share, eps)));
    for (std::size_t d = 0; d < x.size(); ++d) {
        x[d] = product(x[d], scale);
        if (p.round_before_gain) {
            x[d] = round_to(p.activation, x[d]);
        }
        if (p.norm != norm_kind::weightless) {
            float const weight = read(p.activation, gain, static_cast<std::int64_t>(d));
            x[d]               = product(x[d], p.norm == norm_kind::unit_offset ? sum(1.0f, weight) : weight);
        }
        if (p.round_after_norm) {
            x[d] = round_to(p.activation, x[d]);
        }
    }
}

inline void rotate(problem const& p, std::vector<float>& n, void const* const angles, std::int64_t const row)
{
    int const half = p.rotary_dim / 2;
    for (int d = 0; d < half; ++d) {
        float const cosine = read(p.angle, angles, row + d);
        float const sine   = read(p.angle, angles, row + half + d);
        float const low    = n[static_cast<std::size_t>(d)];
        float const high   = n[static_cast<std::size_t>(d + half)];

        auto const turned = [&](float const own, float const other) {
            if (!p.rotate_in_activation) {
                return fused(own, cosine, product(other, sine));
            }
            float const first  = round_to(p.activation, product(own, cosine));
            float const second = round_to(p.activation, product(other, sine));
            return round_to(p.activation, sum(first, second));
        };
        n[static_cast<std::size_t>(d)]        = turned(low, -high);
        n[static_cast<std::size_t>(d + half)] = turned(high, low);
    }
}

/// What a cache of type `type` holds for `number`.
inline unsigned cache_code(dtype const type, scale_mode const mode, float const number, float const scale,
                           overflow const policy = overflow::saturate)
{
    switch (mode) {
    case scale_mode::divide:
        return encode(type, quotient(number, scale), policy);
    case scale_mode::reciprocal:
        return encode(type, product(number, quotient(1.0f, scale)), policy);
    default:
        return encode(type, number, policy);
    }
}

/// The slot of a token, or -1 where nothing is to be stored.
inline std::int64_t slot_of(slot_list const& slots, int const token, int const pages, int const page_size)
{
    if (token >= slots.count || slots.data[token] < 0
        || slots.data[token] >= std::int64_t{pages} * page_size) {
        return -1;
    }
    return slots.data[token];
}

namespace detail {

inline std::vector<float> load_row(problem const& p, rows const& from, int const token, int const head)
{
    std::vector<float> x(static_cast<std::size_t>(p.head_dim));
    for (int d = 0; d < p.head_dim; ++d) {
        std::int64_t const at          = token * from.token_stride + head * from.head_stride + d;
        x[static_cast<std::size_t>(d)] = read(p.activation, from.data, at);
    }
    return x;
}

inline std::vector<float> prepared(problem const& p, call const& a, rows const& from, void const* gain,
                                   int token, int head)
{
    std::vector<float> x = load_row(p, from, token, head);
    normalise(p, x, gain, a.eps);
    if (p.rotary_dim > 0) {
        rotate(p, x, a.angles, a.positions[token] * a.angle_stride);
    }
    return x;
}

inline void store_row(problem const& p, rows const& to, dtype const type, bool const round_first,
                      int const token, int const head, std::vector<float> const& y)
{
    for (int d = 0; d < p.head_dim; ++d) {
        float const number    = y[static_cast<std::size_t>(d)];
        std::int64_t const at = token * to.token_stride + head * to.head_stride + d;
        write(type, to.data, at, round_first ? round_to(p.activation, number) : number, p.fp8_overflow);
    }
}

struct target
{
    cache const& into;
    layout order;
    dtype type;
    scale_mode mode;
    float scale;
    int page_size;
};

inline void store_in_cache(problem const& p, target const& to, std::int64_t const slot, int const head,
                           std::vector<float> const& y)
{
    for (int d = 0; d < p.head_dim; ++d) {
        float const exact  = y[static_cast<std::size_t>(d)];
        float const number = p.keys_through_activation ? round_to(p.activation, exact) : exact;
        auto const at = offset_in_cache(to.into, to.order, to.type, to.page_size, p.head_dim, slot, head, d);
        write_code(to.type, static_cast<unsigned char*>(to.into.data) + at * size_of(to.type),
                   cache_code(to.type, to.mode, number, to.scale, p.fp8_overflow));
    }
}

} // namespace detail

/// Runs the whole call on the memory that `a` points to. q_out may be q.
inline void run(problem const& p, call const& a)
{
    std::vector<float> const zeros(static_cast<std::size_t>(p.head_dim), 0.0f);
    for (int token = 0; token < a.tokens; ++token) {
        bool const known =
            p.rotary_dim == 0 || (a.positions[token] >= 0 && a.positions[token] < a.angle_rows);
        for (int head = 0; head < a.q.heads; ++head) {
            auto const y = known ? detail::prepared(p, a, a.q, a.q_gain, token, head) : zeros;
            detail::store_row(p, a.q_out, p.activation, true, token, head, y);
        }
        for (int head = 0; p.has_index && head < a.index_q.heads; ++head) {
            auto const y = known ? detail::prepared(p, a, a.index_q, a.index_q_gain, token, head) : zeros;
            detail::store_row(p, a.index_q_out, p.index_query, p.index_queries_through_activation, token,
                              head, y);
        }
        if (!known) {
            continue;
        }
        // K and V take a token together or not at all
        int const pages         = a.keys.pages < a.values.pages ? a.keys.pages : a.values.pages;
        std::int64_t const slot = slot_of(a.slots, token, pages, p.page_size);
        for (int head = 0; slot >= 0 && head < a.keys.heads; ++head) {
            detail::target const key{a.keys, p.key_order, p.cache, p.scale, a.key_scale, p.page_size};
            detail::target const value{a.values, p.value_order, p.cache, p.scale, a.value_scale, p.page_size};
            detail::store_in_cache(p, key, slot, head, detail::prepared(p, a, a.k, a.k_gain, token, head));
            detail::store_in_cache(p, value, slot, head, detail::load_row(p, a.v, token, head));
        }
        if (p.has_index) {
            std::int64_t const place = slot_of(a.index_slots, token, a.index_keys.pages, p.index_page_size);
            if (place >= 0) {
                detail::target const to{a.index_keys,     layout::rows, p.index_cache,
                                        scale_mode::none, 1.0f,         p.index_page_size};
                detail::store_in_cache(p, to, place, 0,
                                       detail::prepared(p, a, a.index_k, a.index_k_gain, token, 0));
            }
        }
    }
}

} // namespace scalar_model
