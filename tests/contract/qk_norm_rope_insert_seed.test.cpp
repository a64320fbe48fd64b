// SPDX-License-Identifier: MIT
// AITER pull request 4813's own test list: sizes, types, a skipped index, padding, folded heads.
#include "contract/check_problem.hpp"

#include <algorithm>

using namespace kvloom_test;

namespace {

struct bf16_index_fp8_cache : insert_problem
{
    using cache    = shuffled_cache<fp8_e4m3>;
    using index    = index_branch<>;
    using numerics = contract::seed;
};

struct fp8_index_bf16_cache : insert_problem
{
    using index = index_branch<fp8_e4m3, fp8_e4m3>;
};

struct fp8_index_fp8_cache : bf16_index_fp8_cache
{
    using index = index_branch<fp8_e4m3, fp8_e4m3>;
};

/// Every dim turns.
struct full_rotary : fp8_index_fp8_cache
{
    static constexpr int rotary_dim = 128;
};

/// A layer that skips its index branch: the projection row still has the index sections.
struct index_skipped : full_rotary
{
    using index = no_index;
};

scene_options seed_call(int const tokens, head_counts const heads)
{
    auto o        = call_of(tokens, heads, slot_pattern::paged, slot_pattern::scattered);
    o.eps         = 1e-6f;
    o.key_scale   = 0.7f;
    o.value_scale = 1.3f;
    return o;
}

template <class Problem>
void check_sizes()
{
    for (int const tokens : {1, 7, 64}) {
        auto o = seed_call(tokens, {16, 1, 1});
        o.seed = static_cast<std::uint64_t>(tokens);
        check_scene<Problem>(scene_of<Problem>(o), 1);
    }
    auto o        = seed_call(64, {16, 1, 1});
    o.key_scale   = 7.0f; // where a product with the reciprocal is not always the quotient's byte
    o.value_scale = 28.0f;
    check_scene<Problem>(scene_of<Problem>(o), 1);
}

/// What a scene's call leaves where the index branch is skipped.
image without_index(scene const& s)
{
    scene other             = s;
    other.problem.has_index = false;
    return expected_image(other);
}

} // namespace

TEST_CASE("the seed's sizes: a bf16 index and a bf16 cache", "[contract][seed]")
{
    check_sizes<m3_bf16>();
}

TEST_CASE("the seed's sizes: a bf16 index and an fp8 cache", "[contract][seed]")
{
    check_sizes<bf16_index_fp8_cache>();
}

TEST_CASE("the seed's sizes: an fp8 index and a bf16 cache", "[contract][seed]")
{
    check_sizes<fp8_index_bf16_cache>();
}

TEST_CASE("the seed's sizes: an fp8 index and an fp8 cache", "[contract][seed]")
{
    check_sizes<fp8_index_fp8_cache>();
}

TEST_CASE("the seed's sizes: 32 query heads, 4 of K and V, 2 of the index, every dim turned",
          "[contract][seed]")
{
    for (int const tokens : {1, 7, 64}) {
        check_scene<full_rotary>(scene_of<full_rotary>(seed_call(tokens, {32, 4, 2})), 1);
    }
}

TEST_CASE("a layer that skips its index branch leaves the index outputs alone", "[contract][seed]")
{
    for (int const tokens : {7, 150}) { // one row a tile; several
        scene const s    = scene_of<full_rotary>(seed_call(tokens, {32, 4, 2}));
        image const want = without_index(s);
        CHECK((want[block_index_q_out] == s.initial()[block_index_q_out]));
        on_every_machine([&](char const* machine, auto const& stream) {
            INFO(machine << ": " << s.name());
            scene_memory const memory(s);
            auto const from = make_args<full_rotary>(s, memory);
            insert_args<index_skipped> args;
            args.tokens = from.tokens, args.eps = from.eps, args.slot_count = from.slot_count;
            args.positions = from.positions, args.angles = from.angles, args.slots = from.slots;
            packed_row(args, from.q.data, {32, 4, 2, 1}, from.q.token_stride);
            args.q_out = from.q_out, args.q_gain = from.q_gain, args.k_gain = from.k_gain;
            args.keys = from.keys, args.values = from.values;
            args.key_scale = from.key_scale, args.value_scale = from.value_scale;
            args.index_slots      = from.index_slots;
            args.index_slot_count = from.index_slot_count;
            args.index_q_gain     = from.index_q_gain;
            args.index_k_gain     = from.index_k_gain;
            REQUIRE(text_of(qk_norm_rope_insert<index_skipped>::launch(stream, args)) == "");
            CHECK(difference(s, want, memory.after()) == "");
            CHECK(memory.trespasses() == "");
        });
    }
}

TEST_CASE("padded slots 0, -1 and 17", "[contract][seed]")
{
    auto o        = seed_call(3, {16, 1, 1});
    scene s       = scene_of<fp8_index_fp8_cache>(o);
    s.slots       = {0, -1, 17};
    s.index_slots = {0, -1, 17};
    write_indices(s);
    check_scene<fp8_index_fp8_cache>(s, 1);
    image const before = s.initial();
    image const want   = expected_image(s);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        image const after = run_and_compare<fp8_index_fp8_cache>(stream, s, want);
        std::vector<std::int64_t> rows; // of the index cache that changed
        for (std::int64_t row = 0; row < std::int64_t{s.index_keys.pages} * 16; ++row) {
            auto const at = static_cast<std::ptrdiff_t>(row * 128);
            if (!std::equal(after[block_index_keys].begin() + at, after[block_index_keys].begin() + at + 128,
                            before[block_index_keys].begin() + at)) {
                rows.push_back(row);
            }
        }
        CHECK(rows == std::vector<std::int64_t>{0, 17});
        int queries = 0; // the padded token's are written too
        for (std::size_t i = 16 * 128 * 2; i < 2 * 16 * 128 * 2; ++i) {
            queries += after[block_q_out][i] != before[block_q_out][i] ? 1 : 0;
        }
        CHECK(queries > 16 * 128);
    });
}

TEST_CASE("a head of a page is a page of one head", "[contract][seed]")
{
    constexpr int heads = 4;
    for (int const tokens : {33, 150}) { // one row a tile; several
        scene const s    = scene_of<full_rotary>(seed_call(tokens, {32, heads, 2}));
        image const want = expected_image(s);
        on_every_machine([&](char const* machine, auto const& stream) {
            INFO(machine << ": " << s.name());
            scene_memory const memory(s);
            auto const whole = make_args<full_rotary>(s, memory);
            for (int head = 0; head < heads; ++head) {
                std::vector<i64> folded;
                for (i64 const slot : s.slots) {
                    folded.push_back((slot / 16 * heads + head) * 16 + slot % 16);
                }
                device_array<i64> const slots(folded);
                auto args    = whole;
                args.slots   = slots.data();
                args.k.data  = whole.k.data + head * 128;
                args.v.data  = whole.v.data + head * 128;
                args.k.heads = args.v.heads = 1;
                args.keys                   = {args.keys.data, args.keys.pages * heads, 1, 16 * 128};
                args.values                 = {args.values.data, args.values.pages * heads, 1, 16 * 128};
                REQUIRE(text_of(qk_norm_rope_insert<full_rotary>::launch(stream, args)) == "");
                backend_memory::finish();
            }
            CHECK(difference(s, want, memory.after()) == "");
        });
    }
}
