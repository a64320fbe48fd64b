// SPDX-License-Identifier: MIT
// copy_pages between every two layouts: bits, and fp8 with a scale for each row to bf16.
#include "contract/copy_cases.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class Source, class To, class Scale>
void to_every_layout()
{
    check_copies<copy_problem<Source, shuffled_keys<To, 64>, Scale>>();
    check_copies<copy_problem<Source, shuffled_values<To, 64>, Scale>>();
    check_copies<copy_problem<Source, transposed_values<To, 64>, Scale>>();
    check_copies<copy_problem<Source, token_rows<To, 64>, Scale>>();
}

template <class From, class To, class Scale>
void between_layouts()
{
    to_every_layout<shuffled_keys<From, 64>, To, Scale>();
    to_every_layout<shuffled_values<From, 64>, To, Scale>();
    to_every_layout<transposed_values<From, 64>, To, Scale>();
    to_every_layout<token_rows<From, 64>, To, Scale>();
}

} // namespace

TEST_CASE("copy_pages: bits between every two layouts", "[contract][pages]")
{
    between_layouts<bf16, bf16, no_scale>();
}

TEST_CASE("copy_pages: fp8 with a scale for each row to bf16 between every two layouts", "[contract][pages]")
{
    between_layouts<fp8_e4m3, bf16, scale_view>();
}
