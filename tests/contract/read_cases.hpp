// SPDX-License-Identifier: MIT
// One test of read_back: a problem and sizes, on every machine, byte for byte as the scalar model says.
#pragma once

#include "contract/copy_cases.hpp"
#include "kvloom/kernel/read_back.hpp"

namespace kvloom_test {

using namespace kvloom;

template <class Cache, class Output, class Scale = no_scale, int BlockPages = 1, class Id = int>
struct read_problem : read_back_problem
{
    using cache  = Cache;
    using output = Output;
    using scale  = Scale;
    using id     = Id;

    static constexpr int block_pages = BlockPages;
};

struct read_case
{
    page_options cache;
    int width     = 3; // pages of a sequence
    int sequence  = 0;
    int sequences = 1;
    i64 first     = 0;
    int count     = 20;
    int row_gap   = 0; // elements between rows and between tokens, vectors of 16 bytes
    bool faulty   = false;
    int grid      = 0; // blocks; 0: as launch takes
};

struct read_scene
{
    page_model::cache cache;
    page_model::scales by;
    page_model::rows rows;
    block cache_block, by_block, ids, out;
    std::vector<unsigned char> wanted;
    i64 table_stride = 0;
    bool bits        = false;
};

inline void finish_read_scene(read_scene& s, read_case const& c, bool const wide)
{
    s.cache_block = make_cache(s.cache, c.cache, true);
    s.by_block    = make_scales(s.by, s.cache, c.cache);
    s.cache.data  = s.cache_block.bytes.data();
    s.by.data     = reinterpret_cast<float*>(s.by_block.bytes.data());

    int const all  = c.sequence + c.sequences + 1;
    s.table_stride = c.width + 2;
    random_source random(c.cache.seed * 17 + 3);
    std::vector<i64> table;
    std::vector<std::vector<i64>> sequences;
    for (int i = 0; i < all; ++i) {
        sequences.push_back(make_page_ids(random, s.cache.pages, c.width, c.faulty, wide, i % 3));
        table.insert(table.end(), sequences.back().begin(), sequences.back().end());
        table.resize(table.size() + 2, 0);
    }
    s.ids = make_ids(table, wide);

    i64 const gap       = c.row_gap * (16 / scalar_model::size_of(s.rows.type));
    s.rows.head_stride  = s.cache.dim + gap;
    s.rows.token_stride = s.cache.heads * s.rows.head_stride + gap;
    s.out               = room_for(s.rows.type, c.sequences * c.count * s.rows.token_stride);
    fill_with_marks(s.out);
    s.wanted    = s.out.bytes;
    s.rows.data = s.wanted.data();
    for (int i = 0; i < c.sequences; ++i) {
        page_model::read_sequence(s.cache, s.by, sequences[static_cast<std::size_t>(c.sequence + i)], c.first,
                                  c.count, s.rows, i64{i} * c.count);
    }
    s.bits = s.cache.type == s.rows.type && s.by.kind == scale_kind::none;
}

template <class Problem>
read_scene make_read_scene(read_case const& c)
{
    read_scene s;
    s.cache     = describe_cache<typename Problem::cache, Problem::block_pages>(c.cache);
    s.by.kind   = kind_of<typename Problem::scale>();
    s.rows.type = dtype_of<typename Problem::output>();
    finish_read_scene(s, c, sizeof(typename Problem::id) == 8);
    return s;
}

template <class Problem>
void check_read(read_case const& c)
{
    read_scene const s = make_read_scene<Problem>(c);
    on_every_machine([&](char const* machine, auto const& stream) {
        CAPTURE(machine, c.cache.heads, c.first, c.count, c.faulty, s.cache.order, s.cache.type, s.rows.type,
                s.by.kind, s.cache.page_size, s.cache.dim);
        guarded_buffer const cache(s.cache_block);
        guarded_buffer const by(s.by_block);
        guarded_buffer const ids(s.ids);
        guarded_buffer const out(s.out);
        read_back_args<Problem> args;
        set_view(args.cache, s.cache, cache);
        set_scale(args.scale, s.by, by);
        args.table = {reinterpret_cast<typename Problem::id const*>(ids.data()), c.sequence + c.sequences + 1,
                      c.width, s.table_stride};
        args.sequence  = c.sequence;
        args.sequences = c.sequences;
        args.first     = c.first;
        args.count     = c.count;
        args.rows      = {reinterpret_cast<typename Problem::output*>(out.data()), s.cache.heads,
                          s.rows.token_stride, s.rows.head_stride};
        if (c.grid == 0) {
            REQUIRE(text_of(read_back<Problem>::launch(stream, args)) == "");
        } else {
            using kernel     = read_lines<Problem>;
            int const groups = int(kernel::groups(c.first, c.count));
            kvloom::detail::read_back_work<Problem> const work{args, make_divider(u32(s.cache.heads)),
                                                               make_divider(u32(groups)),
                                                               groups * s.cache.heads * c.sequences};
            run<kernel>(stream, work, c.grid);
        }
        backend_memory::finish();
        CHECK(first_difference(s.rows.type, s.wanted, out.bytes(), s.bits) == "");
        CHECK(out.trespass() == "");
    });
}

template <class Problem>
void check_reads()
{
    read_case c;
    c.count = 48;
    check_read<Problem>(c);
    c.cache.heads = 3;
    c.cache.form  = page_form::apart;
    c.cache.pages = 9;
    c.width       = 7;
    c.sequence    = 1;
    c.sequences   = 3;
    c.first       = 13;
    c.count       = 59;
    c.row_gap     = 1;
    c.faulty      = true;
    check_read<Problem>(c);
    c.first          = 21;
    c.count          = 1;
    c.cache.form     = page_form::outer;
    c.cache.any_bits = true;
    check_read<Problem>(c);
}

/// From every layout.
template <class T, class Output, int Dim, class Scale = no_scale>
void check_layouts()
{
    check_reads<read_problem<shuffled_keys<T, Dim>, Output, Scale>>();
    check_reads<read_problem<shuffled_values<T, Dim>, Output, Scale>>();
    check_reads<read_problem<transposed_values<T, Dim>, Output, Scale>>();
    check_reads<read_problem<token_rows<T, Dim>, Output, Scale>>();
}

/// Pages of one token: a sequence has as many as tokens.
template <class Problem>
void check_pages_of_one_token()
{
    read_case c;
    c.cache.pages = 70;
    c.cache.form  = page_form::outer;
    c.width       = 65;
    c.first       = 3;
    c.count       = 61;
    c.faulty      = true;
    check_read<Problem>(c);
}

/// To every type.
template <class T>
void check_outputs()
{
    check_reads<read_problem<shuffled_values<T, 64>, bf16, head_scale>>();
    check_reads<read_problem<shuffled_values<T, 64>, fp16, cache_scale>>();
    check_reads<read_problem<token_rows<T, 64>, float, no_scale>>();
    check_reads<read_problem<shuffled_keys<T, 64>, fp16, no_scale>>();
}

} // namespace kvloom_test
