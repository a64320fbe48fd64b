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

/// Runs one scene on every machine, with the same bytes on each; `every`: the oracle looks at each n-th token.
template <class Problem>
void check_scene(scene const& s, int const every)
{
    image const want = expected_image(s);
    image first;
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine << ": " << s.name());
        image const got = run_and_compare<Problem>(stream, s, want);
        first           = first.empty() ? got : first;
        CHECK(difference(s, first, got) == "");
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

/// Every standard scene of which `chosen(index)` is true, and `longer` of the long ones, by the number of the problem.
template <class Problem, class Chosen>
void check_scenes(int const number, Chosen const& chosen, std::size_t const longer)
{
    auto const seed     = static_cast<std::uint64_t>(number);
    auto const standard = standard_scenes(seed);
    for (std::size_t i = 0; i < standard.size(); ++i) {
        if (chosen(i)) {
            check_scene<Problem>(scene_of<Problem>(standard[i]), standard[i].tokens > 33 ? 3 : 1);
        }
    }
    auto const all = long_scenes(seed);
    for (std::size_t i = 0; i < longer; ++i) {
        check_scene<Problem>(scene_of<Problem>(all[(2 * seed + i) % all.size()]), 17);
    }
}

/// Every small scene, with `longer` the one of many rows too, by the number of the problem.
template <class Problem>
void check_small_scenes(int const number, bool const longer)
{
    auto const seed = static_cast<std::uint64_t>(number);
    for (auto const& options : small_scenes(seed)) {
        check_scene<Problem>(scene_of<Problem>(options), 3);
    }
    for (auto const& options : long_small_scenes(seed)) {
        if (longer) {
            check_scene<Problem>(scene_of<Problem>(options), 17);
        }
    }
}

/// Every standard scene, and two of the long ones.
template <class Problem>
void check_problem(int const number)
{
    check_scenes<Problem>(
        number, [](std::size_t) { return true; }, 2);
}

/// Every third standard scene and a long one: for problems whose choices have each been tested in every scene apart.
template <class Problem>
void check_problem_in_part(int const number)
{
    auto const remainder = static_cast<std::size_t>(number % 3);
    check_scenes<Problem>(
        number, [&](std::size_t const i) { return i % 3 == remainder; }, 1);
}

} // namespace kvloom_test
