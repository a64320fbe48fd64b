// SPDX-License-Identifier: MIT
// What a kernel must not do on the host backend: each misuse aborts, and the message names the places.
#include "host_kernel.hpp"
#include "kvloom/core/vec.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <stdexcept>
#include <string>

using namespace kvloom;
using namespace kvloom_test;

namespace {

/// Runs `body` in a child process, which must abort, and gives what that wrote to stderr.
template <class Body>
std::string message_of(Body const& body)
{
    int ends[2] = {-1, -1};
    REQUIRE(pipe(ends) == 0);
    pid_t const child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        rlimit const none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        std::signal(SIGABRT, SIG_DFL);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        body();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char part[256];
    for (ssize_t got; (got = read(ends[0], part, sizeof(part))) > 0;) {
        text.append(part, std::size_t(got));
    }
    close(ends[0]);
    int outcome = 0;
    REQUIRE(waitpid(child, &outcome, 0) == child);
    CAPTURE(text);
    REQUIRE(WIFSIGNALED(outcome));
    REQUIRE(WTERMSIG(outcome) == SIGABRT);
    return text;
}

/// The message of a kernel on one worker.
template <int Threads, class Machine, class Shared = nothing, class Body>
std::string message_of_kernel(Body const& body, int blocks = 1)
{
    return message_of([&] { (void)try_lambda<Threads, Shared>(host::stream<Machine>(1), blocks, body); });
}

std::string place(int line)
{
    return "host_faults.test.cpp:" + std::to_string(line) + " ";
}

void require_parts(std::string const& text, std::initializer_list<std::string> parts)
{
    CAPTURE(text);
    for (std::string const& part : parts) {
        CAPTURE(part);
        REQUIRE(text.find(part) != std::string::npos);
    }
}

} // namespace

TEMPLATE_TEST_CASE("lanes of a wave at different places", "[backend]", host::cdna, host::warp32)
{
    auto const kernel = [&](auto block) {
        if (block.thread() < 17) {
            (void)block.wave().template exchange<1>(1u, {"a.hpp", 12});
        } else {
            (void)block.wave().template exchange<1>(1u, {"b.hpp", 40});
        }
    };
    require_parts(
        message_of_kernel<64, TestType>(kernel),
        {"kvloom: host: lanes of one wave meet at different collectives: a.hpp:12 exchange<1> (block 0, "
         "thread 0, lane 0) and b.hpp:40 exchange<1> (block 0, thread 17, lane 17)\n"});

    int const first       = __LINE__ + 3;
    auto const by_default = [](auto block) {
        if (block.index() < 2 || block.thread() != 45) {
            (void)block.wave().ballot(true);
        } else {
            (void)block.wave().ballot(true);
        }
    };
    require_parts(
        message_of_kernel<64, TestType>(by_default, 3),
        {place(first) + "ballot (block 2, thread ", place(first + 2) + "ballot (block 2, thread 45, lane "});
}

TEST_CASE("lanes at different operations that pass one place on", "[backend]")
{
    auto const kernel = [](auto block) {
        site const at = {"a.hpp", 7};
        if (block.thread() == 5) {
            (void)block.wave().template exchange<1>(1u, at);
        }
        (void)block.wave().template exchange<2>(1u, at);
    };
    require_parts(message_of_kernel<32, host::cdna>(kernel),
                  {"a.hpp:7 exchange<2> (block 0, thread 0, lane 0)",
                   "a.hpp:7 exchange<1> (block 0, thread 5, lane 5)"});
}

TEST_CASE("lanes that ask from_lane for different lanes", "[backend]")
{
    require_parts(message_of_kernel<32, host::warp32>([](auto block) {
                      (void)block.wave().from_lane(1u, block.thread() == 6 ? 2 : 1, {"a.hpp", 7});
                  }),
                  {"a.hpp:7 from_lane<1> (block 0, thread 0, lane 0) and a.hpp:7 from_lane<2> (block 0, "
                   "thread 6, lane 6)"});
}

TEMPLATE_TEST_CASE("a wave operation that part of the wave misses for a barrier", "[backend]", host::cdna,
                   host::warp32)
{
    auto const text_if = [](bool operation_first) {
        return message_of_kernel<64, TestType>([=](auto block) {
            if ((block.thread() < 8) == operation_first) {
                (void)block.wave().template shift<1>(1u, {"a.hpp", 12});
            } else {
                block.barrier({"b.hpp", 40});
            }
        });
    };
    for (bool operation_first : {true, false}) {
        require_parts(text_if(operation_first),
                      {"lanes of one wave meet at different collectives",
                       "a.hpp:12 shift<1> (block 0, thread ", "b.hpp:40 barrier (block 0, "});
    }
}

TEMPLATE_TEST_CASE("threads of a block at different barriers", "[backend]", host::cdna, host::warp32)
{
    auto const by_wave = [](auto block) {
        if (block.thread() < 64) {
            block.barrier({"a.hpp", 12});
        } else {
            block.barrier({"b.hpp", 40});
        }
    };
    require_parts(
        message_of_kernel<128, TestType>(by_wave),
        {"threads of one block meet at different barriers: a.hpp:12 barrier (block 0, thread 0, lane 0) and "
         "b.hpp:40 barrier (block 0, thread 64, lane 0)\n"});
    auto const by_lane = [](auto block) {
        if (block.thread() != 3) {
            block.barrier({"a.hpp", 12});
        } else {
            block.barrier({"b.hpp", 40});
        }
    };
    require_parts(
        message_of_kernel<128, TestType>(by_lane),
        {"lanes of one wave meet at different collectives: a.hpp:12 barrier (block 0, thread 0, lane 0) and "
         "b.hpp:40 barrier (block 0, thread 3, lane 3)\n"});
}

TEMPLATE_TEST_CASE("an operation that reads a lane that has returned", "[backend]", host::cdna, host::warp32)
{
    auto const after_ballot = [](auto block) {
        (void)block.wave().ballot(true, {"a.hpp", 12});
        if (block.thread() == 9) {
            return;
        }
        (void)block.wave().template exchange<1>(1.0f, {"b.hpp", 40});
    };
    require_parts(message_of_kernel<32, TestType>(after_ballot),
                  {"kvloom: host: b.hpp:40 exchange<1> (block 0, thread 8, lane 8) reads lane 9, which has "
                   "returned from "
                   "the kernel after a.hpp:12 ballot (block 0, thread 9, lane 9)\n"});
    auto const at_once = [](auto block) {
        if (block.thread() >= 16) {
            (void)block.wave().template broadcast_row<2>(1.0f, {"b.hpp", 40});
            (void)block.wave().shuffle(1.0f, 5, {"b.hpp", 41});
        }
    };
    require_parts(message_of_kernel<32, TestType>(at_once),
                  {"b.hpp:41 shuffle (block 0, thread ",
                   ") reads lane 5, which has returned from the kernel without "
                   "reaching any collective (block 0, thread 5, lane 5)\n"});
}

TEST_CASE("an operation that reads a lane that is not there", "[backend]")
{
    require_parts(message_of_kernel<40, host::cdna>([](auto block) {
                      (void)block.wave().template exchange<32>(1u, {"a.hpp", 12});
                  }),
                  {"a.hpp:12 exchange<32> (block 0, thread ", "which a block of 40 threads does not have\n"});
    for (int source : {-1, 32, 64, 1000}) {
        require_parts(message_of_kernel<64, host::warp32>([=](auto block) {
                          (void)block.wave().shuffle(1u, source, {"a.hpp", 12});
                      }),
                      {"a.hpp:12 shuffle (block 0, thread ",
                       "reads lane " + std::to_string(source) + " of a wave of 32 lanes\n"});
    }
}

TEST_CASE("accesses that are null or not aligned to their width", "[backend]")
{
    alignas(16) static unsigned char memory[64] = {};
    auto const load                             = [](auto block) {
        (void)block.wave().template load<vec<u32, 4>>(memory + 8 * block.thread());
    };
    require_parts(message_of_kernel<2, host::cdna>(load),
                  {"kvloom: host: load of 16 bytes at 0x",
                   "which is not a multiple of its width (block 0, thread 1, lane 1)\n"});
    auto const store = [](auto block) { block.wave().store(memory + 2, u32(block.thread())); };
    require_parts(message_of_kernel<2, host::cdna>(store),
                  {"kvloom: host: store of 4 bytes at 0x", "(block 0, thread 0, "});
    auto const constant = [](auto block) { (void)block.wave().template load_constant<u16>(memory + 1); };
    require_parts(message_of_kernel<1, host::cdna>(constant),
                  {"kvloom: host: load_constant of 2 bytes at 0x"});
    auto const hint = [](auto block) {
        (void)block.wave().load_hint(reinterpret_cast<i64 const*>(memory + 4));
    };
    require_parts(message_of_kernel<1, host::cdna>(hint), {"kvloom: host: load_hint of 8 bytes at 0x"});
    auto const null = [](auto block) { (void)block.wave().template load<u64>(nullptr); };
    require_parts(message_of_kernel<1, host::cdna>(null),
                  {"kvloom: host: load of 8 bytes at ", "which is null"});
    // Outside a kernel there is no thread to name.
    require_parts(message_of([] { host::wave<host::cdna>::store(memory + 1, u16(1)); }),
                  {"store of 2 bytes at 0x", "which is not a multiple of its width\n"});
}

TEST_CASE("bulk copies: a barrier that nobody completes, addresses of less than 16 bytes", "[backend]")
{
    struct barrier_alone
    {
        u64 barrier;
    };
    auto const waiting = [](auto block) {
        using copies = typename decltype(block.wave())::copies;
        auto& room   = block.template shared<barrier_alone>();
        if (block.thread() == 0) {
            copies::prepare(&room.barrier, 2);
        }
        block.barrier();
        if (block.thread() == 0) {
            copies::arrive(&room.barrier); // one of two
        }
        copies::wait(block.wave(), &room.barrier, 0);
    };
    auto const text = message_of_kernel<40, host::sm_90, barrier_alone>(waiting);
    require_parts(text, {"kvloom: host: nobody completes the barrier of bulk copies awaited at ",
                         "host_faults.test.cpp:", "(block 0, thread "});

    alignas(16) static unsigned char memory[64] = {};
    auto const copying                          = [](auto block) {
        using copies = typename decltype(block.wave())::copies;
        auto& room   = block.template shared<vec<u64, 4>>();
        copies::prepare(&room[2], 1);
        copies::expect(&room[2], 16);
        copies::copy(&room[0], memory + 8, 16, &room[2]);
    };
    require_parts(message_of_kernel<1, host::sm_90, vec<u64, 4>>(copying),
                  {"kvloom: host: bulk copy of 16 bytes at 0x", "which is not a multiple of its width"});
}

TEST_CASE("shared memory of another size than the kernel declares", "[backend]")
{
    require_parts(
        message_of_kernel<1, host::cdna, vec<u32, 2>>(
            [](auto block) { block.template shared<vec<u32, 4>>()[0] = 1; }),
        {"shared() asks for 16 bytes, the kernel's struct shared has 8 (block 0, thread 0, lane 0)\n"});
}

TEST_CASE("a stack that overflows", "[backend]")
{
    auto const deep = [](auto block) {
        char volatile large[host::detail::stack_set::bytes];
        for (std::size_t i = sizeof(large); i-- > 0;) {
            large[i] = char(i + std::size_t(block.thread()));
        }
    };
    if (host::detail::address_sanitizer) {
        return; // keeps large variables elsewhere
    }
    require_parts(message_of_kernel<2, host::cdna>(deep),
                  {"the kernel has overflowed a stack of 262144 bytes (block 0, thread 0, lane 0)\n"});
}

TEST_CASE("an exception that leaves a kernel", "[backend]")
{
    require_parts(message_of_kernel<64, host::cdna>([](auto block) {
                      if (block.thread() == 3) {
                          throw std::runtime_error("not caught");
                      }
                  }),
                  {"std::runtime_error", "not caught"});
}
