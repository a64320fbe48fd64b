// SPDX-License-Identifier: MIT
// The fused insert behind another kernel of its stream: it may start early, but it must see all that the other one wrote.
#include "contract/check_problem.hpp"

using namespace kvloom_test;

namespace {

constexpr int copied_blocks = 6;

struct slow_copy_args
{
    u32 const* zeros; // [1]
    int delay;
    u32 const* from[copied_blocks];
    u32* to[copied_blocks];
    int words[copied_blocks];
};

/// Lets the next kernel start at once, dawdles, and only then writes.
struct slow_copy
{
    static constexpr launch_bounds bounds = {128, 1, 1, true};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, slow_copy_args const& a) const
    {
        auto const wave = block.wave();
        wave.release_dependents();
        wave.dependency();
        u32 next = 0;
        for (int i = 0; i < a.delay; ++i) {
            next = wave.template load<u32>(a.zeros + next); // each waits for the one before it
        }
        for (int b = 0; b < copied_blocks; ++b) {
            for (int i = block.index() * Block::threads + block.thread(); i < a.words[b];
                 i += block.count() * Block::threads) {
                wave.store(a.to[b] + i, wave.template load<u32>(a.from[b] + i + next));
            }
        }
    }
};

struct plain_copy_args
{
    u32 const* from;
    u32* to;
    int words;
};

/// Knows nothing of dependent launches: it reads at once.
struct plain_copy
{
    static constexpr launch_bounds bounds = {128, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, plain_copy_args const& a) const
    {
        for (int i = block.thread(); i < a.words; i += Block::threads) {
            block.wave().store(a.to + i, block.wave().template load<u32>(a.from + i));
        }
    }
};

/// A scene like `s` with other rows, positions, slots and scales, some of them out of range.
scene stale_copy(scene const& s)
{
    scene stale = s;
    random_source random(99);
    for (unsigned char& byte : stale.blocks[block_rows].bytes) {
        byte = static_cast<unsigned char>(random.below(64)); // small positive numbers
    }
    for (std::size_t i = 0; i < stale.positions.size(); ++i) {
        stale.positions[i] = i % 4 == 0   ? -5
                             : i % 4 == 1 ? std::int64_t{1} << 40
                                          : random.below(static_cast<int>(s.angle_rows));
    }
    for (std::size_t i = 0; i < stale.slots.size(); ++i) {
        stale.slots[i]       = std::int64_t{s.keys.pages} * 16 - 1 - static_cast<std::int64_t>(i);
        stale.index_slots[i] = i % 2 == 0 ? -1 : stale.slots[i];
    }
    write_indices(stale);
    stale.blocks[block_key_scale].bytes.assign(4, 0x3F);
    stale.blocks[block_value_scale].bytes.assign(4, 0x3E);
    return stale;
}

} // namespace

TEST_CASE("what the kernel before it wrote is what the insert reads", "[contract][kernel]")
{
    block_id const copied[copied_blocks] = {block_rows,        block_positions, block_slots,
                                            block_index_slots, block_key_scale, block_value_scale};
    for (int const q_heads : {8, 64}) { // one row a tile; several
        auto o           = call_of(80, {q_heads, 2, 2}, slot_pattern::runs, slot_pattern::paged);
        o.key_scale      = 7.0f;
        o.value_scale    = 28.0f;
        scene const s    = scene_of<m3_static>(o);
        scene const old  = stale_copy(s);
        image const want = expected_image(s);
        on_every_machine([&](char const* machine, auto const& stream) {
            INFO(machine << ": " << s.name());
            device_array<u32> const zeros(1, 0U);
            for (int repeat = 0; repeat < (KVLOOM_TEST_BACKEND_HOST ? 1 : 50); ++repeat) {
                scene_memory const fresh(s), used(old);
                slow_copy_args copy{
                    zeros.data(), KVLOOM_TEST_BACKEND_HOST ? 1 : 100 * (repeat % 10), {}, {}, {}};
                for (int i = 0; i < copied_blocks; ++i) {
                    copy.from[i]  = reinterpret_cast<u32 const*>(fresh.data(copied[i]));
                    copy.to[i]    = reinterpret_cast<u32*>(used.data(copied[i]));
                    copy.words[i] = static_cast<int>(s.blocks[copied[i]].bytes.size() / 4);
                }
                auto const args = make_args<m3_static>(s, used);
                REQUIRE(text_of(launch(stream, slow_copy{}, copy, 8)) == "");
                REQUIRE(text_of(qk_norm_rope_insert<m3_static>::launch(stream, args)) == "");
                REQUIRE(difference(s, want, used.after()) == "");
            }
        });
    }
}

TEST_CASE("a kernel that does not say that it waits starts when the one before it has ended",
          "[contract][kernel]")
{
    std::vector<u32> numbers(1024);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<u32>(i) + 1U;
    }
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        device_array<u32> const zeros(1, 0U), from(numbers), between(1024, 0U), to(1024, 0U);
        slow_copy_args copy{zeros.data(), KVLOOM_TEST_BACKEND_HOST ? 1 : 2000, {}, {}, {}};
        copy.from[0]  = from.data();
        copy.to[0]    = between.data();
        copy.words[0] = 1024;
        REQUIRE(text_of(launch(stream, slow_copy{}, copy, 1)) == "");
        REQUIRE(text_of(launch(stream, plain_copy{}, plain_copy_args{between.data(), to.data(), 1024}, 1))
                == "");
        CHECK(to.values() == numbers);
    });
}
