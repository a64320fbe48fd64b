// SPDX-License-Identifier: MIT
// Shows that ThreadSanitizer sees what orders a kernel's threads, and what does not. Compile with
// -fsanitize=thread.
//
// Run with "with": every kernel synchronises as it must, nothing is reported. With "without", or the name of
// one kernel below: a synchronisation is missing, and a data race is reported.
#include "kvloom/backend/host.hpp"
#include "kvloom/core/vec.hpp"
#include "kvloom/group/launch_bounds.hpp"

#include <cstdio>
#include <string>
#include <vector>

using namespace kvloom;

namespace {

constexpr int threads = 128;

struct arguments
{
    int* out;
    bool synchronised;
};

/// Hands a value to a thread of another wave through shared memory, behind a barrier.
struct without
{
    static constexpr launch_bounds bounds = {threads, 1, 1};
    struct shared
    {
        int value[threads];
    };

    template <class Block>
    KVLOOM_FN void operator()(Block block, arguments const& a) const
    {
        auto& value           = block.template shared<shared>().value;
        value[block.thread()] = block.thread();
        if (a.synchronised) {
            block.barrier();
        }
        a.out[block.index() * threads + block.thread()] = value[threads - 1 - block.thread()];
    }
};

/// Reuses a place of shared memory: its readers must be done, not only its writer.
struct without_second_barrier
{
    static constexpr launch_bounds bounds = {threads, 1, 1};
    struct shared
    {
        int value[threads];
    };

    template <class Block>
    KVLOOM_FN void operator()(Block block, arguments const& a) const
    {
        auto& value = block.template shared<shared>().value;
        int sum     = 0;
        for (int round = 0; round < 3; ++round) {
            value[block.thread()] = round;
            block.barrier();
            sum += value[threads - 1 - block.thread()];
            if (a.synchronised) {
                block.barrier();
            }
        }
        a.out[block.index() * threads + block.thread()] = sum;
    }
};

/// A wave operation orders a wave, not the block.
struct with_a_ballot
{
    static constexpr launch_bounds bounds = {threads, 1, 1};
    struct shared
    {
        vec<u32, 4> value[threads];
    };

    template <class Block>
    KVLOOM_FN void operator()(Block block, arguments const& a) const
    {
        constexpr int size = Block::wave_type::size;
        auto const wave    = block.wave();
        auto& value        = block.template shared<shared>().value;
        wave.store(&value[block.thread()], vec<u32, 4>{{u32(block.thread()), 0, 0, 0}});
        (void)wave.ballot(true);
        int const same_wave = block.thread() / size * size + size - 1 - wave.lane();
        int const source    = a.synchronised ? same_wave : (block.thread() + size) % threads;
        auto const got      = wave.template load<vec<u32, 4>>(&value[source]);
        a.out[block.index() * threads + block.thread()] = int(got[0]);
    }
};

/// A bulk copy is there when its barrier says so, not when another thread has asked for it; and its place is free when all
/// readers have said so.
struct without_wait
{
    static constexpr launch_bounds bounds = {threads, 1, 1};
    struct shared
    {
        vec<u32, 4> room;
        u64 full;
        u64 empty;
    };

    template <class Block>
    KVLOOM_FN void operator()(Block block, arguments const& a) const
    {
        using copies                               = typename Block::wave_type::copies;
        auto const wave                            = block.wave();
        auto& memory                               = block.template shared<shared>();
        alignas(16) static constexpr int source[4] = {1, 2, 3, 4};
        if (block.thread() == 0) {
            copies::prepare(&memory.full, 1);
            copies::prepare(&memory.empty, threads);
        }
        block.barrier();
        u32 sum = 0;
        for (u32 round = 0; round < 3; ++round) {
            if (block.thread() == 0) {
                copies::wait(wave, &memory.empty, (round & 1) ^ 1);
                copies::expect(&memory.full, 16);
                copies::copy(&memory.room, source, 16, &memory.full);
            }
            if (a.synchronised) {
                copies::wait(wave, &memory.full, round & 1);
            }
            sum += memory.room[block.thread() % 4];
            copies::wait(wave, &memory.full, round & 1);
            copies::arrive(&memory.empty);
        }
        a.out[block.index() * threads + block.thread()] = int(sum);
    }
};

/// Two blocks write one place.
struct between_blocks
{
    static constexpr launch_bounds bounds = {threads, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block block, arguments const& a) const
    {
        int const block_index                         = a.synchronised ? block.index() : block.index() / 2;
        a.out[block_index * threads + block.thread()] = block.index();
    }
};

template <class Kernel, class Machine>
bool run(bool synchronised)
{
    constexpr int blocks = 4;
    std::vector<int> out(blocks * threads);
    host::stream<Machine> const stream(2);
    return launch(stream, Kernel{}, arguments{out.data(), synchronised}, blocks).ok()
           && launch(stream, Kernel{}, arguments{out.data(), synchronised}, blocks).ok();
}

template <class Kernel>
bool run_both(bool synchronised)
{
    return run<Kernel, host::cdna>(synchronised) && run<Kernel, host::warp32>(synchronised);
}

} // namespace

int main(int argc, char** argv)
{
    std::string const wanted = argc > 1 ? argv[1] : "";
    bool ok                  = false;
    if (wanted == "with") {
        ok = run_both<without>(true) && run_both<without_second_barrier>(true)
             && run_both<with_a_ballot>(true) && run<without_wait, host::sm_90>(true)
             && run_both<between_blocks>(true);
    } else if (wanted == "without") {
        ok = run_both<without>(false);
    } else if (wanted == "without_second_barrier") {
        ok = run_both<without_second_barrier>(false);
    } else if (wanted == "with_a_ballot") {
        ok = run_both<with_a_ballot>(false);
    } else if (wanted == "without_wait") {
        ok = run<without_wait, host::sm_90>(false);
    } else if (wanted == "between_blocks") {
        ok = run_both<between_blocks>(false);
    } else {
        std::fprintf(stderr,
                     "race with|without|without_second_barrier|with_a_ballot|without_wait|between_blocks\n");
        return 2;
    }
    std::printf("%s: %s\n", wanted.c_str(), ok ? "launched" : "not launched");
    return ok ? 0 : 1;
}
