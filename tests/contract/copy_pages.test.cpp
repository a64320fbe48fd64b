// SPDX-License-Identifier: MIT
// copy_pages between every two layouts, of every size of page and head, with blocks, gaps and faulty ids.
#include "contract/copy_cases.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

/// The cases of each target layout.
template <class Source, class To, int Dim, int PageSize, class SourceScale, class TargetScale>
void to_every_layout()
{
    check_copies<copy_problem<Source, shuffled_keys<To, Dim, PageSize>, SourceScale, TargetScale>>();
    check_copies<copy_problem<Source, shuffled_values<To, Dim, PageSize>, SourceScale, TargetScale>>();
    check_copies<copy_problem<Source, transposed_values<To, Dim, PageSize>, SourceScale, TargetScale>>();
    check_copies<copy_problem<Source, token_rows<To, Dim, PageSize>, SourceScale, TargetScale>>();
}

/// The cases of each two layouts.
template <class From, class To, int Dim, int PageSize, class SourceScale = no_scale,
          class TargetScale = no_scale>
void between_layouts()
{
    to_every_layout<shuffled_keys<From, Dim, PageSize>, To, Dim, PageSize, SourceScale, TargetScale>();
    to_every_layout<shuffled_values<From, Dim, PageSize>, To, Dim, PageSize, SourceScale, TargetScale>();
    to_every_layout<transposed_values<From, Dim, PageSize>, To, Dim, PageSize, SourceScale, TargetScale>();
    to_every_layout<token_rows<From, Dim, PageSize>, To, Dim, PageSize, SourceScale, TargetScale>();
}

template <class T, int Dim, int PageSize>
void check_size()
{
    copy_case c    = copy_case::of(2, page_form::apart, page_form::dense);
    c.source.pages = 3;
    c.target.pages = 3;
    c.count        = 2;
    check_copy<copy_problem<shuffled_values<T, Dim, PageSize>, token_rows<T, Dim, PageSize>>>(c);
    check_copy<copy_problem<token_rows<T, Dim, PageSize>, shuffled_keys<fp8_e4m3, Dim, PageSize>, no_scale,
                            scale_view>>(c);
    check_copy<copy_problem<shuffled_values<T, Dim, PageSize>, transposed_values<fp8_e4m3, Dim, PageSize>,
                            head_scale, scale_view>>(c);
    check_copy<copy_problem<shuffled_values<T, Dim, PageSize>, shuffled_values<T, Dim, PageSize>>>(c);
}

template <int PageSize>
void check_small_page()
{
    using rows     = token_rows<bf16, 64, PageSize>;
    copy_case c    = copy_case::of(3, page_form::apart, page_form::outer);
    c.source.pages = c.target.pages = 40;
    c.count                         = 37;
    c.faulty                        = true;
    check_copy<copy_problem<rows, rows>>(c);
    check_copy<copy_problem<rows, token_rows<fp8_e4m3, 64, PageSize>, no_scale, scale_view>>(c);
    check_copy<copy_problem<token_rows<fp8_e4m3, 64, PageSize>, rows, scale_view>>(c);
}

} // namespace

TEST_CASE("copy_pages: bits between every two layouts", "[contract][pages]")
{
    between_layouts<bf16, bf16, 64, 16>();
}

TEST_CASE("copy_pages: bits and scales of fp8 rows between every two layouts", "[contract][pages]")
{
    between_layouts<fp8_e4m3, fp8_e4m3, 64, 16, scale_view, scale_view>();
}

TEST_CASE("copy_pages: fp8 with a scale for each row to bf16 between every two layouts", "[contract][pages]")
{
    between_layouts<fp8_e4m3, bf16, 64, 16, scale_view, no_scale>();
}

TEST_CASE("copy_pages: bf16 to fp8 with scales found from rows between every two layouts",
          "[contract][pages]")
{
    between_layouts<bf16, fp8_e4m3, 128, 16, no_scale, scale_view>();
}

TEST_CASE("copy_pages: heads of 64, 128, 256 and 512 and pages of up to 1024 tokens", "[contract][pages]")
{
    check_size<bf16, 64, 32>();
    check_size<fp16, 128, 64>();
    check_size<bf16, 256, 16>();
    check_size<fp16, 512, 48>();
    check_size<bf16, 64, sanitized ? 256 : 1024>();
}

TEST_CASE("copy_pages: token rows of any page size", "[contract][pages]")
{
    check_small_page<1>();
    check_small_page<2>();
    check_small_page<5>();
}

TEST_CASE("copy_pages: one to eight heads", "[contract][pages]")
{
    for (int heads = 1; heads <= 8; ++heads) {
        copy_case c = copy_case::of(heads, page_form::dense, page_form::apart);
        check_copy<copy_problem<shuffled_values<bf16, 128>, shuffled_values<bf16, 128>>>(c);
        check_copy<copy_problem<shuffled_keys<bf16, 128>, token_rows<fp8_e4m3, 128>, no_scale, head_scale>>(
            c);
        check_copy<copy_problem<shuffled_values<fp8_e4m3, 128>, token_rows<bf16, 128>, head_scale, no_scale>>(
            c);
    }
}

namespace {

/// Packed caches of eight pages a block on one side or on both.
template <class Source, class Target, class TargetScale>
void check_blocks()
{
    for (page_form const form : {page_form::dense, page_form::apart}) {
        copy_case c    = copy_case::of(2, form, form);
        c.source.pages = c.target.pages = 19;
        c.count                         = 17;
        c.faulty                        = form == page_form::apart;
        check_copy<copy_problem<Source, Target, no_scale, TargetScale, 8, 1>>(c);
        check_copy<copy_problem<Source, Target, no_scale, TargetScale, 1, 8>>(c);
        check_copy<copy_problem<Source, Target, no_scale, TargetScale, 8, 8>>(c);
    }
}

struct wide_ids : copy_pages_problem
{
    using source = shuffled_values<bf16, 64>;
    using target = shuffled_values<bf16, 64>;
    using id     = i64;
};
struct wide_ids_of_rows : wide_ids
{
    using target = token_rows<fp16, 64>;
};

} // namespace

TEST_CASE("copy_pages: packed blocks on either side", "[contract][pages]")
{
    check_blocks<shuffled_values<bf16, 64>, shuffled_values<bf16, 64>, no_scale>();
    check_blocks<shuffled_keys<bf16, 64>, token_rows<fp8_e4m3, 64>, scale_view>();
}

TEST_CASE("copy_pages: 64-bit ids are not folded onto pages", "[contract][pages]")
{
    copy_case c    = copy_case::of(2, page_form::dense, page_form::dense);
    c.source.pages = c.target.pages = 20;
    c.count                         = 20;
    c.faulty                        = true;
    check_copy<wide_ids>(c);
    check_copy<wide_ids_of_rows>(c);
}

TEST_CASE("copy_pages: no pairs, and a grid smaller than the work", "[contract][pages]")
{
    using vectors  = copy_problem<shuffled_values<bf16, 64>, shuffled_values<bf16, 64>>;
    using lines    = copy_problem<shuffled_values<bf16, 64>, token_rows<fp8_e4m3, 64>, no_scale, scale_view>;
    copy_case c    = copy_case::of(3, page_form::dense, page_form::dense);
    c.source.pages = c.target.pages = 30;
    c.count                         = 0;
    check_copy<vectors>(c);
    check_copy<lines>(c);
    c.count        = 29;
    auto const few = [](auto kernel, auto const& stream, auto const& args) {
        using problem = typename decltype(kernel)::problem;
        kvloom::detail::copy_pages_work<problem> const work{args, make_divider(u32(args.source.heads)),
                                                            args.count * args.source.heads};
        return launch(stream, kernel, work, 2);
    };
    check_copy_with<vectors>(
        c, [&](auto const& stream, auto const& args) { return few(copy_vectors<vectors>{}, stream, args); });
    check_copy_with<lines>(
        c, [&](auto const& stream, auto const& args) { return few(copy_lines<lines>{}, stream, args); });
}
