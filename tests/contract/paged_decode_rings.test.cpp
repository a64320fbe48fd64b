// SPDX-License-Identifier: MIT
// Paged decode through rings of shared memory, the kernel for NVIDIA's bulk copies, on the CPU model of a machine that has
// them: who copies, who computes and who folds, and the queue between them.
#include "contract/decode_check.hpp"
#include "contract/decode_problems.hpp"

#include <type_traits>

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class T, int Dim = 128>
struct plain : decode_problem
{
    using key_cache   = shuffled_keys<T, Dim>;
    using value_cache = shuffled_values<T, Dim>;
    using lse         = natural_lse;
};

template <class Problem>
struct by_last : Problem
{
    using merge_strategy = merging::last_arriver;
};

template <class Problem>
struct freely : Problem
{
    using folding = fold::free;
};

/// Scales for each token: rings carry the pages' numbers too.
struct by_token : plain<fp8_e4m3>
{
    using key_scale   = scale_view;
    using value_scale = scale_view;
};

using copying = host::stream<host::sm_90>;

struct machines_that_copy
{
    template <class Body>
    static void each(Body&& body)
    {
        body("host, warps of 32 that copy in bulk", copying{});
    }
};

template <class Problem>
void check_rings(decode_options const& options)
{
    static_assert(decode_types<Problem>::fits_rings && copying::has_copies);
    check_decode<Problem, machines_that_copy>(options);
}

/// Blocks of 8, 16, 32 and 64 query rows, full and not; fewer segments than blocks, and many of a block.
template <class Problem>
void check_rows()
{
    for (int const count : {1, 2, 3, 7}) {
        check_rings<Problem>(options_of({0, 33, 530}, 8, 1, count));
    }
    check_rings<Problem>(options_of({1, 15, 16, 17, 31, 32, 33, 257, 700}, 6, 3, 1));
}

} // namespace

TEST_CASE("rings: every number of query rows, in 16 bits and in fp8", "[contract][decode]")
{
    check_rows<plain<bf16>>();
    check_rows<plain<fp8_e4m3>>();
    check_rows<plain<fp16, 64>>();
}

TEST_CASE("rings: windows, sinks, slopes, scales of each token", "[contract][decode]")
{
    auto o   = options_of({5, 300, 1100}, 6, 2, 2);
    o.window = 70;
    o.sink   = [](int const head) { return 0.3 * head - 1.0; };
    check_rings<capped>(o);
    o        = options_of({0, 40, 290}, 6, 2, 1);
    o.tokens = {2, 1, 3};
    check_rings<sloped>(o);
    check_rings<by_token>(options_of({0, 1, 17, 64, 300, 1400}, 6, 2, 1));
    check_rings<by_token>(options_of({530, 31}, 11, 1, 3));
}

TEST_CASE("rings: pages that do not exist, stale slots of a last page", "[contract][decode]")
{
    auto o   = options_of({7, 100, 310}, 8, 1, 1);
    o.faulty = true;
    for (int const count : {1, 5}) {
        o.count = count;
        o.stale = -1; // NaN
        check_rings<plain<bf16>>(o);
        o.stale = 0x7f;
        check_rings<plain<fp8_e4m3>>(o);
    }
}

TEST_CASE("rings: no cut of the work and no way to merge changes a byte", "[contract][decode][law][large]")
{
    for (auto const& o : {options_of({700, 0, 1500, 3, 129}, 8, 1, 1), options_of({40, 1030, 600}, 12, 1, 1),
                          options_of({2100, 17}, 24, 1, 1), options_of({520, 900}, 15, 3, 12)}) {
        auto s           = scene_for<plain<bf16>>(o);
        auto eight       = scene_for<plain<fp8_e4m3>>(o);
        s.options.blocks = eight.options.blocks = 1;
        auto const whole                        = bytes_of<plain<bf16>>(copying{}, s);
        auto const whole_eight                  = bytes_of<plain<fp8_e4m3>>(copying{}, eight);
        for (int const blocks : {2, 3, 7, 20}) {
            CAPTURE(o.lengths, o.heads, o.count, blocks);
            s.options.blocks = eight.options.blocks = blocks;
            CHECK((bytes_of<plain<bf16>>(copying{}, s) == whole));
            CHECK((bytes_of<by_last<plain<bf16>>>(copying{}, s) == whole));
            CHECK((bytes_of<plain<fp8_e4m3>>(copying{}, eight) == whole_eight));
        }
    }
}

TEST_CASE("rings: the fold that goes on over its nodes", "[contract][decode]")
{
    auto o = options_of({700, 0, 1500, 3}, 8, 1, 1);
    for (int const blocks : {1, 5}) {
        o.blocks = blocks;
        for (int const count : {1, 3}) {
            o.count = count;
            check_rings<freely<plain<bf16>>>(o);
            check_rings<freely<plain<fp8_e4m3>>>(o);
        }
    }
}
