// SPDX-License-Identifier: MIT
// read_back from every layout, type and kind of scales; and what was copied reads back as what it was copied
// from.
#include "contract/copy_cases.hpp"
#include "kvloom/kernel/read_back.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

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

void finish_read_scene(read_scene& s, read_case const& c, bool const wide)
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

template <class T, class Output, int Dim, class Scale = no_scale>
void check_layouts()
{
    check_reads<read_problem<shuffled_keys<T, Dim>, Output, Scale>>();
    check_reads<read_problem<shuffled_values<T, Dim>, Output, Scale>>();
    check_reads<read_problem<transposed_values<T, Dim>, Output, Scale>>();
    check_reads<read_problem<token_rows<T, Dim>, Output, Scale>>();
}

template <class T>
void check_outputs()
{
    check_reads<read_problem<shuffled_values<T, 64>, bf16, head_scale>>();
    check_reads<read_problem<shuffled_values<T, 64>, fp16, cache_scale>>();
    check_reads<read_problem<token_rows<T, 64>, float, no_scale>>();
    check_reads<read_problem<shuffled_keys<T, 64>, fp16, no_scale>>();
}

} // namespace

TEST_CASE("read_back: from every layout", "[contract][pages]")
{
    check_layouts<bf16, bf16, 128>();
    check_layouts<fp8_e4m3, float, 64, scale_view>();
    check_layouts<fp8_e4m3_fnuz, bf16, 256, scale_view>();
}

TEST_CASE("read_back: from every type to every type", "[contract][pages]")
{
    check_outputs<bf16>();
    check_outputs<fp16>();
    check_outputs<fp8_e4m3>();
    check_outputs<fp8_e4m3_fnuz>();
}

TEST_CASE("read_back: wide heads, wide pages, pages of one token, packed blocks", "[contract][pages]")
{
    check_reads<read_problem<shuffled_values<fp8_e4m3, 512, 32>, bf16, head_scale>>();
    check_reads<read_problem<token_rows<fp16, 512, 16>, fp16>>();
    check_reads<read_problem<shuffled_values<bf16, 64, 1024>, float>>();
    check_reads<read_problem<shuffled_values<bf16, 64>, bf16, no_scale, 8>>();
    check_reads<read_problem<token_rows<fp8_e4m3, 64>, bf16, scale_view, 8, i64>>();
    read_case c;
    c.cache.pages = 70;
    c.cache.form  = page_form::outer;
    c.width       = 65;
    c.first       = 3;
    c.count       = 61;
    c.faulty      = true;
    check_read<read_problem<token_rows<bf16, 64, 1>, bf16>>(c);
    check_read<read_problem<token_rows<fp8_e4m3, 64, 1>, bf16, scale_view>>(c);
}

TEST_CASE("read_back: one to eight heads, every first token, no tokens, a small grid", "[contract][pages]")
{
    using keys   = read_problem<shuffled_keys<bf16, 64>, bf16>;
    using values = read_problem<shuffled_values<fp8_e4m3, 64>, bf16, scale_view>;
    for (int heads = 1; heads <= 8; ++heads) {
        read_case c;
        c.cache.heads = heads;
        c.count       = 23;
        check_read<keys>(c);
        check_read<values>(c);
    }
    for (int first = 0; first < 18; ++first) {
        read_case c;
        c.first = first;
        c.count = first % 7 + 1;
        check_read<keys>(c);
        check_read<values>(c);
    }
    read_case none;
    none.count = 0;
    check_read<keys>(none);
    none.count     = 5;
    none.sequences = 0;
    check_read<values>(none);
    read_case small;
    small.sequences = 4;
    small.count     = 37;
    small.grid      = 2;
    check_read<keys>(small);
    check_read<values>(small);
}

namespace {

/// Rows of page `page` of a cache in every head: by read_back where it lies, and from where it was copied to.
template <class Source, class Target, class Scale, class Output>
void check_law()
{
    using copied   = copy_problem<Source, Target, Scale, Scale>;
    copy_case c    = copy_case::of(3, page_form::dense, page_form::apart);
    c.source.pages = c.target.pages = 6;
    c.count                         = 6;
    copy_scene const s              = make_copy_scene<copied>(c);
    int const tokens                = 6 * Source::page_size;
    int const dim                   = Source::dim;
    on_every_machine([&](char const* machine, auto const& stream) {
        CAPTURE(machine, s.source.order, s.target.order);
        copy_memory const memory(s);
        auto const args = copy_args<copied>(s, memory, c.count);
        REQUIRE(text_of(copy_pages<copied>::launch(stream, args)) == "");

        auto const read = [&](auto const& cache, auto const& scale, int const* ids, auto problem) {
            read_back_args<decltype(problem)> r;
            device_array<Output> const out(std::size_t(tokens * 3 * dim), Output{});
            r.cache = cache;
            r.scale = scale;
            r.table = {ids, 1, 6, 6};
            r.count = tokens;
            r.rows  = {out.data(), 3, 3 * dim, dim};
            REQUIRE(text_of(read_back<decltype(problem)>::launch(stream, r)) == "");
            return out.values();
        };
        auto const before =
            read(args.source, args.source_scale, args.source_ids, read_problem<Source, Output, Scale>{});
        auto const after =
            read(args.target, args.target_scale, args.target_ids, read_problem<Target, Output, Scale>{});
        CHECK(std::memcmp(before.data(), after.data(), before.size() * sizeof(Output)) == 0);
    });
}

} // namespace

TEST_CASE("read_back of a copy is read_back of the original", "[law][pages]")
{
    check_law<shuffled_values<bf16, 128>, token_rows<bf16, 128>, no_scale, bf16>();
    check_law<token_rows<fp16, 64, 32>, transposed_values<fp16, 64, 32>, no_scale, fp16>();
    check_law<shuffled_keys<fp8_e4m3, 128>, shuffled_values<fp8_e4m3, 128>, scale_view, float>();
    check_law<shuffled_values<fp8_e4m3_fnuz, 256>, shuffled_values<fp8_e4m3_fnuz, 256>, scale_view, bf16>();
}
