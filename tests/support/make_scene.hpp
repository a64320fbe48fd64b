// SPDX-License-Identifier: MIT
// Makes scenes: fills every block of a call of the fused insert.
#pragma once

#include "support/scene.hpp"

namespace kvloom_test {

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
    bool const q_in_place = o.in_place && s.problem.query == s.problem.activation && !s.problem.over_vector;
    s.q_out               = output(block_q_out, s.problem.query, q_in_place ? 0 : o.q_heads);
    s.q_out               = q_in_place ? s.q : s.q_out;
    s.index_q_out = output(block_index_q_out, s.problem.index_query, o.index_in_place ? 0 : index_heads);
    s.index_q_out = o.index_in_place ? s.index_q : s.index_q_out;
    bool const k_in_place = s.problem.keys_out && o.keys_in_place && !s.problem.over_vector;
    bool const apart      = s.problem.keys_out && !k_in_place;
    s.k_out               = output(block_k_out, s.problem.activation, apart ? o.kv_heads : 0);
    s.k_out               = k_in_place ? s.k : s.k_out;
    s.index_k_out = output(block_index_k_out, s.problem.activation, apart && s.problem.has_index ? 1 : 0);
    s.index_k_out = k_in_place ? s.index_k : s.index_k_out;
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
    bool const together            = s.options.caches == cache_form::interleaved && p.block_pages == 1;
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
    bool const apart         = s.options.caches == cache_form::apart || p.block_pages > 1;
    std::int64_t const token = apart ? size + vector : 2 * size;
    std::int64_t const head  = p.page_size * token + (apart ? vector : 0);
    return {heads * head + (apart ? 3 * vector : 0), head, token, size};
}

/// K and V, page by page or in blocks of pages, each in a storage of its own or both in one.
inline void make_kv_caches(scene& s)
{
    scene_options const& o         = s.options;
    scalar_model::problem const& p = s.problem;
    int const pages                = pages_for(o.tokens, p.page_size);
    bool const together            = o.caches == cache_form::interleaved;
    cache_strides const at =
        p.key_order == scalar_model::layout::rows ? strides_of_rows(s) : strides_of_spans(s);
    int const blocks         = (pages + p.block_pages - 1) / p.block_pages;
    std::int64_t const block = p.block_pages * at.page * (p.block_pages > 1 && together ? 2 : 1)
                               + (o.caches == cache_form::apart && p.block_pages > 1 ? 16 : 0);
    std::int64_t const behind = p.block_pages > 1 ? p.block_pages * at.page : at.values;

    s.keys   = {block_keys, 0, pages, o.kv_heads, at.page, at.head, at.token, block};
    s.values = {together ? block_keys : block_values,
                together ? behind : 0,
                pages,
                o.kv_heads,
                at.page,
                at.head,
                at.token,
                block};
    resize(s.blocks[block_keys], p.cache, blocks * block);
    resize(s.blocks[block_values], p.cache, together ? 0 : blocks * block);
    s.values.pages -= o.missing_value_pages;
    // a page before and a page after: a slot that is off by a page would land there
    auto const guard = static_cast<std::size_t>(at.page * scalar_model::size_of(p.cache) + 255) / 256 * 256;
    s.blocks[block_keys].guard = s.blocks[block_values].guard = guard;

    std::int64_t const scales = p.rule.found ? std::int64_t{pages} * o.kv_heads * p.page_size : 0;
    for (auto* const written : {&s.key_scales, &s.value_scales}) {
        *written = {written == &s.key_scales ? block_key_scales : block_value_scales,
                    o.scales_by_head ? p.page_size : std::int64_t{o.kv_heads} * p.page_size,
                    o.scales_by_head ? std::int64_t{pages} * p.page_size : p.page_size};
        resize(s.blocks[written->block], scalar_model::dtype::fp32, scales);
        fill_poison(s.blocks[written->block]);
    }
}

inline void make_caches(scene& s)
{
    using scalar_model::size_of;
    scene_options const& o         = s.options;
    scalar_model::problem const& p = s.problem;
    make_kv_caches(s);
    std::int64_t const index_vector = 16 / size_of(p.index_cache);
    std::int64_t const row          = p.head_dim + (o.caches == cache_form::apart ? index_vector : 0);
    std::int64_t const index_page =
        p.index_page_size * row + (o.caches == cache_form::dense ? 0 : 2 * index_vector);
    int const index_pages = p.has_index ? pages_for(o.tokens, p.index_page_size) : 0;
    s.index_keys          = {block_index_keys, 0, index_pages, 1, index_page, index_page, row};
    resize(s.blocks[block_index_keys], p.index_cache, index_pages * index_page);

    for (block_id const id : {block_keys, block_values, block_index_keys}) {
        fill_poison(s.blocks[id]);
    }
    s.blocks[block_index_keys].guard =
        static_cast<std::size_t>(index_page * size_of(p.index_cache) + 255) / 256 * 256;
}

inline void make_gains(scene& s, random_source& random)
{
    using scalar_model::norm_kind;
    scalar_model::problem const& p = s.problem;
    auto const make                = [&](block_id const id, norm_kind const norm, int const heads) {
        bool const offset   = norm == norm_kind::unit_offset;
        bool const weighted = offset || norm == norm_kind::plain_gain;
        int const size      = p.head_dim * (p.over_vector ? heads : 1);
        put_numbers(s.blocks[id], p.activation, random_gain(random, weighted ? size : 0, offset));
    };
    make(block_q_gain, p.q_norm, s.options.q_heads);
    make(block_k_gain, p.k_norm, s.options.kv_heads);
    make(block_index_q_gain, p.index_norm, 1);
    make(block_index_k_gain, p.index_norm, 1);
    make(block_v_gain, p.v_norm, 1);
}

/// Given scales: one, or one for each head, each another; fault counters that do not begin at zero.
inline void make_scales(scene& s)
{
    scene_options const& o = s.options;
    auto const make        = [&](block_id const id, float const scale) {
        std::vector<double> scales;
        for (int head = 0; head < (s.problem.head_scales ? o.kv_heads : 1); ++head) {
            scales.push_back(static_cast<double>(scale * static_cast<float>(1 + head % 5)));
        }
        put_numbers(s.blocks[id], scalar_model::dtype::fp32, scales);
    };
    make(block_key_scale, o.key_scale);
    make(block_value_scale, o.value_scale);
    put_numbers(s.blocks[block_query_scale], scalar_model::dtype::fp32, {static_cast<double>(o.query_scale)});
    put_integers(s.blocks[block_faults], {5, 6, 7}, false);
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

    detail::make_gains(s, random);
    s.angle_rows = problem.rotary_dim > 0 ? options.angle_rows : 0;
    detail::put_numbers(s.blocks[block_angles], problem.angle,
                        cos_sin_table(static_cast<int>(s.angle_rows), problem.rotary_dim, options.angle_gap));
    for (int section = 0; section < problem.position_sections() && problem.rotary_dim > 0; ++section) {
        auto const some = make_positions(random, options.tokens, options.angle_rows,
                                         options.faulty_positions && section % 2 == 0, wide_positions);
        s.positions.insert(s.positions.end(), some.begin(), some.end());
    }
    s.slots       = make_slots(options.slots, random, options.tokens, problem.page_size, wide_slots);
    s.index_slots = make_slots(options.index_slots, random, problem.has_index ? options.tokens : 0,
                               problem.index_page_size, wide_slots);
    write_indices(s);
    detail::make_scales(s);
    return s;
}

} // namespace kvloom_test
