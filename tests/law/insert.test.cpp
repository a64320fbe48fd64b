// SPDX-License-Identifier: MIT
// The fused insert as a whole: what is inserted can be read back, and a token's bytes do not depend on its company.
#include "contract/launch.hpp"
#include "contract/scenes.hpp"
#include "support/catch.hpp"
#include "support/scene_image.hpp"

#include <vector>

using namespace kvloom_test;

namespace {

/// Copies what was inserted out of a cache, by the library's own layout, as [token][head][dim] codes.
template <class Layout>
std::vector<unsigned> read_back(scene const& s, image const& after, cache_at const& c)
{
    std::vector<unsigned> codes;
    for (std::int64_t const slot : s.slots) {
        for (int head = 0; head < c.heads; ++head) {
            std::int64_t const span =
                c.first + slot / Layout::page_size * c.page_stride + head * c.head_stride;
            for (int d = 0; d < Layout::dim; ++d) {
                auto const at = span + Layout::offset(static_cast<int>(slot % Layout::page_size), d);
                codes.push_back(scalar_model::read_code(s.problem.cache,
                                                        &after[c.block][static_cast<std::size_t>(at) * 2]));
            }
        }
    }
    return codes;
}

std::vector<unsigned> rows_of(scene const& s, rows_at const& from)
{
    std::vector<unsigned> codes;
    for (int token = 0; token < s.options.tokens; ++token) {
        for (int i = 0; i < from.heads * s.problem.head_dim; ++i) {
            auto const at = static_cast<std::size_t>(from.first + token * from.token_stride + i) * 2;
            codes.push_back(scalar_model::read_code(s.problem.activation, &s.blocks[from.block].bytes[at]));
        }
    }
    return codes;
}

} // namespace

TEST_CASE("without norm, rotation and rounding, inserting then reading is the identity", "[law][kernel]")
{
    for (int const q_heads : {2, 80}) { // one row a tile; several
        auto const o =
            call_of(66, {q_heads, 3, 0}, slot_pattern::runs, slot_pattern::none, cache_form::apart);
        scene s = make_scene(describe<bare_page_64>(), o, false, true);
        random_source random(77);
        s.slots = shuffled_runs(random, std::int64_t{64} * s.keys.pages); // all of them valid
        s.slots.resize(66);
        write_indices(s);
        on_every_machine([&](char const* machine, auto const& stream) {
            INFO(machine << ": " << s.name());
            scene_memory const memory(s);
            auto const args = make_args<bare_page_64>(s, memory);
            REQUIRE(text_of(qk_norm_rope_insert<bare_page_64>::launch(stream, args)) == "");
            image const after = memory.after();
            CHECK((read_back<shuffled_keys<bf16, 128, 64>>(s, after, s.keys) == rows_of(s, s.k)));
            CHECK((read_back<shuffled_values<bf16, 128, 64>>(s, after, s.values) == rows_of(s, s.v)));
        });
    }
}

TEST_CASE("a token's bytes do not depend on the tokens it is launched with", "[law][kernel]")
{
    auto o             = call_of(70, {64, 3, 2}, slot_pattern::runs, slot_pattern::scattered);
    o.faulty_positions = true;
    scene const s      = make_scene(describe<m3_static>(), o);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine << ": " << s.name());
        scene_memory const together(s), apart(s);
        auto const all = make_args<m3_static>(s, together);
        REQUIRE(text_of(qk_norm_rope_insert<m3_static>::launch(stream, all)) == "");

        auto const whole  = make_args<m3_static>(s, apart);
        int const parts[] = {1, 5, 16, 7, 30, 11}; // 70 in all
        int first         = 0;
        for (int const count : parts) {
            auto part             = whole;
            part.tokens           = count;
            part.slot_count       = count;
            part.index_slot_count = count;
            part.q.data += first * whole.q.token_stride;
            part.k.data += first * whole.k.token_stride;
            part.v.data += first * whole.v.token_stride;
            part.index_q.data += first * whole.index_q.token_stride;
            part.index_k.data += first * whole.index_k.token_stride;
            part.q_out.data += first * whole.q_out.token_stride;
            part.index_q_out.data += first * whole.index_q_out.token_stride;
            part.positions += first;
            part.slots += first;
            part.index_slots += first;
            REQUIRE(text_of(qk_norm_rope_insert<m3_static>::launch(stream, part)) == "");
            first += count;
        }
        REQUIRE(first == 70);
        CHECK((together.after() == apart.after()));
    });
}
