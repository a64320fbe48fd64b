// SPDX-License-Identifier: MIT
// Scenes of paged decode in ordinary memory: rows, caches in permuted pages, tables, and what must not matter as NaN.
#pragma once

#include "contract/page_scenes.hpp"

#include <functional>

namespace kvloom_test {

/// What of a problem decides how its arguments lie in memory.
struct decode_shape
{
    page_model::cache keys, values; // without pages and heads
    scalar_model::dtype query       = scalar_model::dtype::bf16;
    scalar_model::dtype out         = scalar_model::dtype::bf16;
    scalar_model::dtype operand     = scalar_model::dtype::bf16; // of the products
    page_model::scale_kind key_by   = page_model::scale_kind::none;
    page_model::scale_kind value_by = page_model::scale_kind::none;
    bool contiguous                 = false; // no page table
    bool list                       = false; // ids of all sequences one after the other
    bool wide_ids                   = false;
    bool wide_lengths               = false;
    bool offsets                    = false; // query tokens lie between offsets
    bool wide_offsets               = false;
    bool window                     = false;
    bool sinks                      = false;
    bool lse                        = false;
    bool natural                    = false;
};

/// A number of an element: a function of sequence, token, head and dim.
using element_rule = std::function<double(int, std::int64_t, int, int)>;

struct decode_options
{
    std::vector<std::int64_t> lengths{33};
    std::vector<int> tokens; ///< query tokens of each sequence; empty: `count` for all
    int count        = 1;
    int heads        = 8;
    int kv_heads     = 1;
    page_form rows   = page_form::dense; ///< of queries and outputs
    page_form caches = page_form::dense;
    int spare        = 2; ///< entries of the table behind the pages in use
    int width       = -1; ///< entries of a sequence in the table; negative: as many as needed, and spare ones
    bool faulty     = false; ///< every third page id is out of range
    int window      = 0;
    float scale     = 0.11F;
    float cap       = 5.0F;  ///< soft_cap's limit
    double loudness = 2.0;   ///< of queries
    int blocks      = 3;     ///< of the grid
    int stale       = -1;    ///< code in all slots that hold no token; negative: NaN
    int scale_power = 0;     ///< scales of keys and values lie around this power of two
    int first_sequence  = 0; ///< sequences hold what sequences from this one on hold in another scene
    std::uint64_t seed  = 1;
    std::uint64_t order = 1;           ///< of the pages
    element_rule query, key, value;    ///< empty: random numbers
    std::function<double(int)> sink{}; ///< of a query head
};

/// Sequences of these lengths, `count` query tokens each.
inline decode_options options_of(std::vector<std::int64_t> lengths, int const heads, int const kv_heads,
                                 int const count)
{
    decode_options o;
    o.lengths  = std::move(lengths);
    o.heads    = heads;
    o.kv_heads = kv_heads;
    o.count    = count;
    return o;
}

/// Rows [tokens][heads][dim]; strides in elements.
struct decode_rows
{
    int dim                   = 0;
    int heads                 = 0;
    std::int64_t tokens       = 0;
    std::int64_t token_stride = 0;
    std::int64_t head_stride  = 0;
    std::int64_t elements     = 0;

    std::int64_t at(std::int64_t const token, int const head) const
    {
        return token * token_stride + head * head_stride;
    }
};

struct decode_scene
{
    decode_shape shape;
    decode_options options;
    page_model::cache keys, values;
    page_model::scales key_by, value_by;
    decode_rows query_rows, out_rows;
    std::vector<std::vector<std::int64_t>> ids; // of each sequence, as its table says
    std::vector<std::int64_t> lengths;          // that the table can hold, none negative
    std::vector<int> tokens;                    // query tokens of each sequence
    std::vector<std::int64_t> first_row;        // [sequences + 1]
    std::int64_t lse_stride   = 0;
    std::int64_t table_stride = 0;
    int most_pages            = 0;
    int most_tokens           = 0;
    block query, out, lse, key_block, value_block, key_scales, value_scales;
    block table, starts, length_block, offsets, sinks, slopes;

    int sequences() const { return static_cast<int>(lengths.size()); }
    int group() const { return options.heads / options.kv_heads; }
};

namespace detail {

/// Codes of about normal numbers.
inline std::vector<unsigned> const& number_pool(scalar_model::dtype const type)
{
    static std::vector<unsigned> pools[5];
    auto& pool = pools[static_cast<int>(type)];
    if (pool.empty()) {
        random_source random(77);
        for (int i = 0; i < 8192; ++i) {
            pool.push_back(scalar_model::encode(type, random.normal()));
        }
    }
    return pool;
}

inline decode_rows lay_out_rows(page_form const form, scalar_model::dtype const type, int const dim,
                                std::int64_t const tokens, int const heads)
{
    std::int64_t const gap = form == page_form::dense ? 0 : 16 / scalar_model::size_of(type);
    decode_rows rows{dim, heads, tokens, 0, 0, 0};
    if (form == page_form::outer) {
        rows.token_stride = dim + gap;
        rows.head_stride  = tokens * rows.token_stride + gap;
        rows.elements     = heads * rows.head_stride;
    } else {
        rows.head_stride  = dim + gap;
        rows.token_stride = heads * rows.head_stride + gap;
        rows.elements     = tokens * rows.token_stride;
    }
    return rows;
}

inline std::int64_t pages_of(std::int64_t const length, int const page_size)
{
    return length <= 0 ? 0 : (length + page_size - 1) / page_size;
}

/// How many query tokens there are, and how many pages the table can hold.
inline void measure(decode_scene& s)
{
    decode_options const& o = s.options;
    s.most_tokens           = o.count;
    s.tokens                = o.tokens;
    s.tokens.resize(o.lengths.size(), o.count);
    s.first_row = {0};
    for (int const count : s.tokens) {
        s.first_row.push_back(s.first_row.back() + count);
        s.most_tokens = std::max(s.most_tokens, count);
    }
    std::int64_t most = 0;
    for (std::int64_t const length : o.lengths) {
        most = std::max(most, pages_of(length, s.keys.page_size));
    }
    s.most_pages = o.width >= 0 ? o.width : static_cast<int>(most) + o.spare;
    for (std::int64_t const length : o.lengths) {
        std::int64_t const held = std::int64_t{s.most_pages} * s.keys.page_size;
        s.lengths.push_back(std::min(std::max<std::int64_t>(length, 0), held));
    }
}

/// An id that names no page of the sequence's own: of none at all, or of one that another has or that holds NaN.
inline std::int64_t unused_id(int const at, int const pages, bool const wide)
{
    std::int64_t const ids[] = {std::numeric_limits<std::int32_t>::min(),
                                0,
                                pages,
                                -1,
                                pages / 2,
                                wide ? std::int64_t{1} << 32 : std::numeric_limits<std::int32_t>::max()};
    return ids[at % 6];
}

/// An id out of range. Of those of 64 bits some name a page in their low 32.
inline std::int64_t faulty_id(int const at, int const pages, bool const wide)
{
    std::int64_t const ids[] = {
        -7, pages, wide ? (std::int64_t{1} << 32) + 1 : std::numeric_limits<std::int32_t>::max(),
        wide ? std::numeric_limits<std::int64_t>::min() + 1 : std::numeric_limits<std::int32_t>::min()};
    return ids[at % 4];
}

inline void make_table(decode_scene& s)
{
    decode_options const& o = s.options;
    int pages               = 3;
    for (std::int64_t const length : s.lengths) {
        pages += static_cast<int>(pages_of(length, s.keys.page_size));
    }
    pages        = s.shape.contiguous ? s.sequences() * s.most_pages : pages;
    s.keys.pages = s.values.pages = std::max(pages, 1);
    random_source random(o.order * 9176 + 5);
    auto const order = permutation(random, pages);
    int next         = 0;
    std::vector<std::int64_t> table, starts{0};
    s.table_stride = s.most_pages + 2;
    for (int i = 0; i < s.sequences(); ++i) {
        auto const used =
            static_cast<int>(pages_of(s.lengths[static_cast<std::size_t>(i)], s.keys.page_size));
        int const count = s.shape.list ? std::min(used + i % 2, s.most_pages) : s.most_pages;
        std::vector<std::int64_t> ids;
        for (int page = 0; page < count; ++page) {
            bool const held = page < used && !(o.faulty && (page + i) % 3 == 1);
            int const mine  = page < used ? order[static_cast<std::size_t>(next++)] : 0;
            ids.push_back(s.shape.contiguous ? i * s.most_pages + page
                          : held             ? mine
                          : page < used      ? faulty_id(page / 3 + i, pages, s.shape.wide_ids)
                                             : unused_id(page, pages, s.shape.wide_ids));
        }
        table.insert(table.end(), ids.begin(), ids.end());
        table.resize(table.size() + (s.shape.list ? 0 : 2), 0);
        starts.push_back(static_cast<std::int64_t>(table.size()));
        s.ids.push_back(ids);
    }
    s.table        = make_ids(table, s.shape.wide_ids);
    s.starts       = make_ids(starts, false);
    s.length_block = make_ids(o.lengths, s.shape.wide_lengths);
    s.offsets      = make_ids(s.first_row, s.shape.wide_offsets);
}

/// A block of `elements` elements, all NaN or all of one code.
inline block stale_block(scalar_model::dtype const type, std::int64_t const elements, int const code)
{
    block b          = room_for(type, elements);
    auto const stale = code < 0 ? scalar_model::fields_of(type).nan : static_cast<unsigned>(code);
    for (std::int64_t i = 0; i < elements; ++i) {
        scalar_model::write_code(type, &b.bytes[static_cast<std::size_t>(i * scalar_model::size_of(type))],
                                 stale);
    }
    return b;
}

inline bool is_page(decode_scene const& s, std::int64_t const id)
{
    return id >= 0 && id < s.keys.pages;
}

/// Writes what the tokens of all sequences hold, whatever pages they are in.
inline void fill_tokens(decode_scene const& s, page_model::cache const& cache, element_rule const& rule,
                        int const salt)
{
    auto const& pool  = number_pool(cache.type);
    double number     = 0.0;
    unsigned code_of  = scalar_model::encode(cache.type, number);
    auto const encode = [&](double const of) { // neighbours are often the same
        if (of != number) {
            number  = of;
            code_of = scalar_model::encode(cache.type, of);
        }
        return code_of;
    };
    for (int i = 0; i < s.sequences(); ++i) {
        int const sequence = s.options.first_sequence + i;
        auto const& ids    = s.ids[static_cast<std::size_t>(i)];
        for (int head = 0; head < cache.heads; ++head) {
            random_source random((s.options.seed * 811 + static_cast<std::uint64_t>(sequence)) * 97
                                 + static_cast<std::uint64_t>(head * 2 + salt));
            for (std::int64_t token = 0; token < s.lengths[static_cast<std::size_t>(i)]; ++token) {
                auto const page       = static_cast<std::size_t>(token / cache.page_size);
                std::int64_t const id = page < ids.size() ? ids[page] : -1;
                int const slot        = static_cast<int>(token % cache.page_size);
                for (int d = 0; d < cache.dim; ++d) {
                    unsigned const any  = pool[random.next() & 8191];
                    unsigned const code = rule ? encode(rule(sequence, token, head, d)) : any;
                    if (is_page(s, id)) {
                        std::int64_t const at = page_model::offset(cache, id, head, slot, d);
                        scalar_model::write_code(cache.type,
                                                 cache.data + at * scalar_model::size_of(cache.type), code);
                    }
                }
            }
        }
    }
}

/// Scales of a cache; NaN where no token lies.
inline block make_token_scales(decode_scene const& s, page_model::scales& by, page_model::cache const& cache,
                               int const salt)
{
    page_options o;
    o.seed      = s.options.seed + static_cast<std::uint64_t>(salt);
    o.form      = s.options.caches;
    block b     = make_scales(by, cache, o);
    block stale = room_for(b.type, static_cast<std::int64_t>(b.bytes.size() / sizeof(float)));
    auto* scale = reinterpret_cast<float*>(b.bytes.data());
    for (std::size_t i = 0; i < b.bytes.size() / sizeof(float); ++i) {
        scale[i] = std::ldexp(scale[i], s.options.scale_power);
    }
    for (int i = 0; i < s.sequences() && by.kind == page_model::scale_kind::row; ++i) {
        for (std::int64_t token = 0; token < s.lengths[static_cast<std::size_t>(i)]; ++token) {
            auto const& ids = s.ids[static_cast<std::size_t>(i)];
            auto const page = static_cast<std::size_t>(token / cache.page_size);
            auto const slot = static_cast<int>(token % cache.page_size);
            for (int head = 0; head < cache.heads && page < ids.size() && is_page(s, ids[page]); ++head) {
                by.data                      = scale;
                float const held             = by.at(ids[page], head, slot);
                by.data                      = reinterpret_cast<float*>(stale.bytes.data());
                by.at(ids[page], head, slot) = held;
            }
        }
    }
    if (by.kind == page_model::scale_kind::row) {
        b.bytes = stale.bytes;
    }
    by.data = nullptr;
    return b;
}

inline void make_queries(decode_scene& s)
{
    decode_options const& o = s.options;
    auto const type         = s.shape.query;
    std::int64_t const rows = s.first_row.back();
    s.query_rows            = lay_out_rows(o.rows, type, s.keys.dim, rows, o.heads);
    s.out_rows              = lay_out_rows(o.rows, s.shape.out, s.values.dim, rows, o.heads);
    s.query                 = stale_block(type, s.query_rows.elements, -1);
    s.out                   = room_for(s.shape.out, s.out_rows.elements);
    fill_with_marks(s.out);
    for (int i = 0; i < s.sequences(); ++i) {
        int const sequence = o.first_sequence + i;
        random_source random(o.seed * 5003 + static_cast<std::uint64_t>(sequence) * 31 + 2);
        for (int token = 0; token < s.tokens[static_cast<std::size_t>(i)]; ++token) {
            for (int head = 0; head < o.heads; ++head) {
                for (int d = 0; d < s.keys.dim; ++d) {
                    double const number =
                        o.query ? o.query(sequence, token, head, d) : o.loudness * random.normal();
                    std::int64_t const row = s.first_row[static_cast<std::size_t>(i)] + token;
                    scalar_model::write(type, s.query.bytes.data(), s.query_rows.at(row, head) + d, number);
                }
            }
        }
    }
}

inline block numbers_of(std::vector<double> const& numbers)
{
    block b = room_for(scalar_model::dtype::fp32, static_cast<std::int64_t>(numbers.size()));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        scalar_model::write(b.type, b.bytes.data(), static_cast<std::int64_t>(i), numbers[i]);
    }
    return b;
}

inline void make_head_numbers(decode_scene& s)
{
    decode_options const& o = s.options;
    random_source random(o.seed * 13 + 11);
    std::vector<double> sinks, slopes;
    for (int head = 0; head < o.heads; ++head) {
        sinks.push_back(o.sink ? o.sink(head) : 2.0 * random.normal());
        slopes.push_back(std::ldexp(1.0, -1 - head % 8));
    }
    s.sinks      = numbers_of(s.shape.sinks ? sinks : std::vector<double>{});
    s.slopes     = numbers_of(slopes);
    s.lse_stride = s.options.heads + (s.options.rows == page_form::dense ? 0 : 3);
    s.lse        = room_for(scalar_model::dtype::fp32, s.shape.lse ? s.first_row.back() * s.lse_stride : 0);
    fill_with_marks(s.lse);
}

} // namespace detail

/// Fills every block of a call.
inline decode_scene make_decode_scene(decode_shape const& shape, decode_options const& options)
{
    decode_scene s;
    s.shape      = shape;
    s.options    = options;
    s.keys       = shape.keys;
    s.values     = shape.values;
    s.keys.heads = s.values.heads = options.kv_heads;
    detail::measure(s);
    detail::make_table(s);
    s.key_block   = detail::stale_block(s.keys.type, lay_out(s.keys, options.caches), options.stale);
    s.value_block = detail::stale_block(s.values.type, lay_out(s.values, options.caches), options.stale);
    s.keys.data   = s.key_block.bytes.data(); // vectors keep their memory when the scene moves
    s.values.data = s.value_block.bytes.data();
    detail::fill_tokens(s, s.keys, options.key, 0);
    detail::fill_tokens(s, s.values, options.value, 1);
    s.key_by.kind   = shape.key_by;
    s.value_by.kind = shape.value_by;
    s.key_scales    = detail::make_token_scales(s, s.key_by, s.keys, 0);
    s.value_scales  = detail::make_token_scales(s, s.value_by, s.values, 1);
    detail::make_queries(s);
    detail::make_head_numbers(s);
    return s;
}

} // namespace kvloom_test
