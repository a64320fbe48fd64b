// SPDX-License-Identifier: MIT
// Paged decode with a window, sinks, a soft cap, ALiBi, logarithms to base 2, offsets of query tokens, the free fold.
#include "amd/small_decode.hpp"
#include "contract/decode_problems.hpp"

using namespace kvloom_test;

namespace {

struct sloped_with_lse : sloped
{
    using lse = base2_lse;
};

struct folded_freely : decode_problem
{
    using folding = fold::free;
    using lse     = natural_lse;
};
struct folded_by_last : folded_freely
{
    using merge_strategy = merging::last_arriver;
};

} // namespace

TEST_CASE("paged_decode: the free fold with both merges", "[contract][decode]")
{
    check_small_decode<folded_freely>();
    check_small_decode<folded_by_last>();
}

TEST_CASE("paged_decode: a soft cap, a window and sinks", "[contract][decode]")
{
    for (int const window : {1, 20}) {
        auto o   = few_rows();
        o.window = window;
        check_decode<capped>(o);
        o        = many_rows();
        o.window = window;
        check_decode<capped>(o);
    }
}

TEST_CASE("paged_decode: ALiBi, offsets of query tokens, logarithms to base 2", "[contract][decode]")
{
    auto o   = few_rows();
    o.tokens = {1, 0, 3, 2};
    o.count  = 3;
    check_decode<sloped_with_lse>(o);
}
