// SPDX-License-Identifier: MIT
// The test body of a problem: every scene on every machine, byte for byte as the scalar model says and within the oracle's bounds.
#pragma once

#include "contract/launch.hpp"
#include "contract/oracle_check.hpp"
#include "contract/scenes.hpp"
#include "support/catch.hpp"
#include "support/scene_image.hpp"

namespace kvloom_test {

/// Runs one scene on one machine, and compares every block with `want`; whatever was not to be written must be as it was.
template <class Problem, class Stream>
image run_and_compare(Stream const& stream, scene const& s, image const& want)
{
    scene_memory const memory(s);
    auto const args = make_args<Problem>(s, memory);
    REQUIRE(text_of(qk_norm_rope_insert<Problem>::validate(args)) == "");
    REQUIRE(text_of(qk_norm_rope_insert<Problem>::launch(stream, args)) == "");
    image const got = memory.after();
    CHECK(difference(s, want, got) == "");
    CHECK(memory.trespasses() == "");
    return got;
}

/// Runs one scene on every machine; `every`: the oracle looks at each n-th token.
template <class Problem>
void check_scene(scene const& s, int const every)
{
    image const want = expected_image(s);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine << ": " << s.name());
        image const got   = run_and_compare<Problem>(stream, s, want);
        auto const report = check_against_oracle(s, got, every);
        CHECK(report.text == "");
    });
}

/// A scene with the types of a problem; no gaps between heads where the problem says that there are none.
template <class Problem>
scene scene_of(scene_options options)
{
    if (is_same_v<typename Problem::heads, dense_heads>) {
        options.head_gap = 0;
    }
    return make_scene(describe<Problem>(), options, sizeof(typename Problem::slot) == 8,
                      sizeof(typename Problem::position) == 8);
}

/// Every standard scene, and two of the long ones by the number of the problem.
template <class Problem>
void check_problem(int const number)
{
    auto const seed = static_cast<std::uint64_t>(number);
    for (auto const& options : standard_scenes(seed)) {
        check_scene<Problem>(scene_of<Problem>(options), options.tokens > 33 ? 3 : 1);
    }
    auto const longer = long_scenes(seed);
    for (std::size_t i = 0; i < 2; ++i) {
        check_scene<Problem>(scene_of<Problem>(longer[(2 * seed + i) % longer.size()]), 17);
    }
}

} // namespace kvloom_test
