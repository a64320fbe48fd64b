// SPDX-License-Identifier: MIT
// copy_pages between every two types, and with every kind of scale on either side.
#include "contract/copy_cases.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class From>
void from_type()
{
    copy_case c       = copy_case::of(2, page_form::apart, page_form::dense);
    c.source.special  = true;
    c.source.any_bits = true;
    check_copy<copy_problem<shuffled_values<From, 64>, token_rows<bf16, 64>>>(c);
    check_copy<copy_problem<shuffled_values<From, 64>, token_rows<fp16, 64>>>(c);
    check_copy<copy_problem<shuffled_values<From, 64>, token_rows<fp8_e4m3, 64>>>(c);
    check_copy<copy_problem<shuffled_values<From, 64>, token_rows<fp8_e4m3_fnuz, 64>>>(c);
}

template <class SourceScale, class TargetScale>
void between_scales()
{
    copy_case const c = copy_case::of(3, page_form::dense, page_form::apart);
    check_copy<
        copy_problem<shuffled_values<fp8_e4m3, 64>, token_rows<fp8_e4m3_fnuz, 64>, SourceScale, TargetScale>>(
        c);
}

} // namespace

TEST_CASE("copy_pages: between every two types", "[contract][pages]")
{
    from_type<bf16>();
    from_type<fp16>();
    from_type<fp8_e4m3>();
    from_type<fp8_e4m3_fnuz>();
}

TEST_CASE("copy_pages: between every two kinds of scales", "[contract][pages]")
{
    between_all_scales(
        [](auto source, auto target) { between_scales<decltype(source), decltype(target)>(); });
}
