// SPDX-License-Identifier: MIT
// Blocks of the host backend: barriers, shared memory, grids, workers, streams.
#include "host_kernel.hpp"
#include "kvloom/core/vec.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <int Threads>
struct sums
{
    int part[Threads];
};

/// Sums each block's thread numbers and block numbers through shared memory, in halves, with a barrier a
/// step.
template <int Threads, class Machine>
void check_sums(host::stream<Machine> const& stream, int blocks)
{
    using shared = sums<Threads>;
    CAPTURE(Threads, blocks, stream.workers);
    std::vector<int> results(std::size_t(blocks) * Threads, -1);
    run_lambda<Threads, shared>(stream, blocks, [&](auto block) {
        int* const part = block.template shared<shared>().part;
        int const i     = block.thread();
        part[i]         = i + block.index();
        int count       = Threads;
        while (count > 1) {
            block.barrier();
            int const half = (count + 1) / 2;
            if (i < count - half) {
                part[i] += part[i + half];
            }
            count = half;
        }
        block.barrier();
        results[std::size_t(block.index() * Threads + i)] = part[0];
    });
    bool right = true;
    for (int b = 0; b < blocks; ++b) {
        int const wanted = Threads * (Threads - 1) / 2 + b * Threads;
        for (int i = 0; i < Threads; ++i) {
            right = right && results[std::size_t(b * Threads + i)] == wanted;
        }
    }
    REQUIRE(right);
}

} // namespace

TEMPLATE_TEST_CASE("a barrier orders the threads of blocks of every size", "[backend]", host::cdna,
                   host::warp32)
{
    host::stream<TestType> const stream(1);
    check_sums<1>(stream, 2);
    check_sums<32>(stream, 3);
    check_sums<64>(stream, 3);
    check_sums<96>(stream, 3);
    check_sums<128>(stream, 3);
    check_sums<256>(stream, 3);
    check_sums<512>(stream, 2);
    check_sums<1000>(stream, 2);
    check_sums<1024>(stream, 2);
    check_sums<32>(stream, 3); // on the fibers of the large blocks
}

TEMPLATE_TEST_CASE("blocks are spread over workers", "[backend]", host::cdna, host::warp32)
{
    for (int workers : {0, 1, 2, 3, 8}) {
        host::stream<TestType> const stream(workers);
        check_sums<64>(stream, 1);
        check_sums<64>(stream, 40);
        check_sums<256>(stream, 9);
    }
}

TEMPLATE_TEST_CASE("a block knows its place in the grid and a thread its place in the block", "[backend]",
                   host::cdna, host::warp32)
{
    constexpr int threads = 192, blocks = 5, size = TestType::wave_size;
    std::vector<int> visits(threads * blocks, 0);
    std::atomic<bool> right{true};
    run_lambda<threads>(host::stream<TestType>(2), blocks, [&](auto block) {
        using block_type = decltype(block);
        bool const good  = block_type::threads == threads && block_type::waves == threads / size
                          && std::is_same<typename block_type::wave_type, host::wave<TestType>>::value
                          && block.count() == blocks && block.wave_index() == block.thread() / size
                          && block.wave().lane() == block.thread() % size;
        if (!good) {
            right = false;
        }
        ++visits[std::size_t(block.index() * threads + block.thread())];
    });
    REQUIRE(right);
    REQUIRE(std::count(visits.begin(), visits.end(), 1) == threads * blocks);
    STATIC_REQUIRE(host::block<host::cdna, 65>::waves == 2);
    STATIC_REQUIRE(host::block<host::warp32, 31>::waves == 1);
}

TEMPLATE_TEST_CASE("grids of no blocks, of more than 65,535 and of a negative number", "[backend]",
                   host::cdna, host::warp32)
{
    host::stream<TestType> const stream(2);
    std::atomic<i64> ran{0};
    auto const body = [&](auto block) { ran += block.index() + 1; };

    REQUIRE(try_lambda<1>(stream, 0, body).ok());
    REQUIRE(ran == 0);

    REQUIRE(try_lambda<1>(stream, 70000, body).ok());
    REQUIRE(ran == i64(70000) * 70001 / 2);

    status const refused = try_lambda<1>(stream, -3, body);
    REQUIRE(refused.code == fault::too_small);
    REQUIRE(std::string(refused.argument) == "blocks");
    REQUIRE(refused.got == -3);
    REQUIRE(ran == i64(70000) * 70001 / 2);
}

TEMPLATE_TEST_CASE("a barrier does not wait for threads and waves that returned", "[backend]", host::cdna,
                   host::warp32)
{
    constexpr int threads = 256;
    struct shared
    {
        int value[threads];
    };
    std::vector<int> seen(threads, -1);
    run_lambda<threads, shared>(host::stream<TestType>(1), 2, [&](auto block) {
        int const i = block.thread();
        if (i < 64 || i % 4 == 3) { // a whole wave and a quarter of the others
            return;
        }
        auto& value = block.template shared<shared>().value;
        value[i]    = 1000 + i;
        block.barrier();
        int const next       = i % 4 == 2 ? i - 2 : i + 1;
        seen[std::size_t(i)] = value[next];
        if (i >= 128) {
            return;
        }
        block.barrier();
        value[i] = i;
        block.barrier();
        seen[std::size_t(i)] += value[next];
    });
    for (int i = 0; i < threads; ++i) {
        CAPTURE(i);
        int const next = i % 4 == 2 ? i - 2 : i + 1;
        REQUIRE(seen[std::size_t(i)]
                == (i < 64 || i % 4 == 3 ? -1
                    : i < 128            ? 1000 + 2 * next
                                         : 1000 + next));
    }
}

TEST_CASE("shared memory is spoiled before every block", "[backend]")
{
    struct shared
    {
        u8 bytes[37];
    };
    std::atomic<int> fresh{0};
    run_lambda<1, shared>(host::stream<host::cdna>(2), 50, [&](auto block) {
        auto& bytes = block.template shared<shared>().bytes;
        fresh += std::count(std::begin(bytes), std::end(bytes), u8(0xa5)) == 37;
        std::fill(std::begin(bytes), std::end(bytes), u8(0));
    });
    REQUIRE(fresh == 50);
}

TEST_CASE("shared memory is aligned as its struct says", "[backend]")
{
    struct alignas(128) shared
    {
        vec<u32, 4> rows[3];
    };
    std::atomic<int> aligned{0};
    run_lambda<32, shared>(host::stream<host::warp32>(2), 8, [&](auto block) {
        auto& memory = block.template shared<shared>();
        aligned += reinterpret_cast<std::uintptr_t>(&memory) % 128 == 0;
    });
    REQUIRE(aligned == 8 * 32);
}

TEST_CASE("one stream takes launches from several threads", "[backend]")
{
    host::stream<host::cdna> const stream(2);
    std::atomic<i64> ran{0};
    std::vector<std::thread> callers;
    std::atomic<bool> all_ok{true};
    for (int caller = 0; caller < 3; ++caller) {
        callers.emplace_back([&, copy = stream] {
            for (int repeat = 0; repeat < 5; ++repeat) {
                bool const ok = try_lambda<64>(copy, 4, [&](auto block) {
                                    block.barrier();
                                    ran += block.wave().template exchange<1>(block.thread());
                                }).ok();
                all_ok        = all_ok && ok;
            }
        });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
    REQUIRE(all_ok);
    REQUIRE(ran == i64(3) * 5 * 4 * (64 * 63 / 2));
}

TEST_CASE("waves make progress on their own between barriers", "[backend]")
{
    constexpr int threads = 128;
    std::vector<int> steps(threads, 0);
    run_lambda<threads>(host::stream<host::warp32>(1), 1, [&](auto block) {
        int value = block.thread();
        for (int i = 0; i < 3 + block.wave_index(); ++i) {
            value = block.wave().template exchange<2>(value) + 1;
            ++steps[std::size_t(block.thread())];
        }
        block.barrier();
        steps[std::size_t(block.thread())] +=
            100 * (value - (block.thread() ^ (block.wave_index() % 2 == 0 ? 2 : 0)));
    });
    for (int i = 0; i < threads; ++i) {
        CAPTURE(i);
        int const rounds = 3 + i / 32;
        REQUIRE(steps[std::size_t(i)] == rounds + 100 * rounds);
    }
}
