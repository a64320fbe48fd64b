// SPDX-License-Identifier: MIT
// copy_pages and read_back as scalar programs: one element at a time, exact bytes. All choices are made at
// run time. Written apart from the library and includes none of its headers.
#pragma once

#include "contract/scalar_formats.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace page_model {

using scalar_model::dtype;
using scalar_model::overflow;

enum class layout { keys, values, transposed, rows };

// A product of two fp32 numbers is exact in double, and a quotient that is rounded to double first rounds to
// fp32 as if it had been rounded once.
inline float product(float const a, float const b)
{
    return static_cast<float>(static_cast<double>(a) * static_cast<double>(b));
}
inline float quotient(float const a, float const b)
{
    return static_cast<float>(static_cast<double>(a) / static_cast<double>(b));
}

/// A paged cache; strides in elements. Pages of a block lie `page_stride` apart, blocks `block_stride`.
struct cache
{
    dtype type                = dtype::bf16;
    layout order              = layout::rows;
    int page_size             = 16;
    int dim                   = 128;
    int pages                 = 0;
    int heads                 = 0;
    int block_pages           = 1;
    std::int64_t page_stride  = 0;
    std::int64_t head_stride  = 0;
    std::int64_t token_stride = 0; // layout::rows only
    std::int64_t block_stride = 0; // where block_pages is above 1
    unsigned char* data       = nullptr;
};

inline std::int64_t offset(cache const& c, std::int64_t const page, int const head, int const slot,
                           int const dim)
{
    std::int64_t at = head * c.head_stride;
    if (c.block_pages == 1) {
        at += page * c.page_stride;
    } else {
        at += page / c.block_pages * c.block_stride + page % c.block_pages * c.page_stride;
    }
    int const x = 16 / scalar_model::size_of(c.type); // elements of a vector of 16 bytes
    switch (c.order) {
    case layout::keys: // [dim / x][slot][x]
        return at + (dim / x * std::int64_t{c.page_size} + slot) * x + dim % x;
    case layout::values: // [slot / x][dim][x]
        return at + (slot / x * std::int64_t{c.dim} + dim) * x + slot % x;
    case layout::transposed: // [dim][slot]
        return at + std::int64_t{dim} * c.page_size + slot;
    case layout::rows:
        break;
    }
    return at + slot * c.token_stride + dim;
}

enum class scale_kind { none, cache, head, row };

/// Dequant scales: one, one a head, or one at page * page_stride + head * head_stride + slot.
struct scales
{
    scale_kind kind          = scale_kind::none;
    float* data              = nullptr;
    std::int64_t page_stride = 0;
    std::int64_t head_stride = 0;

    float& at(std::int64_t const page, int const head, int const slot) const
    {
        switch (kind) {
        case scale_kind::head:
            return data[head];
        case scale_kind::row:
            return data[page * page_stride + head * head_stride + slot];
        default:
            return data[0];
        }
    }
};

inline float value_of(cache const& c, scales const& by, std::int64_t const page, int const head,
                      int const slot, int const dim)
{
    float const stored = scalar_model::read(c.type, c.data, offset(c, page, head, slot, dim));
    return by.kind == scale_kind::none ? stored : product(stored, by.at(page, head, slot));
}

inline float largest_of(dtype const type)
{
    return static_cast<float>(scalar_model::decode(type, scalar_model::fields_of(type).largest));
}

/// Whether copying from one cache to another keeps bits, and then copies scales too where they belong to
/// rows.
inline bool keeps_bits(cache const& source, scales const& by, cache const& target, scales const& over)
{
    bool const plain = by.kind == scale_kind::none && over.kind == scale_kind::none;
    bool const rows  = by.kind == scale_kind::row && over.kind == scale_kind::row;
    return source.type == target.type && (plain || rows);
}

struct pair
{
    std::int64_t source = 0;
    std::int64_t target = 0;
};

/// One row from page to page.
inline void copy_row(cache const& source, scales const& by, cache const& target, scales const& over,
                     pair const& p, int const head, int const slot, overflow const policy)
{
    auto const width = static_cast<std::int64_t>(scalar_model::size_of(target.type));
    if (keeps_bits(source, by, target, over)) {
        for (int d = 0; d < source.dim; ++d) {
            for (std::int64_t i = 0; i < width; ++i) {
                target.data[offset(target, p.target, head, slot, d) * width + i] =
                    source.data[offset(source, p.source, head, slot, d) * width + i];
            }
        }
        if (over.kind == scale_kind::row) {
            over.at(p.target, head, slot) = by.at(p.source, head, slot);
        }
        return;
    }
    float divisor = 1.0f;
    if (over.kind == scale_kind::row) {
        double most = 0.0;
        for (int d = 0; d < source.dim; ++d) {
            double const size = std::fabs(value_of(source, by, p.source, head, slot, d));
            most              = size > most ? size : most; // never for NaN
        }
        double const limit = std::numeric_limits<float>::max();
        divisor = quotient(static_cast<float>(most > limit ? limit : most), largest_of(target.type));
        divisor = divisor > 0.0f ? divisor : 1.0f;
        over.at(p.target, head, slot) = divisor;
    } else if (over.kind != scale_kind::none) {
        divisor = over.at(p.target, head, slot);
        divisor = std::isfinite(divisor) && divisor != 0.0f ? divisor : 1.0f;
    }
    for (int d = 0; d < source.dim; ++d) {
        float const value  = value_of(source, by, p.source, head, slot, d);
        float const stored = over.kind == scale_kind::none ? value : quotient(value, divisor);
        scalar_model::write(target.type, target.data, offset(target, p.target, head, slot, d), stored,
                            policy);
    }
}

inline void copy(cache const& source, scales const& by, cache const& target, scales const& over,
                 std::vector<pair> const& pairs, overflow const policy)
{
    for (pair const& p : pairs) {
        if (p.source < 0 || p.source >= source.pages || p.target < 0 || p.target >= target.pages) {
            continue;
        }
        for (int head = 0; head < source.heads; ++head) {
            for (int slot = 0; slot < source.page_size; ++slot) {
                copy_row(source, by, target, over, p, head, slot, policy);
            }
        }
    }
}

/// Rows [tokens][heads][dim] with strides in elements.
struct rows
{
    dtype type                = dtype::bf16;
    std::int64_t token_stride = 0;
    std::int64_t head_stride  = 0;
    unsigned char* data       = nullptr;
};

/// Tokens first .. first + count - 1 of a sequence, whose pages `ids` names, to rows from `row` on.
inline void read_sequence(cache const& source, scales const& by, std::vector<std::int64_t> const& ids,
                          std::int64_t const first, int const count, rows const& out, std::int64_t const row)
{
    auto const width = static_cast<std::int64_t>(scalar_model::size_of(out.type));
    bool const moves = source.type == out.type && by.kind == scale_kind::none;
    for (int t = 0; t < count; ++t) {
        std::int64_t const position = first + t;
        std::int64_t const page     = ids[static_cast<std::size_t>(position / source.page_size)];
        int const slot              = static_cast<int>(position % source.page_size);
        bool const known            = page >= 0 && page < source.pages;
        for (int head = 0; head < source.heads; ++head) {
            for (int d = 0; d < source.dim; ++d) {
                std::int64_t const to = (row + t) * out.token_stride + head * out.head_stride + d;
                if (!known) {
                    scalar_model::write(out.type, out.data, to, 0.0);
                } else if (moves) {
                    for (std::int64_t i = 0; i < width; ++i) {
                        out.data[to * width + i] =
                            source.data[offset(source, page, head, slot, d) * width + i];
                    }
                } else {
                    scalar_model::write(out.type, out.data, to, value_of(source, by, page, head, slot, d));
                }
            }
        }
    }
}

} // namespace page_model
