// SPDX-License-Identifier: MIT
// Models as they are served: heads, head sizes and rotary sizes, by the scalar model and the oracle.
#include "contract/hand_cases.hpp"

using namespace kvloom_test;

namespace {

/// Qwen3.
struct qwen3 : insert_problem
{
    using norm = plain_gain;

    static constexpr int rotary_dim = 128;
};

/// GLM-4.5 with norms; GLM-4.5-Air has none.
struct glm45 : insert_problem
{
    using norm = plain_gain;
};

/// Gemma 3 of 27 billion.
struct gemma3 : insert_problem
{
    static constexpr int rotary_dim = 128;
};

/// Gemma 3 of one billion.
struct gemma3_wide : insert_problem
{
    static constexpr int head_dim   = 256;
    static constexpr int rotary_dim = 256;
};

/// gpt-oss.
struct gpt_oss : insert_problem
{
    using norm = no_norm;

    static constexpr int head_dim = 64;
};

/// MiniMax-H3: 96 of 128 dims turn, so halves are no power of two.
struct minimax_h3 : insert_problem
{
    static constexpr int rotary_dim = 96;
};

/// One token, seven, and a page and more, with padding, from slots in order and out of it.
template <class Problem>
void check_model(head_counts const heads, int const head_gap = 0, bool const in_place = false,
                 float const eps = 1e-6f)
{
    slot_pattern const patterns[] = {slot_pattern::from_five, slot_pattern::gaps, slot_pattern::runs};
    int const tokens[]            = {1, 7, 19};
    for (int i = 0; i < 3; ++i) {
        auto o        = call_of(tokens[i], heads, patterns[i], slot_pattern::scattered,
                         i == 2 ? cache_form::interleaved : cache_form::dense);
        o.eps         = eps;
        o.head_gap    = head_gap;
        o.in_place    = in_place;
        o.key_scale   = 0.7f;
        o.value_scale = 1.3f;
        o.seed        = static_cast<std::uint64_t>(heads.q + i);
        check_scene<Problem>(scene_of<Problem>(o), i == 2 ? 3 : 1);
    }
}

} // namespace

TEST_CASE("MiniMax-M3 on one, two, four and eight devices", "[contract][shapes]")
{
    for (head_counts const heads :
         {head_counts{64, 4, 4}, head_counts{32, 2, 2}, head_counts{16, 1, 1}, head_counts{8, 1, 1}}) {
        check_model<m3_bf16>(heads);
        check_model<m3_static>(heads);
    }
}

TEST_CASE("MiniMax-M2: one norm for all heads", "[contract][shapes]")
{
    check_model<minimax_m2>({48, 8, 0});
    check_model<minimax_m2>({6, 1, 0}); // on eight devices
}

TEST_CASE("Qwen3: every dim turns", "[contract][shapes]")
{
    check_model<qwen3>({32, 8, 0});
    check_model<qwen3>({64, 4, 0});
}

TEST_CASE("Qwen3-Next: heads of 256, each query head beside its gate", "[contract][shapes]")
{
    check_model<qwen3_next>({16, 2, 0}, 256);
    check_model<qwen3_next>({16, 2, 0}, 256, true);
    check_model<qwen3_next>({24, 4, 0}, 256);
}

TEST_CASE("GLM-4.5: 96 query heads, half the dims turn", "[contract][shapes]")
{
    check_model<glm45>({96, 8, 0}, 0, false, 1e-5f);
    check_model<bare_bf16>({96, 8, 0}, 0, false, 1e-5f); // GLM-4.5-Air
}

TEST_CASE("Gemma 3: every dim of 128 or 256 turns", "[contract][shapes]")
{
    check_model<gemma3>({32, 16, 0});
    check_model<gemma3_wide>({4, 1, 0});
}

TEST_CASE("Gemma 4: heads of 512, V normalised without weights", "[contract][shapes]")
{
    check_model<gemma4>({16, 8, 0});
}

TEST_CASE("gpt-oss: heads of 64, no norm", "[contract][shapes]")
{
    check_model<gpt_oss>({64, 8, 0}, 0, false, 1e-5f);
}

TEST_CASE("MiniMax-H3: 96 of 128 dims turn", "[contract][shapes]")
{
    check_model<minimax_h3>({32, 8, 0});
}
