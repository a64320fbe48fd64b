// SPDX-License-Identifier: MIT
// Caches, scales and page ids in guarded memory for the tests of copy_pages and read_back, beside their
// models.
#pragma once

#include "contract/page_model.hpp"
#include "kvloom/kernel/page_rows.hpp"
#include "support/data.hpp"
#include "support/machines.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace kvloom_test {

using kvloom::bf16;
using kvloom::fp16;
using kvloom::fp8_e4m3;
using kvloom::fp8_e4m3_fnuz;
using page_model::scale_kind;

template <class T>
scalar_model::dtype dtype_of()
{
    return kvloom::is_same_v<T, bf16>            ? scalar_model::dtype::bf16
           : kvloom::is_same_v<T, fp16>          ? scalar_model::dtype::fp16
           : kvloom::is_same_v<T, fp8_e4m3>      ? scalar_model::dtype::fp8_e4m3
           : kvloom::is_same_v<T, fp8_e4m3_fnuz> ? scalar_model::dtype::fp8_e4m3_fnuz
                                                 : scalar_model::dtype::fp32;
}

template <class Layout>
struct order_of;
template <class T, int Dim, int PageSize>
struct order_of<kvloom::shuffled_keys<T, Dim, PageSize>>
{
    static constexpr page_model::layout value = page_model::layout::keys;
};
template <class T, int Dim, int PageSize>
struct order_of<kvloom::shuffled_values<T, Dim, PageSize>>
{
    static constexpr page_model::layout value = page_model::layout::values;
};
template <class T, int Dim, int PageSize>
struct order_of<kvloom::transposed_values<T, Dim, PageSize>>
{
    static constexpr page_model::layout value = page_model::layout::transposed;
};
template <class T, int Dim, int PageSize>
struct order_of<kvloom::token_rows<T, Dim, PageSize>>
{
    static constexpr page_model::layout value = page_model::layout::rows;
};

template <class Scale>
scale_kind kind_of()
{
    return kvloom::is_same_v<Scale, kvloom::no_scale>      ? scale_kind::none
           : kvloom::is_same_v<Scale, kvloom::cache_scale> ? scale_kind::cache
           : kvloom::is_same_v<Scale, kvloom::head_scale>  ? scale_kind::head
                                                           : scale_kind::row;
}

/// Bytes that show any write.
inline void fill_with_marks(block& b)
{
    for (std::size_t i = 0; i < b.bytes.size(); ++i) {
        b.bytes[i] = static_cast<unsigned char>(0x21 + i * 7 % 61); // never NaN
    }
    b.guard_byte = 0x5A;
}

/// Room for `elements` elements, all of them NaN in every format but fnuz.
inline block room_for(scalar_model::dtype const type, std::int64_t const elements)
{
    block b;
    b.type = type;
    b.bytes.assign(static_cast<std::size_t>(elements * scalar_model::size_of(type)), 0xFF);
    return b;
}

/// How the pages of a cache lie.
enum class page_form {
    dense,
    apart, // gaps between pages, heads and tokens
    outer, // heads outside the pages; token rows with the heads of a token side by side (NHD)
};

struct page_options
{
    int heads          = 2;
    int pages          = 5;
    page_form form     = page_form::dense;
    bool special       = true;  // NaN and infinities among the numbers
    bool any_bits      = false; // random bytes in place of numbers
    std::uint64_t seed = 1;
};

/// A cache's strides, and how many elements it spans.
inline std::int64_t lay_out(page_model::cache& c, page_form const form)
{
    std::int64_t const vector = 16 / scalar_model::size_of(c.type);
    std::int64_t const gap    = form == page_form::apart ? vector : 0;
    std::int64_t const span   = std::int64_t{c.page_size} * c.dim;
    std::int64_t const blocks = (c.pages + c.block_pages - 1) / c.block_pages;
    if (form == page_form::outer && c.order == page_model::layout::rows) {
        c.head_stride  = c.dim;
        c.token_stride = c.heads * c.head_stride;
        c.page_stride  = c.page_size * c.token_stride;
    } else if (form == page_form::outer && c.block_pages == 1) {
        c.token_stride = c.dim;
        c.page_stride  = span;
        c.head_stride  = c.pages * span + vector;
        return c.heads * c.head_stride;
    } else {
        c.token_stride = c.dim + gap;
        c.head_stride =
            c.order == page_model::layout::rows ? c.page_size * c.token_stride + gap : span + 3 * gap;
        c.page_stride = c.heads * c.head_stride + 2 * gap;
    }
    if (c.block_pages > 1) { // the pages of another cache between the blocks
        c.block_stride = 2 * c.block_pages * c.page_stride + gap;
        return blocks * c.block_stride;
    }
    return c.pages * c.page_stride;
}

/// Numbers that decide something in every row; `c.data` is set.
inline void fill_cache(page_model::cache const& c, page_options const& o, random_source& random)
{
    for (int page = 0; page < c.pages; ++page) {
        for (int head = 0; head < c.heads; ++head) {
            for (int slot = 0; slot < c.page_size; ++slot) {
                auto const kind = pick_kind(random, o.special);
                for (int d = 0; d < c.dim; ++d) {
                    std::int64_t const at = page_model::offset(c, page, head, slot, d);
                    scalar_model::write(c.type, c.data, at, element_of(kind, random, d));
                }
            }
        }
    }
}

template <class Layout, int BlockPages>
page_model::cache describe_cache(page_options const& o)
{
    page_model::cache c;
    c.type        = dtype_of<typename Layout::element>();
    c.order       = order_of<Layout>::value;
    c.page_size   = Layout::page_size;
    c.dim         = Layout::dim;
    c.pages       = o.pages;
    c.heads       = o.heads;
    c.block_pages = BlockPages;
    return c;
}

/// Bytes of a cache: numbers where it is a source, else what shows any write.
inline block make_cache(page_model::cache& c, page_options const& o, bool const source)
{
    block b = room_for(c.type, lay_out(c, o.form));
    b.guard = static_cast<std::size_t>(c.page_stride * scalar_model::size_of(c.type) + 255) / 256 * 256;
    if (!source) {
        fill_with_marks(b);
        return b;
    }
    random_source random(o.seed * 7919 + 1);
    if (o.any_bits) {
        for (unsigned char& byte : b.bytes) {
            byte = static_cast<unsigned char>(random.below(256));
        }
    } else {
        c.data = b.bytes.data();
        fill_cache(c, o, random);
    }
    return b;
}

/// Scales of a cache, none of them 1; those of rows in the order [page][head][slot], or with gaps
/// [head][page][slot].
inline block make_scales(page_model::scales& s, page_model::cache const& c, page_options const& o)
{
    std::int64_t count = s.kind == scale_kind::none ? 0 : s.kind == scale_kind::cache ? 1 : c.heads;
    if (s.kind == scale_kind::row) {
        bool const dense = o.form == page_form::dense;
        s.page_stride    = dense ? c.heads * c.page_size : c.page_size + 3;
        s.head_stride    = dense ? c.page_size : c.pages * s.page_stride + 1;
        count            = dense ? c.pages * s.page_stride : c.heads * s.head_stride;
    }
    random_source random(o.seed * 104729 + 3);
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < count; ++i) {
        numbers.push_back(std::ldexp(0.51 + 0.4 * random.uniform(), random.below(7) - 4));
    }
    block b = room_for(scalar_model::dtype::fp32, count);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        scalar_model::write(b.type, b.bytes.data(), static_cast<std::int64_t>(i), numbers[i]);
    }
    b.guard_byte = 0x5A;
    return b;
}

/// Page ids of 32 or 64 bits. What surrounds them are zeros, a page that would be used.
inline block make_ids(std::vector<std::int64_t> const& ids, bool const wide)
{
    block b;
    b.integers   = true;
    b.guard_byte = 0;
    b.bytes.resize(ids.size() * (wide ? 8 : 4));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        auto const narrow = static_cast<std::int32_t>(ids[i]);
        std::memcpy(&b.bytes[i * (wide ? 8 : 4)], wide ? static_cast<void const*>(&ids[i]) : &narrow,
                    wide ? 8 : 4);
    }
    return b;
}

/// Distinct pages in random order, every third of them out of range: negative, just beyond, or far beyond.
inline std::vector<std::int64_t> make_page_ids(random_source& random, int const pages, int const count,
                                               bool const faulty, bool const wide, int const phase)
{
    std::int64_t const lost[] = {-1, pages, wide ? (std::int64_t{1} << 32) + 1 : pages + 1,
                                 std::numeric_limits<std::int32_t>::min(),
                                 wide ? std::numeric_limits<std::int64_t>::max() : -7};
    auto const order          = permutation(random, pages);
    std::vector<std::int64_t> ids;
    for (int i = 0; i < count; ++i) {
        bool const bad = faulty && i % 3 == phase;
        ids.push_back(bad ? lost[(i / 3 + phase) % 5] : order[static_cast<std::size_t>(i)]);
    }
    return ids;
}

/// The first element at which two arrays differ; where `bits`, NaN is told from NaN.
inline std::string first_difference(scalar_model::dtype const type, std::vector<unsigned char> const& want,
                                    std::vector<unsigned char> const& got, bool const bits)
{
    auto const size = static_cast<std::size_t>(scalar_model::size_of(type));
    for (std::size_t at = 0; at + size <= want.size(); at += size) {
        unsigned const wanted = scalar_model::read_code(type, &want[at]);
        unsigned const found  = scalar_model::read_code(type, &got[at]);
        bool const both_nan =
            scalar_model::is_nan_code(type, wanted) && scalar_model::is_nan_code(type, found);
        if (wanted != found && (bits || !both_nan)) {
            return "element " + std::to_string(at / size) + " of " + std::to_string(want.size() / size)
                   + " is code " + std::to_string(found) + ", not " + std::to_string(wanted);
        }
    }
    return "";
}

template <class View>
void set_view(View& view, page_model::cache const& c, guarded_buffer const& memory)
{
    view.data         = reinterpret_cast<typename View::element*>(memory.data());
    view.pages        = c.pages;
    view.heads        = c.heads;
    view.page_stride  = c.page_stride;
    view.head_stride  = c.head_stride;
    view.token_stride = c.token_stride;
    view.block_stride = c.block_stride;
}

template <class Scale>
void set_scale(Scale& scale, [[maybe_unused]] page_model::scales const& s,
               [[maybe_unused]] guarded_buffer const& memory)
{
    if constexpr (kvloom::is_same_v<Scale, kvloom::scale_view>) {
        scale = {reinterpret_cast<float*>(memory.data()), s.page_stride, s.head_stride};
    } else if constexpr (!kvloom::is_same_v<Scale, kvloom::no_scale>) {
        scale.data = reinterpret_cast<float*>(memory.data());
    }
}

} // namespace kvloom_test
