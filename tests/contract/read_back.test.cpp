// SPDX-License-Identifier: MIT
// read_back from every layout, type and kind of scales; and what was copied reads back as what it was copied
// from.
#include "contract/read_cases.hpp"

using namespace kvloom;
using namespace kvloom_test;

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
    check_pages_of_one_token<read_problem<token_rows<bf16, 64, 1>, bf16>>();
    check_pages_of_one_token<read_problem<token_rows<fp8_e4m3, 64, 1>, bf16, scale_view>>();
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
