// SPDX-License-Identifier: MIT
// Each wave operation of the host backend against its definition, for every lane and every template argument.
#include "host_kernel.hpp"
#include "kvloom/core/vec.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

constexpr int threads = 160; // two waves of 64 and half a wave; five warps

/// What thread `i` hands in: every bit pattern is somebody's, NaN among them.
u32 word_of(int i)
{
    return 0x7fa00000u + 0x01010101u * u32(i);
}

float float_of(int i)
{
    return bit_cast<float>(word_of(i));
}

/// Runs `operation(wave, thread)` in `threads` threads and gives each thread's result.
template <class T, class Machine, class Operation>
std::vector<T> results_of(Operation const& operation)
{
    std::vector<T> results(threads);
    run_lambda<threads>(single_stream<Machine>(), 1, [&](auto block) {
        results[std::size_t(block.thread())] = operation(block.wave(), block.thread());
    });
    return results;
}

/// Requires that thread i has what `expected(i)` says.
template <class T, class Expected>
void require_all(std::vector<T> const& results, Expected const& expected)
{
    for (int i = 0; i < threads; ++i) {
        CAPTURE(i);
        T const wanted = expected(i);
        REQUIRE(std::memcmp(&results[std::size_t(i)], &wanted, sizeof(T)) == 0);
    }
}

} // namespace

TEMPLATE_TEST_CASE("a wave says who it is", "[backend]", host::cdna, host::warp32)
{
    using wave_type        = host::wave<TestType>;
    constexpr bool is_cdna = std::is_same<TestType, host::cdna>::value;
    STATIC_REQUIRE(wave_type::size == (is_cdna ? 64 : 32));
    STATIC_REQUIRE(wave_type::quad_rows == is_cdna);
    STATIC_REQUIRE(wave_type::arch == (is_cdna ? arch_id::host_cdna : arch_id::host_warp32));
    require_all(results_of<int, TestType>([](auto wave, int) { return wave.lane(); }),
                [](int i) { return i % wave_type::size; });
    require_all(results_of<int, TestType>([](auto wave, int i) { return wave.uniform(i); }),
                [](int i) { return i; });
}

TEMPLATE_TEST_CASE("exchange gives the value of lane ^ mask, for every mask", "[backend]", host::cdna,
                   host::warp32)
{
    for_constants<1, TestType::wave_size>([](auto mask) {
        constexpr int m = decltype(mask)::value;
        CAPTURE(m);
        if constexpr (m < 32) { // the last wave of cdna has 32 lanes
            require_all(results_of<float, TestType>(
                            [](auto wave, int i) { return wave.template exchange<m>(float_of(i)); }),
                        [](int i) { return float_of(i ^ m); });
        } else {
            require_all(results_of<u32, TestType>([](auto wave, int i) {
                            return i < 128 ? wave.template exchange<m>(word_of(i)) : word_of(i ^ m);
                        }),
                        [](int i) { return word_of(i ^ m); });
        }
    });
}

TEMPLATE_TEST_CASE("shift gives the value of a lane further on in the row, poison beyond it", "[backend]",
                   host::cdna, host::warp32)
{
    for_constants<-15, 16>([](auto distance) {
        constexpr int d = decltype(distance)::value;
        CAPTURE(d);
        require_all(
            results_of<u32, TestType>([](auto wave, int i) { return wave.template shift<d>(word_of(i)); }),
            [](int i) { return i % 16 + d >= 0 && i % 16 + d < 16 ? word_of(i + d) : host::poison; });
    });
    float const shown = bit_cast<float>(host::poison);
    REQUIRE(shown != shown);
    REQUIRE((host::poison & 0x00400000u) != 0); // quiet
}

TEMPLATE_TEST_CASE("rotate goes round in the row", "[backend]", host::cdna, host::warp32)
{
    for_constants<1, 16>([](auto distance) {
        constexpr int d = decltype(distance)::value;
        CAPTURE(d);
        require_all(results_of<int, TestType>(
                        [](auto wave, int i) { return wave.template rotate<d>(int(word_of(i))); }),
                    [](int i) { return int(word_of(i / 16 * 16 + (i % 16 - d + 16) % 16)); });
    });
}

TEMPLATE_TEST_CASE("broadcast_row gives one lane's value to its row", "[backend]", host::cdna, host::warp32)
{
    for_constants<0, 16>([](auto lane) {
        constexpr int l = decltype(lane)::value;
        CAPTURE(l);
        require_all(results_of<float, TestType>(
                        [](auto wave, int i) { return wave.template broadcast_row<l>(float_of(i)); }),
                    [](int i) { return float_of(i / 16 * 16 + l); });
    });
}

TEMPLATE_TEST_CASE("shuffle reads any lane of the wave, each lane its own", "[backend]", host::cdna,
                   host::warp32)
{
    constexpr int size = TestType::wave_size;
    for (int step = 0; step < size; ++step) {
        CAPTURE(step);
        auto const source = [step](int i) {
            int const lanes = i < threads / size * size ? size : threads % size;
            return i / size * size + (i * 7 + step) % lanes;
        };
        require_all(results_of<u32, TestType>(
                        [&](auto wave, int i) { return wave.shuffle(word_of(i), source(i) % size); }),
                    [&](int i) { return word_of(source(i)); });
        require_all(results_of<u64, TestType>([&](auto wave, int i) {
                        return wave.shuffle(u64(word_of(i)) << 32 | u64(~word_of(i)), source(i) % size);
                    }),
                    [&](int i) { return u64(word_of(source(i))) << 32 | u64(~word_of(source(i))); });
    }
}

TEMPLATE_TEST_CASE("from_lane gives every lane the same lane's value", "[backend]", host::cdna, host::warp32)
{
    constexpr int size = TestType::wave_size;
    for (int source = 0; source < 32; ++source) {
        CAPTURE(source);
        require_all(results_of<float, TestType>(
                        [&](auto wave, int i) { return wave.from_lane(float_of(i), source); }),
                    [&](int i) { return float_of(i / size * size + source); });
        require_all(results_of<i64, TestType>(
                        [&](auto wave, int i) { return wave.from_lane(i64(i) << 40 | 5, source); }),
                    [&](int i) { return i64(i / size * size + source) << 40 | 5; });
    }
}

TEMPLATE_TEST_CASE("previous gives the value of the lane before, poison in lane 0", "[backend]", host::cdna,
                   host::warp32)
{
    constexpr int size = TestType::wave_size;
    require_all(results_of<u32, TestType>([](auto wave, int i) { return wave.previous(word_of(i)); }),
                [](int i) { return i % size == 0 ? host::poison : word_of(i - 1); });
    require_all(
        results_of<i64, TestType>([](auto wave, int i) { return wave.previous(i64(i) << 40); }),
        [](int i) { return i % size == 0 ? i64(u64(host::poison) << 32 | host::poison) : i64(i - 1) << 40; });
}

TEMPLATE_TEST_CASE("ballot gives every lane's predicate", "[backend]", host::cdna, host::warp32)
{
    constexpr int size   = TestType::wave_size;
    auto const predicate = [](int i, int round) { return (i * 2654435761u >> (round + 8) & 1) != 0; };
    for (int round = 0; round < 16; ++round) {
        CAPTURE(round);
        require_all(
            results_of<u64, TestType>([&](auto wave, int i) { return wave.ballot(predicate(i, round)); }),
            [&](int i) {
                u64 lanes = 0;
                for (int lane = 0; lane < size && i / size * size + lane < threads; ++lane) {
                    lanes |= u64(predicate(i / size * size + lane, round)) << lane;
                }
                return lanes;
            });
    }
    require_all(results_of<u64, TestType>([&](auto wave, int) { return wave.ballot(false); }),
                [](int) { return u64(0); });
}

TEST_CASE("transpose8 transposes an 8x8 matrix of 16-bit units", "[backend]")
{
    // Element (row, column) of the matrix of a wave is 100 * wave + 8 * row + column.
    auto const element = [](int wave, int row, int column) { return u32(100 * wave + 8 * row + column); };
    require_all(results_of<u32, host::warp32>([&](auto wave, int i) {
                    int const row = i % 32 / 4, column = 2 * (i % 4);
                    return wave.transpose8(element(i / 32, row, column)
                                           | element(i / 32, row, column + 1) << 16);
                }),
                [&](int i) {
                    int const row = i % 32 / 4, column = 2 * (i % 4);
                    return element(i / 32, column, row) | element(i / 32, column + 1, row) << 16;
                });
}

TEMPLATE_TEST_CASE("lanes that returned are not waited for", "[backend]", host::cdna, host::warp32)
{
    std::vector<u64> votes(threads, 0);
    std::vector<u32> values(threads, 0);
    run_lambda<threads>(single_stream<TestType>(), 1, [&](auto block) {
        int const i = block.thread();
        if (i % 16 >= 8) {
            return;
        }
        votes[std::size_t(i)]  = block.wave().ballot(true);
        values[std::size_t(i)] = block.wave().template exchange<4>(word_of(i));
        if (i % 16 >= 4) {
            return;
        }
        values[std::size_t(i)] = block.wave().template exchange<1>(values[std::size_t(i)]);
    });
    u64 const some = TestType::wave_size == 64 ? 0x00ff00ff00ff00ffull : 0x00ff00ffull;
    require_all(votes, [&](int i) { return i % 16 >= 8 ? 0 : i < 128 ? some : some & 0xffffffffull; });
    require_all(values, [](int i) {
        return i % 16 >= 8 ? 0 : i % 16 >= 4 ? word_of(i ^ 4) : word_of(i ^ 5);
    });
}

TEMPLATE_TEST_CASE("memory is read and written in whole aligned pieces", "[backend]", host::cdna,
                   host::warp32)
{
    alignas(16) unsigned char from[32], to[32] = {};
    for (int i = 0; i < 32; ++i) {
        from[i] = static_cast<unsigned char>(3 * i + 1);
    }
    run_lambda<1>(single_stream<TestType>(), 1, [&](auto block) {
        auto const wave = block.wave();
        wave.store(to, wave.template load<vec<u32, 4>>(from));
        wave.store(to + 16, wave.template load_constant<vec<u32, 2>>(from + 16));
        wave.store(to + 24, wave.template load<u32>(from + 24));
        wave.store(to + 28, wave.template load_constant<u16>(from + 28));
        wave.store(to + 30, wave.template load<u8>(from + 30));
        wave.store(to + 31, wave.template load<u8>(from + 31));
        wave.dependency();
        wave.release_dependents();
    });
    REQUIRE(std::memcmp(from, to, sizeof(from)) == 0);

    i64 const wide   = -0x123456789abcdefll;
    i32 const narrow = -77;
    i64 seen         = 0;
    run_lambda<1>(single_stream<TestType>(), 1, [&](auto block) {
        seen = block.wave().load_hint(&wide) - block.wave().load_hint(&narrow);
        block.wave().store(to, block.wave().template load<u64>(&wide));
    });
    REQUIRE(seen == wide - narrow);
    REQUIRE(std::memcmp(to, &wide, sizeof(wide)) == 0);
}
