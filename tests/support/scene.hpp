// SPDX-License-Identifier: MIT
// A scene: every input and output of one call of the fused insert as named blocks of bytes, with nothing of the library in it.
#pragma once

#include "contract/scalar_model.hpp"
#include "support/data.hpp"

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace kvloom_test {

enum block_id {
    block_rows, // the packed projection rows
    block_q_out,
    block_index_q_out,
    block_keys,
    block_values,
    block_index_keys,
    block_q_gain,
    block_k_gain,
    block_index_q_gain,
    block_index_k_gain,
    block_angles,
    block_positions,
    block_slots,
    block_index_slots,
    block_key_scale,
    block_value_scale,
    block_count
};

inline char const* name_of(block_id const id)
{
    char const* const names[] = {"rows",         "q_out",        "index_q_out", "keys",
                                 "values",       "index_keys",   "q_gain",      "k_gain",
                                 "index_q_gain", "index_k_gain", "angles",      "positions",
                                 "slots",        "index_slots",  "key_scale",   "value_scale"};
    return names[id];
}

/// Bytes of one array, and how its surroundings are filled: with what would show, were it read or written.
struct block
{
    scalar_model::dtype type = scalar_model::dtype::fp32; // for NaN comparison; integers count as fp32 bits
    bool integers            = false;
    std::vector<unsigned char> bytes;
    std::size_t guard        = 256;
    unsigned char guard_byte = 0xFF; // NaN in every float format but fnuz, -1 in integers
};

using image = std::vector<std::vector<unsigned char>>; // the bytes of every block

struct rows_at
{
    block_id block            = block_rows;
    std::int64_t first        = 0; // in elements, as are the strides
    int heads                 = 0;
    std::int64_t token_stride = 0;
    std::int64_t head_stride  = 0;
};

struct cache_at
{
    block_id block            = block_keys;
    std::int64_t first        = 0;
    int pages                 = 0;
    int heads                 = 0;
    std::int64_t page_stride  = 0;
    std::int64_t head_stride  = 0;
    std::int64_t token_stride = 0;
};

/// How the pages of K and V lie.
enum class cache_form {
    dense,
    apart,       // gaps between the pages, between the heads, and between the tokens of an index page
    interleaved, // one storage: a page of K, then a page of V
};

struct scene_options
{
    int tokens               = 7;
    int q_heads              = 5;
    int kv_heads             = 2;
    int index_heads          = 1;
    slot_pattern slots       = slot_pattern::consecutive;
    slot_pattern index_slots = slot_pattern::consecutive;
    cache_form caches        = cache_form::dense;
    int row_gap              = 0; // elements between packed rows, filled with NaN
    int head_gap             = 0; // elements between the heads of all rows and outputs, in the sources NaN
    int angle_gap            = 0; // elements between the rows of the table, NaN too
    int angle_rows           = 300;
    int missing_value_pages  = 0;     // by which V has fewer pages than K
    bool in_place            = false; // q_out is q
    bool faulty_positions    = false;
    bool index_in_place      = false; // index_q_out is index_q
    bool special_values      = false;
    float eps                = 1e-6f;
    float key_scale          = 1.0f;
    float value_scale        = 1.0f;
    std::uint64_t seed       = 1;
};

struct scene
{
    scalar_model::problem problem;
    scene_options options;
    bool wide_slots     = true;
    bool wide_positions = true;
    std::vector<block> blocks{block_count};
    rows_at q, k, v, index_q, index_k, q_out, index_q_out;
    cache_at keys, values, index_keys;
    std::vector<std::int64_t> slots, index_slots, positions;
    std::int64_t angle_rows = 0;

    std::string name() const
    {
        std::ostringstream text;
        scene_options const& o = options;
        text << o.tokens << " tokens, heads " << o.q_heads << '/' << o.kv_heads << '/' << o.index_heads
             << ", slots " << name_of(o.slots) << ", index slots " << name_of(o.index_slots) << ", caches "
             << static_cast<int>(o.caches) << ", row gap " << o.row_gap << ", head gap " << o.head_gap
             << (o.in_place ? ", in place" : "") << (o.faulty_positions ? ", faulty positions" : "")
             << (o.special_values ? ", special values" : "") << ", seed " << o.seed;
        return text.str();
    }

    image initial() const
    {
        image bytes;
        for (block const& b : blocks) {
            bytes.push_back(b.bytes);
        }
        return bytes;
    }
};

/// What outputs hold before the call. Never NaN in any format, and another byte than its neighbours.
inline unsigned char poison(std::size_t const at)
{
    return static_cast<unsigned char>(0x21 + at * 7 % 61);
}

namespace detail {

inline void resize(block& b, scalar_model::dtype const type, std::int64_t const elements)
{
    b.type = type;
    b.bytes.assign(static_cast<std::size_t>(elements * scalar_model::size_of(type)), 0xFF);
}

inline void fill_poison(block& b)
{
    for (std::size_t i = 0; i < b.bytes.size(); ++i) {
        b.bytes[i] = poison(i);
    }
    b.guard_byte = 0x5A;
}

inline void put_numbers(block& b, scalar_model::dtype const type, std::vector<double> const& numbers)
{
    resize(b, type, static_cast<std::int64_t>(numbers.size()));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        scalar_model::write(type, b.bytes.data(), static_cast<std::int64_t>(i), numbers[i]);
    }
}

/// Integers of 32 or 64 bits. What follows them are zeros, a slot and a position that would be used.
inline void put_integers(block& b, std::vector<std::int64_t> const& numbers, bool const wide)
{
    b.integers   = true;
    b.guard_byte = 0;
    b.bytes.clear();
    for (std::int64_t const number : numbers) {
        auto const narrow       = static_cast<std::int32_t>(number);
        auto const* const first = wide ? reinterpret_cast<unsigned char const*>(&number)
                                       : reinterpret_cast<unsigned char const*>(&narrow);
        b.bytes.insert(b.bytes.end(), first, first + (wide ? 8 : 4));
    }
}

inline void make_rows(scene& s, random_source& random)
{
    scene_options const& o         = s.options;
    std::int64_t const size        = s.problem.head_dim;
    std::int64_t const head_stride = size + o.head_gap;
    int const index_heads          = s.problem.has_index ? o.index_heads : 0;
    int const heads                = o.q_heads + 2 * o.kv_heads + index_heads + (s.problem.has_index ? 1 : 0);
    std::int64_t const stride      = heads * head_stride + o.row_gap;
    block& rows                    = s.blocks[block_rows];
    resize(rows, s.problem.activation, o.tokens * stride);
    for (int token = 0; token < o.tokens; ++token) {
        for (int head = 0; head < heads; ++head) {
            fill_row(rows.type, rows.bytes.data(), token * stride + head * head_stride, s.problem.head_dim,
                     pick_kind(random, o.special_values), random);
        }
    }
    std::int64_t first = 0;
    auto const section = [&](int const count) {
        rows_at const at{block_rows, first, count, stride, head_stride};
        first += count * head_stride;
        return at;
    };
    s.q       = section(o.q_heads);
    s.k       = section(o.kv_heads);
    s.v       = section(o.kv_heads);
    s.index_q = section(index_heads);
    s.index_k = section(s.problem.has_index ? 1 : 0);

    auto const output = [&](block_id const id, scalar_model::dtype const type, int const count) {
        std::int64_t const vector = 16 / scalar_model::size_of(type);
        std::int64_t const gap    = o.head_gap > 0 ? vector : 0;
        rows_at const at{id, 0, count, count * (size + gap) + o.row_gap / 8 * vector, size + gap};
        resize(s.blocks[id], type, o.tokens * at.token_stride);
        fill_poison(s.blocks[id]);
        return at;
    };
    s.q_out       = output(block_q_out, s.problem.activation, o.in_place ? 0 : o.q_heads);
    s.q_out       = o.in_place ? s.q : s.q_out;
    s.index_q_out = output(block_index_q_out, s.problem.index_query, o.index_in_place ? 0 : index_heads);
    s.index_q_out = o.index_in_place ? s.index_q : s.index_q_out;
}

/// Strides of K and V, and how far V begins behind K where they share one storage.
struct cache_strides
{
    std::int64_t page;
    std::int64_t head;
    std::int64_t token;
    std::int64_t values;
};

/// Spans: head by head, then page by page.
inline cache_strides strides_of_spans(scene const& s)
{
    scalar_model::problem const& p = s.problem;
    std::int64_t const vector      = 16 / scalar_model::size_of(p.cache);
    bool const apart               = s.options.caches == cache_form::apart;
    std::int64_t const head        = std::int64_t{p.page_size} * p.head_dim + (apart ? vector : 0);
    std::int64_t const page        = s.options.kv_heads * head;
    bool const together            = s.options.caches == cache_form::interleaved;
    return {together ? 2 * page : page + (apart ? 3 * vector : 0), head, p.head_dim, page};
}

/// Token rows: NHD where dense, HND with gaps where apart, HND with K and V side by side where interleaved.
inline cache_strides strides_of_rows(scene const& s)
{
    scalar_model::problem const& p = s.problem;
    std::int64_t const vector      = 16 / scalar_model::size_of(p.cache);
    std::int64_t const heads       = s.options.kv_heads;
    std::int64_t const size        = p.head_dim;
    if (s.options.caches == cache_form::dense) {
        return {p.page_size * heads * size, size, heads * size, 0};
    }
    bool const apart         = s.options.caches == cache_form::apart;
    std::int64_t const token = apart ? size + vector : 2 * size;
    std::int64_t const head  = p.page_size * token + (apart ? vector : 0);
    return {heads * head + (apart ? 3 * vector : 0), head, token, size};
}

inline void make_caches(scene& s)
{
    using scalar_model::size_of;
    scene_options const& o         = s.options;
    scalar_model::problem const& p = s.problem;
    int const pages                = pages_for(o.tokens, p.page_size);
    bool const together            = o.caches == cache_form::interleaved;
    cache_strides const at =
        p.key_order == scalar_model::layout::rows ? strides_of_rows(s) : strides_of_spans(s);
    std::int64_t const page_stride = at.page;

    s.keys   = {block_keys, 0, pages, o.kv_heads, at.page, at.head, at.token};
    s.values = {together ? block_keys : block_values,
                together ? at.values : 0,
                pages,
                o.kv_heads,
                at.page,
                at.head,
                at.token};
    resize(s.blocks[block_keys], p.cache, pages * page_stride);
    resize(s.blocks[block_values], p.cache, together ? 0 : pages * page_stride);

    std::int64_t const index_vector = 16 / size_of(p.index_cache);
    std::int64_t const row          = p.head_dim + (o.caches == cache_form::apart ? index_vector : 0);
    std::int64_t const index_page =
        p.index_page_size * row + (o.caches == cache_form::dense ? 0 : 2 * index_vector);
    int const index_pages = p.has_index ? pages_for(o.tokens, p.index_page_size) : 0;
    s.index_keys          = {block_index_keys, 0, index_pages, 1, index_page, index_page, row};
    resize(s.blocks[block_index_keys], p.index_cache, index_pages * index_page);

    s.values.pages -= o.missing_value_pages;
    for (block_id const id : {block_keys, block_values, block_index_keys}) {
        fill_poison(s.blocks[id]);
    }
    // a page before and a page after: a slot that is off by a page would land there
    s.blocks[block_keys].guard   = static_cast<std::size_t>(page_stride * size_of(p.cache) + 255) / 256 * 256;
    s.blocks[block_values].guard = s.blocks[block_keys].guard;
    s.blocks[block_index_keys].guard =
        static_cast<std::size_t>(index_page * size_of(p.index_cache) + 255) / 256 * 256;
}

} // namespace detail

/// Writes the scene's positions and slots to their blocks, after they were made or changed.
inline void write_indices(scene& s)
{
    detail::put_integers(s.blocks[block_positions], s.positions, s.wide_positions);
    detail::put_integers(s.blocks[block_slots], s.slots, s.wide_slots);
    detail::put_integers(s.blocks[block_index_slots], s.index_slots, s.wide_slots);
}

/// Fills every block of a call of `problem`.
inline scene make_scene(scalar_model::problem const& problem, scene_options const& options,
                        bool const wide_slots = true, bool const wide_positions = true)
{
    scene s;
    s.problem        = problem;
    s.options        = options;
    s.wide_slots     = wide_slots;
    s.wide_positions = wide_positions;
    random_source random(options.seed * 1000003 + static_cast<std::uint64_t>(options.tokens));
    detail::make_rows(s, random);
    detail::make_caches(s);

    bool const offset   = problem.norm == scalar_model::norm_kind::unit_offset;
    bool const weighted = offset || problem.norm == scalar_model::norm_kind::plain_gain;
    for (block_id const id : {block_q_gain, block_k_gain, block_index_q_gain, block_index_k_gain}) {
        detail::put_numbers(s.blocks[id], problem.activation,
                            random_gain(random, weighted ? problem.head_dim : 0, offset));
    }
    s.angle_rows = problem.rotary_dim > 0 ? options.angle_rows : 0;
    detail::put_numbers(s.blocks[block_angles], problem.angle,
                        cos_sin_table(static_cast<int>(s.angle_rows), problem.rotary_dim, options.angle_gap));
    if (problem.rotary_dim > 0) {
        s.positions = make_positions(random, options.tokens, options.angle_rows, options.faulty_positions,
                                     wide_positions);
    }
    s.slots       = make_slots(options.slots, random, options.tokens, problem.page_size, wide_slots);
    s.index_slots = make_slots(options.index_slots, random, problem.has_index ? options.tokens : 0,
                               problem.index_page_size, wide_slots);
    write_indices(s);
    detail::put_numbers(s.blocks[block_key_scale], scalar_model::dtype::fp32, {options.key_scale});
    detail::put_numbers(s.blocks[block_value_scale], scalar_model::dtype::fp32, {options.value_scale});
    return s;
}

/// A block's element as a number.
inline double number_at(scene const& s, image const& bytes, block_id const id, std::int64_t const element)
{
    scalar_model::dtype const type = s.blocks[id].type;
    auto const at                  = static_cast<std::size_t>(element * scalar_model::size_of(type));
    return scalar_model::decode(type, scalar_model::read_code(type, &bytes[id][at]));
}

/// Sets the elements of one head of one token.
inline void set_row(scene& s, rows_at const& at, int const token, int const head,
                    std::vector<double> const& numbers)
{
    for (std::size_t d = 0; d < numbers.size(); ++d) {
        std::int64_t const element =
            at.first + token * at.token_stride + head * at.head_stride + static_cast<std::int64_t>(d);
        scalar_model::write(s.blocks[at.block].type, s.blocks[at.block].bytes.data(), element, numbers[d]);
    }
}

} // namespace kvloom_test
