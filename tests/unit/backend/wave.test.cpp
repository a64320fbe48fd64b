// SPDX-License-Identifier: MIT
// The lane primitives of every machine, each against its definition for every lane; barriers and shared memory of blocks.
#include "kvloom/group/algorithm.hpp"
#include "support/catch.hpp"
#include "support/machines.hpp"

#include <cstdint>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

constexpr int threads = 128;

/// What one lane got; the thread number was handed in.
struct findings
{
    int size;
    int by_mask[6]; // 1, 3, 5, 7, 12, 15
    int wide_mask;  // 16 + 3
    int ahead, behind;
    int rotated4, rotated8;
    int taken;
    int shuffled;
    i64 shuffled_wide;
    int from_third;
    int before;
    u64 odd;
    float half;
};

struct probe
{
    static constexpr launch_bounds bounds = {threads, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, findings* const& out) const
    {
        auto const wave = block.wave();
        int const id    = block.thread();
        site const at   = site::here();
        findings f{};
        f.size          = Block::wave_type::size;
        f.by_mask[0]    = wave.template exchange<1>(id, at);
        f.by_mask[1]    = wave.template exchange<3>(id, at);
        f.by_mask[2]    = wave.template exchange<5>(id, at);
        f.by_mask[3]    = wave.template exchange<7>(id, at);
        f.by_mask[4]    = wave.template exchange<12>(id, at);
        f.by_mask[5]    = wave.template exchange<15>(id, at);
        f.wide_mask     = wave.template exchange<19>(id, at);
        f.ahead         = wave.template shift<3>(id, at);
        f.behind        = wave.template shift<-6>(id, at);
        f.rotated4      = wave.template rotate<4>(id, at);
        f.rotated8      = wave.template rotate<8>(id, at);
        f.taken         = wave.template broadcast_row<5>(id, at);
        f.shuffled      = wave.shuffle(id, (wave.lane() * 7 + 3) % Block::wave_type::size, at);
        f.shuffled_wide = wave.shuffle(i64(id) << 33, (wave.lane() + 9) % Block::wave_type::size, at);
        f.from_third    = wave.from_lane(id, 3, at);
        f.before        = wave.previous(id, at);
        f.odd           = wave.ballot((id & 1) != 0, at);
        f.half          = wave.template exchange<2>(float(id) * 0.5F, at);
        out[id]         = f;
    }
};

template <int Threads>
struct block_sum
{
    static constexpr launch_bounds bounds = {Threads, 1, 1};
    struct shared
    {
        float part[Threads];
    };

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, float* const& out) const
    {
        auto& memory                = block.template shared<shared>();
        memory.part[block.thread()] = float(block.thread() + block.index());
        for (int step = Threads / 2; step > 0; step /= 2) {
            block.barrier();
            if (block.thread() < step) {
                memory.part[block.thread()] += memory.part[block.thread() + step];
            }
        }
        block.barrier();
        out[block.index() * Threads + block.thread()] = memory.part[0];
    }
};

template <int Threads>
void check_block_sum(int const blocks)
{
    on_every_machine([&](char const* name, auto const& stream) {
        device_array<float> out(std::size_t(blocks) * Threads, -1.0F);
        run<block_sum<Threads>>(stream, out.data(), blocks);
        auto const got = out.values();
        for (std::size_t i = 0; i < got.size(); ++i) {
            CAPTURE(name, Threads, i);
            int const block = int(i) / Threads;
            REQUIRE(got[i] == float(Threads * (Threads - 1) / 2 + Threads * block));
        }
    });
}

/// Some threads return early; those that stay meet at a barrier and sum over their wave.
struct early_return
{
    static constexpr launch_bounds bounds = {256, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, int* const& out) const
    {
        if (block.wave_index() % 2 == 1) {
            return; // whole waves: a barrier does not wait for them
        }
        block.barrier();
        out[block.index() * Block::threads + block.thread()] =
            block.wave().template exchange<1>(block.thread(), site::here());
    }
};

struct transpose
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, u32* const& out) const
    {
        if constexpr (Block::wave_type::has_transpose) {
            int const row       = block.wave().lane() / 4;
            int const column    = block.wave().lane() % 4 * 2;
            u32 const pair      = u32(row * 8 + column) | u32(row * 8 + column + 1) << 16;
            out[block.thread()] = block.wave().transpose8(pair, site::here());
        }
    }
};

} // namespace

TEST_CASE("every lane primitive, in every lane", "[backend]")
{
    on_every_machine([](char const* name, auto const& stream) {
        device_array<findings> out(threads, findings{});
        run<probe>(stream, out.data());
        auto const got = out.values();
        for (int id = 0; id < threads; ++id) {
            CAPTURE(name, id);
            findings const& f = got[std::size_t(id)];
            int const wave    = id / f.size * f.size;
            int const lane    = id - wave;
            int const row     = id / 16 * 16;
            int const masks[] = {1, 3, 5, 7, 12, 15};
            for (int i = 0; i < 6; ++i) {
                REQUIRE(f.by_mask[i] == (id ^ masks[i]));
            }
            REQUIRE(f.wide_mask == (id ^ 19));
            if (id + 3 < row + 16) {
                REQUIRE(f.ahead == id + 3);
            }
            if (id - 6 >= row) {
                REQUIRE(f.behind == id - 6);
            }
            REQUIRE(f.rotated4 == row + ((id - 4) & 15));
            REQUIRE(f.rotated8 == row + ((id - 8) & 15));
            REQUIRE(f.taken == row + 5);
            REQUIRE(f.shuffled == wave + (lane * 7 + 3) % f.size);
            REQUIRE(f.shuffled_wide == std::int64_t(wave + (lane + 9) % f.size) << 33);
            REQUIRE(f.from_third == wave + 3);
            if (lane > 0) {
                REQUIRE(f.before == id - 1);
            }
            REQUIRE(f.odd == (f.size == 64 ? 0xaaaaaaaaaaaaaaaaU : 0xaaaaaaaaU));
            REQUIRE(f.half == float(id ^ 2) * 0.5F);
        }
    });
}

TEST_CASE("a barrier orders shared memory in blocks of every size", "[backend]")
{
    check_block_sum<32>(3);
    check_block_sum<64>(70);
    check_block_sum<256>(9);
    check_block_sum<1024>(2);
}

TEST_CASE("more blocks than one grid axis of y or z would hold", "[backend][large]")
{
    check_block_sum<32>(65600);
}

TEST_CASE("waves that have returned keep nobody waiting", "[backend]")
{
    on_every_machine([](char const* name, auto const& stream) {
        device_array<int> out(512, -1);
        run<early_return>(stream, out.data(), 2);
        auto const got = out.values();
        int written    = 0;
        for (int i = 0; i < 512; ++i) {
            CAPTURE(name, i);
            REQUIRE((got[std::size_t(i)] == -1 || got[std::size_t(i)] == ((i % 256) ^ 1)));
            written += got[std::size_t(i)] != -1 ? 1 : 0;
        }
        REQUIRE(written == 256);
    });
}

TEST_CASE("the matrix transpose of warps", "[backend]")
{
    on_every_machine([](char const* name, auto const& stream) {
        device_array<u32> out(64, 0xffffffffU);
        run<transpose>(stream, out.data());
        auto const got = out.values();
        if (got[0] == 0xffffffffU) {
            WARN(std::string(name) + " has no matrix transpose; its V runs are turned in registers");
            return;
        }
        for (u32 lane = 0; lane < 64; ++lane) {
            CAPTURE(name, lane);
            u32 const row    = lane % 32 / 4;
            u32 const column = lane % 4 * 2;
            REQUIRE((got[lane] & 0xffffU) == column * 8 + row);
            REQUIRE(got[lane] >> 16 == (column + 1) * 8 + row);
        }
    });
}

TEST_CASE("no blocks succeed without a launch, too many are refused by name", "[backend]")
{
    on_every_machine([](char const*, auto const& stream) {
        int* const nothing = nullptr;
        REQUIRE(launch(stream, early_return{}, nothing, 0).ok());
        status const s = launch(stream, early_return{}, nothing, i64(1) << 33);
        REQUIRE(s.code == fault::out_of_range);
        REQUIRE(std::string(s.argument) == "blocks");
    });
}
