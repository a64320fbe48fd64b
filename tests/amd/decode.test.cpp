// SPDX-License-Identifier: MIT
// Paged decode of bf16 caches: the same bytes however the work is cut and merged.
#include "amd/small_decode.hpp"

using namespace kvloom_test;

namespace {

using in_bf16 = decode_of<shuffled_keys<bf16, 128>, shuffled_values<bf16, 128>>;

struct merged_by_last : in_bf16
{
    using merge_strategy = merging::last_arriver;
};

/// Runs a scene; gives the results, which are within their bounds.
template <class Problem, class Stream>
std::vector<unsigned char> run_cut(Stream const& stream, decode_scene const& s,
                                   decode_expectation const& want)
{
    decode_call<Problem> call(stream, s);
    call.run(stream);
    check_call(call, s, want);
    return call.out();
}

void check_cuts(decode_options const& options)
{
    auto s          = scene_for<in_bf16>(options);
    auto const want = expect(s, logit_of<plain_logits>(s), false);
    on_every_machine([&](char const* machine, auto const& stream) {
        std::vector<unsigned char> first;
        for (int const blocks : {1, 3, 7}) {
            CAPTURE(machine, blocks, options.heads);
            s.options.blocks  = blocks;
            auto const apart  = run_cut<in_bf16>(stream, s, want);
            auto const by_one = run_cut<merged_by_last>(stream, s, want);
            first             = first.empty() ? apart : first;
            CHECK((apart == first));
            CHECK((by_one == first));
        }
    });
}

} // namespace

TEST_CASE("paged_decode: no cut and no merge changes a byte, few rows to a head", "[contract][decode]")
{
    auto o    = few_rows();
    o.lengths = {0, 1, 290, 33};
    check_cuts(o);
}

TEST_CASE("paged_decode: no cut and no merge changes a byte, many rows to a head", "[contract][decode]")
{
    check_cuts(many_rows());
}
