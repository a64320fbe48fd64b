// SPDX-License-Identifier: MIT
// README's kernel, composed of ops: it writes what the ready kernel writes.
#include "support/catch.hpp"
#include "support/machines.hpp"
#if KVLOOM_TEST_PLAIN
#include "amd/insert_loops.hpp"
#endif

// [snippet: own_kernel]
#include <kvloom/kvloom.hpp>
// [end]

#include <cstdint>
#include <vector>

using namespace kvloom_test;

namespace {

struct plain : kvloom::insert_problem
{};

// [snippet: own_args]
struct key_args
{
    int tokens;
    float eps;
    kvloom::bf16 const* gain;
    kvloom::angle_table<kvloom::bf16> angles;
    kvloom::i64 const* positions;
    kvloom::i64 const* slots;
    kvloom::head_rows<kvloom::bf16 const, 128> keys_in;
    kvloom::paged_view<kvloom::shuffled_keys<kvloom::bf16, 128>> keys;
};
// [end]

// [snippet: own_kernel]
struct prepare_keys
{
    static constexpr kvloom::launch_bounds bounds = {128, 1, 1, true}; // see launch_bounds.hpp
    struct shared
    {}; // no shared memory

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, key_args const& a) const
    {
        auto const tile = kvloom::tile<16, kvloom::rotary<64>>(block); // 16 lanes hold a row of 128
        auto const gain = kvloom::load(tile, kvloom::row_span<kvloom::bf16 const, 128>{a.gain});
        tile.wave.dependency(); // from here on what the kernel before wrote may be read
        for (auto const [token, live] : kvloom::adjacent_tokens(block, tile, a.tokens)) {
            auto const turn = kvloom::load_angles(tile, a.angles, a.positions[token]);
            auto key        = kvloom::load(tile, a.keys_in.row(token, 0));
            key             = kvloom::rms_norm(tile, key, kvloom::one_plus(gain), a.eps);
            key             = kvloom::rope_neox(tile, key, turn);
            kvloom::insert(tile, a.keys, kvloom::place(a.keys, live ? a.slots[token] : -1), 0, key);
        }
    }
};
// [end]

struct visit_args
{
    int tokens;
    int heads;
    int* visits; // [token][head], then [token]
};

/// Every head of every token, and every token once more.
struct visit
{
    static constexpr kvloom::launch_bounds bounds = {128, 1, 1};
    struct shared
    {};

    /// For the estimate of tests/amd: the waves of a block go through the heads of its tokens, and its tokens once more.
    static std::int64_t passes(visit_args const& a, std::int64_t waves)
    {
        return waves + 2 * std::int64_t{a.tokens} * (a.heads + 2);
    }

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, visit_args const& a) const
    {
        auto const tile = kvloom::tile<16>(block);
        for (auto const [token, present] : kvloom::tokens(block, a.tokens)) {
            for (auto const [head, live] : kvloom::heads(tile, a.heads)) {
                if (present && live && tile.rank() == 0) {
                    a.visits[token * a.heads + head] += 1;
                }
            }
        }
        for (auto const [token, live] : kvloom::adjacent_tokens(block, tile, a.tokens)) {
            if (live && tile.rank() == 0) {
                a.visits[a.tokens * a.heads + token] += 1;
            }
        }
    }
};

std::vector<kvloom::bf16> random_values(std::size_t const count, std::uint32_t state)
{
    std::vector<kvloom::bf16> values(count);
    for (auto& value : values) {
        state = state * 1664525U + 1013904223U;
        value = kvloom::encode<kvloom::bf16>(float(std::int32_t(state)) * 1e-9F);
    }
    return values;
}

} // namespace

TEST_CASE("a kernel composed of ops writes what the ready kernel writes", "[op]")
{
    constexpr int tokens = 21;
    constexpr int pages  = 4;
    std::vector<kvloom::i64> positions(tokens);
    std::vector<kvloom::i64> slots(tokens);
    for (int i = 0; i < tokens; ++i) {
        positions[std::size_t(i)] = (i * 13) % 32;
        slots[std::size_t(i)]     = i == 5 ? -1 : 3 + 2 * i;
    }
    on_every_machine([&](char const* name, auto const& stream) {
        INFO(name);
        device_array<kvloom::bf16> rows(random_values(tokens * 3 * 128, 1));
        device_array<kvloom::bf16> gains(random_values(128, 2));
        device_array<kvloom::bf16> angles(random_values(32 * 64, 3));
        device_array<kvloom::i64> where(positions);
        device_array<kvloom::i64> into(slots);
        device_array<kvloom::bf16> q_out(tokens * 128, kvloom::bf16{0});
        device_array<kvloom::bf16> keys(pages * 2048, kvloom::bf16{0x5a5a});
        device_array<kvloom::bf16> values(pages * 2048, kvloom::bf16{0x5a5a});
        device_array<kvloom::bf16> composed(pages * 2048, kvloom::bf16{0x5a5a});

        kvloom::insert_args<plain> ready;
        ready.tokens = tokens;
        kvloom::packed_row<plain>(ready, rows.data(), {1, 1, 0, 0});
        ready.q_out      = {q_out.data(), 1, 128};
        ready.q_gain     = gains.data();
        ready.k_gain     = gains.data();
        ready.angles     = {angles.data(), 32, 64};
        ready.positions  = where.data();
        ready.slots      = into.data();
        ready.slot_count = tokens;
        ready.keys       = {keys.data(), pages, 1, 2048};
        ready.values     = {values.data(), pages, 1, 2048};
        REQUIRE(text_of(kvloom::qk_norm_rope_insert<plain>::launch(stream, ready)) == "");

        key_args const args{tokens,
                            1e-6F,
                            gains.data(),
                            ready.angles,
                            where.data(),
                            into.data(),
                            {rows.data() + 128, 1, 3 * 128},
                            {composed.data(), pages, 1, 2048}};
        constexpr int blocks = 3;
        // [snippet: own_kernel]
        kvloom::status const s = launch(stream, prepare_keys{}, args, blocks); // a host, hip or cuda stream
        // [end]
        REQUIRE(text_of(s) == "");
        REQUIRE(composed.values() == keys.values());
        REQUIRE_FALSE(keys.values() == std::vector<kvloom::bf16>(pages * 2048, kvloom::bf16{0x5a5a}));
    });
}

TEST_CASE("iteration meets every token and head once", "[op]")
{
    on_every_machine([](char const* name, auto const& stream) {
        for (int const tokens : {1, 7, 64, plain_program ? 33 : 131}) {
            for (int const heads : {1, 3, 8, 71}) {
                for (int const blocks : {1, 3, 40}) {
                    CAPTURE(name, tokens, heads, blocks);
                    device_array<int> visits(std::size_t(tokens * (heads + 1)), 0);
                    run<visit>(stream, visit_args{tokens, heads, visits.data()}, blocks);
                    REQUIRE(visits.values() == std::vector<int>(std::size_t(tokens * (heads + 1)), 1));
                }
            }
        }
    });
}
