// SPDX-License-Identifier: MIT
// Launches recorded at length 1 and replayed when the lengths in device memory have grown: nothing of a length is in them.
#include "contract/decode_check.hpp"
#include "contract/growth.hpp"
#include "support/replay.hpp"

#include <utility>

using namespace kvloom;
using namespace kvloom_test;

namespace {

struct merged_apart : decode_problem
{
    using key_cache   = shuffled_keys<bf16, 64>;
    using value_cache = shuffled_values<bf16, 64>;
    using lse         = natural_lse;
};
struct merged_by_last : merged_apart
{
    using merge_strategy = merging::last_arriver;
};

/// A scene whose table holds `lengths`, with what must come of it when they are others.
struct grown_scene
{
    decode_scene scene;

    decode_expectation expect_at(std::vector<std::int64_t> const& lengths) const
    {
        decode_scene now = scene;
        now.lengths      = lengths;
        return expect(now, logit_of<plain_logits>(now), false);
    }
};

/// Plan and launch recorded at lengths of 1, then replayed at each of `steps`: the oracle's numbers and the bytes of a
/// launch that is not recorded, in memory of its own.
template <class Problem>
void check_replay(std::vector<std::vector<std::int64_t>> const& steps)
{
    using decode = paged_decode<Problem>;
    decode_options o;
    o.lengths = steps[0];
    for (auto const& step : steps) {
        for (std::size_t i = 0; i < step.size(); ++i) {
            o.lengths[i] = std::max(o.lengths[i], step[i]);
        }
    }
    o.count = 2;
    o.scale = 0.05F;
    grown_scene grown{scene_for<Problem>(o)};
    std::vector<decode_expectation> want;
    for (auto const& step : steps) {
        want.push_back(grown.expect_at(step));
    }
    on_every_machine([&](char const* machine, auto const& stream) {
        grown.scene.options.blocks = std::max(7, decode::blocks(stream));
        decode_call<Problem> call(stream, grown.scene), eager(stream, grown.scene);
        call.set_lengths(std::vector<std::int64_t>(o.lengths.size(), 1));
        REQUIRE(text_of(decode::prepare_workspace(stream, call.args)) == "");
        backend_memory::finish();
        recorded_launches const step(stream, [args = call.args](auto const& on) {
            REQUIRE(text_of(decode::plan(on, args)) == "");
            REQUIRE(text_of(decode::launch(on, args)) == "");
        });
        for (std::size_t i = 0; i < steps.size(); ++i) {
            CAPTURE(machine, i, steps[i]);
            call.set_lengths(steps[i]);
            eager.set_lengths(steps[i]);
            step.replay();
            eager.run(stream);
            CHECK((call.out() == eager.out()));
            CHECK((call.lse() == eager.lse()));
            check_call(call, grown.scene, want[i]);
        }
    });
}

struct plain_rows : insert_problem
{
    using norm = no_norm;

    static constexpr int head_dim   = 64;
    static constexpr int rotary_dim = 0;
};

/// What a step inserts and where, in device memory that stays where it is.
class step_inputs
{
public:
    static constexpr int heads    = 8;
    static constexpr int sections = heads + 2;
    static constexpr int dim      = plain_rows::head_dim;

    explicit step_inputs(int const tokens)
        : rows_(static_cast<std::size_t>(tokens * sections * dim), bf16{}),
          slots_(static_cast<std::size_t>(tokens), -1)
    {}

    insert_args<plain_rows> args(decode_args<decode_after<plain_rows>> const& from) const
    {
        insert_args<plain_rows> a;
        a.tokens = a.slot_count = from.sequences;
        a.slots                 = slots_.data();
        a.keys                  = from.keys;
        a.values                = from.values;
        a.q_out                 = {const_cast<bf16*>(from.query.data), heads, from.query.token_stride};
        packed_row<plain_rows>(a, rows_.data(), {heads, 1, 0, 0});
        return a;
    }

    /// The next token of each sequence, the last of its length.
    void set(decode_scene const& s, std::vector<std::int64_t> const& lengths, std::uint64_t const seed) const
    {
        random_source random(seed);
        std::vector<bf16> rows;
        for (std::size_t i = 0; i < lengths.size() * sections * dim; ++i) {
            rows.push_back(encode<bf16>(static_cast<float>(random.normal())));
        }
        std::vector<i64> slots;
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            std::int64_t const last = lengths[i] - 1;
            slots.push_back(s.ids[i][static_cast<std::size_t>(last / 16)] * 16 + last % 16);
        }
        backend_memory::upload(rows_.data(), rows.data(), rows.size() * sizeof(bf16));
        backend_memory::upload(slots_.data(), slots.data(), slots.size() * sizeof(i64));
    }

private:
    device_array<bf16> rows_;
    device_array<i64> slots_;
};

} // namespace

TEST_CASE("recorded at length 1, replayed at 100 000", "[contract][decode][large]")
{
    check_replay<merged_apart>({{1, 1, 1}, {100000, 4097, 300}, {2, 0, 4100}});
}

TEST_CASE("recorded at length 1, replayed at 20 000: merged by the last block", "[contract][decode][large]")
{
    check_replay<merged_by_last>({{1, 1}, {17, 20000}, {4100, 1}});
}

TEST_CASE("insert and decode recorded as the first call of all: replays are what launches give",
          "[contract][cases]") // B65
{
    using problem = decode_after<plain_rows>;
    using decode  = paged_decode<problem>;
    decode_options o;
    o.lengths    = {304, 40, 19};
    auto const s = scene_for<problem>(o);
    on_every_machine([&](char const* machine, auto const& stream) {
        decode_call<problem> call(stream, s), eager(stream, s);
        step_inputs const inputs(3), eager_inputs(3);
        REQUIRE(text_of(decode::prepare_workspace(stream, call.args)) == "");
        backend_memory::finish();
        auto const body = [](insert_args<plain_rows> const& insert, decode_args<problem> const& attend) {
            return [=](auto const& on) {
                REQUIRE(text_of(qk_norm_rope_insert<plain_rows>::launch(on, insert)) == "");
                REQUIRE(text_of(decode::plan(on, attend)) == "");
                REQUIRE(text_of(decode::launch(on, attend)) == "");
            };
        };
        recorded_launches const step(stream, body(inputs.args(call.args), call.args));
        REQUIRE(text_of(decode::prepare_workspace(stream, eager.args)) == "");
        for (int i = 0; i < 4; ++i) {
            std::vector<std::int64_t> const lengths{301 + i, 15 + 2 * i, i == 2 ? 19 : 1 + i};
            CAPTURE(machine, lengths);
            for (auto const& [of, at] : {std::pair{&call, &inputs}, std::pair{&eager, &eager_inputs}}) {
                of->set_lengths(lengths);
                at->set(s, lengths, 100 + static_cast<std::uint64_t>(i));
            }
            step.replay();
            body(eager_inputs.args(eager.args), eager.args)(stream);
            backend_memory::finish();
            CHECK((call.out() == eager.out()));
            CHECK((call.lse() == eager.lse()));
            CHECK((call.out() != s.out.bytes));
            CHECK(call.stray_writes() == "");
        }
    });
}
