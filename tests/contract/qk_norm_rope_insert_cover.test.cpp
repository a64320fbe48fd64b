// SPDX-License-Identifier: MIT
// The problems that complete the cover of pairs: the fused insert writes the model's bytes.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

TEST_CASE("the fused insert writes the model's bytes: cover of pairs, part 1", "[contract][kernel]")
{
    check_problem_in_part<cover_0>(60);
    check_problem_in_part<cover_1>(61);
    check_problem_in_part<cover_2>(62);
    check_problem_in_part<cover_3>(63);
    check_problem_in_part<cover_4>(64);
}

TEST_CASE("the fused insert writes the model's bytes: cover of pairs, part 2", "[contract][kernel]")
{
    check_problem_in_part<cover_5>(65);
    check_problem_in_part<cover_6>(66);
    check_problem_in_part<cover_7>(67);
    check_problem_in_part<cover_8>(68);
    check_problem_in_part<cover_9>(69);
}

TEST_CASE("the fused insert writes the model's bytes: cover of pairs, part 3", "[contract][kernel]")
{
    check_problem_in_part<cover_10>(70);
    check_problem_in_part<cover_11>(71);
    check_problem_in_part<cover_12>(72);
    check_problem_in_part<cover_13>(73);
    check_problem_in_part<cover_14>(74);
}
