// SPDX-License-Identifier: MIT
// copy_pages between every two element types and kinds of scales.
#include "contract/copy_cases.hpp"

#include <limits>

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class From, class To>
void between_types()
{
    copy_case c      = copy_case::of(2, page_form::apart, page_form::dense);
    c.source.special = true;
    check_copy<copy_problem<shuffled_values<From, 64>, token_rows<To, 64>>>(c);
    check_copy<copy_problem<token_rows<From, 64>, token_rows<To, 64>, head_scale, no_scale>>(c);
    check_copy<copy_problem<shuffled_keys<From, 64>, shuffled_values<To, 64>, no_scale, cache_scale>>(c);
    c.source.any_bits = true;
    check_copy<copy_problem<shuffled_values<From, 64>, transposed_values<To, 64>>>(c);
}

template <class From>
void from_type()
{
    between_types<From, bf16>();
    between_types<From, fp16>();
    between_types<From, fp8_e4m3>();
    between_types<From, fp8_e4m3_fnuz>();
}

template <class SourceScale, class TargetScale>
void between_scales()
{
    using source = shuffled_values<fp8_e4m3, 64>;
    copy_case c  = copy_case::of(3, page_form::dense, page_form::apart);
    check_copy<copy_problem<source, token_rows<fp8_e4m3_fnuz, 64>, SourceScale, TargetScale>>(c);
    check_copy<copy_problem<source, shuffled_values<fp8_e4m3, 64>, SourceScale, TargetScale>>(c);
}

struct overflow_to_nan : copy_pages_problem
{
    using source   = token_rows<bf16, 64>;
    using target   = shuffled_values<fp8_e4m3, 64>;
    using overflow = to_nan;
};

/// A source of chosen rows, one a slot of page 0.
copy_scene scene_of_rows(copy_case const& c, std::vector<std::vector<double>> const& rows)
{
    using problem = copy_problem<token_rows<bf16, 64>, token_rows<fp8_e4m3, 64>, no_scale, scale_view>;
    copy_scene s  = make_copy_scene<problem>(c);
    s.source.data = s.source_block.bytes.data();
    for (std::size_t slot = 0; slot < rows.size(); ++slot) {
        for (std::size_t d = 0; d < 64; ++d) {
            auto const at = page_model::offset(s.source, 0, 0, static_cast<int>(slot), static_cast<int>(d));
            scalar_model::write(s.source.type, s.source.data, at, rows[slot][d % rows[slot].size()]);
        }
    }
    return s;
}

} // namespace

TEST_CASE("copy_pages: from bf16 and fp16 to every type", "[contract][pages]")
{
    from_type<bf16>();
    from_type<fp16>();
}

TEST_CASE("copy_pages: from fp8 of both formats to every type", "[contract][pages]")
{
    from_type<fp8_e4m3>();
    from_type<fp8_e4m3_fnuz>();
}

TEST_CASE("copy_pages: between every two kinds of scales", "[contract][pages]")
{
    between_all_scales(
        [](auto source, auto target) { between_scales<decltype(source), decltype(target)>(); });
}

TEST_CASE("copy_pages: what overflows becomes NaN on request", "[contract][pages]")
{
    check_copy<overflow_to_nan>(copy_case::of(2, page_form::dense, page_form::dense));
}

TEST_CASE("copy_pages: a given scale of zero, infinity or NaN counts as one", "[contract][pages]")
{
    using problem      = copy_problem<token_rows<bf16, 64>, token_rows<fp8_e4m3, 64>, no_scale, cache_scale>;
    float const bads[] = {0.0f, -0.0f, std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()};
    for (float const bad : bads) {
        copy_case const c = copy_case::of(1, page_form::dense, page_form::dense);
        copy_scene s      = make_copy_scene<problem>(c);
        copy_scene same   = make_copy_scene<copy_problem<token_rows<bf16, 64>, token_rows<fp8_e4m3, 64>>>(c);
        s.wanted_target   = same.wanted_target;
        std::memcpy(s.over_block.bytes.data(), &bad, sizeof(bad));
        s.wanted_over = s.over_block.bytes;
        on_every_machine([&](char const* machine, auto const& stream) {
            CAPTURE(machine, bad);
            copy_memory const memory(s);
            auto const args = copy_args<problem>(s, memory, c.count);
            REQUIRE(text_of(copy_pages<problem>::launch(stream, args)) == "");
            memory.compare(s);
        });
    }
}

TEST_CASE("copy_pages: scales of rows of zeros, NaN, infinities and the largest number", "[contract][pages]")
{
    using problem       = copy_problem<token_rows<bf16, 64>, token_rows<fp8_e4m3, 64>, no_scale, scale_view>;
    double const nan    = std::numeric_limits<double>::quiet_NaN();
    double const far    = std::numeric_limits<double>::infinity();
    copy_case c         = copy_case::of(1, page_form::dense, page_form::dense);
    c.count             = 1;
    c.source.pages      = 1;
    c.target.pages      = 1;
    copy_scene s        = scene_of_rows(c, {{0.0},
                                            {-0.0},
                                            {nan},
                                            {448.0},
                                            {-448.0, 1.0},
                                            {nan, 3.5, -7.0},
                                            {far, 1.0},
                                            {-far, nan},
                                            {-896.0, 2.0},
                                            {1e-30, 2e-30}});
    float const wants[] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 7.0f / 448.0f};
    s.wanted_target     = s.target_block.bytes;
    s.target.data       = s.wanted_target.data();
    s.over.data         = reinterpret_cast<float*>(s.wanted_over.data());
    page_model::copy(s.source, s.by, s.target, s.over, {{0, 0}}, scalar_model::overflow::saturate);
    for (int slot = 0; slot < 6; ++slot) {
        CHECK(s.over.at(0, 0, slot) == wants[slot]);
    }
    on_every_machine([&](char const* machine, auto const& stream) {
        CAPTURE(machine);
        copy_memory const memory(s);
        REQUIRE(text_of(copy_pages<problem>::launch(stream, copy_args<problem>(s, memory, c.count))) == "");
        memory.compare(s);
    });
}
