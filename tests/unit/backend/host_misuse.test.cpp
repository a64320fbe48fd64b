// SPDX-License-Identifier: MIT
// What would hang or corrupt on a GPU ends the program on the host, with a message that names the places.
#include "kvloom/backend/host.hpp"
#include "kvloom/core/vec.hpp"
#include "support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <string>

using namespace kvloom;

namespace {

/// What `body` writes to standard error before it aborts; empty where it does not.
template <class Body>
std::string words_of_the_dying(Body const& body)
{
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t const child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)std::signal(SIGABRT, SIG_DFL);
        body();
        _exit(0);
    }
    (void)close(ends[1]);
    std::string words;
    char buffer[512];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
        words.append(buffer, std::size_t(n));
    }
    (void)close(ends[0]);
    int outcome = 0;
    REQUIRE(waitpid(child, &outcome, 0) == child);
    return WIFSIGNALED(outcome) ? words : "";
}

template <class Function>
struct kernel_of
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block>
    void operator()(Block const& block, int const&) const
    {
        Function{}(block);
    }
};

template <class Machine, class Function>
std::string words_of()
{
    return words_of_the_dying([] {
        host::stream<Machine> stream(1);
        (void)launch(stream, kernel_of<Function>{}, 0, 1);
    });
}

std::string place(int const line)
{
    return "host_misuse.test.cpp:" + std::to_string(line);
}

struct different_places
{
    static constexpr int exchange_line = __LINE__ + 7;
    static constexpr int ballot_line   = __LINE__ + 8;

    template <class Block>
    void operator()(Block const& block) const
    {
        if (block.wave().lane() < 3) {
            (void)block.wave().template exchange<1>(1);
        } else {
            (void)block.wave().ballot(true);
        }
    }
};

struct different_barriers
{
    static constexpr int first_line  = __LINE__ + 7;
    static constexpr int second_line = __LINE__ + 8;

    template <class Block>
    void operator()(Block const& block) const
    {
        if (block.thread() < 32) {
            block.barrier();
        } else {
            block.barrier();
        }
    }
};

struct reader_of_the_gone
{
    static constexpr int line = __LINE__ + 8;

    template <class Block>
    void operator()(Block const& block) const
    {
        if (block.wave().lane() == 5) {
            return;
        }
        (void)block.wave().template exchange<1>(1); // lane 4 reads lane 5
    }
};

struct misaligned
{
    template <class Block>
    void operator()(Block const& block) const
    {
        alignas(16) static char bytes[64];
        (void)block.wave().template load<vec<u32, 4>>(bytes + 8);
    }
};

struct beyond_the_wave
{
    template <class Block>
    void operator()(Block const& block) const
    {
        (void)block.wave().shuffle(1, 64);
    }
};

} // namespace

TEMPLATE_TEST_CASE("misuse of collectives is named", "[backend][host]", host::cdna, host::warp32)
{
    std::string const apart = words_of<TestType, different_places>();
    CAPTURE(apart);
    CHECK(apart.find("kvloom: host:") != std::string::npos);
    CHECK(apart.find(place(different_places::exchange_line)) != std::string::npos);
    CHECK(apart.find(place(different_places::ballot_line)) != std::string::npos);

    std::string const barriers = words_of<TestType, different_barriers>();
    CAPTURE(barriers);
    CHECK(barriers.find(place(different_barriers::first_line)) != std::string::npos);
    CHECK(barriers.find(place(different_barriers::second_line)) != std::string::npos);

    std::string const gone = words_of<TestType, reader_of_the_gone>();
    CAPTURE(gone);
    CHECK(gone.find(place(reader_of_the_gone::line)) != std::string::npos);
    CHECK(gone.find("lane 5") != std::string::npos);

    std::string const beyond = words_of<TestType, beyond_the_wave>();
    CAPTURE(beyond);
    CHECK(beyond.find("64") != std::string::npos);
}

TEMPLATE_TEST_CASE("a misaligned access is named", "[backend][host]", host::cdna, host::warp32)
{
    std::string const words = words_of<TestType, misaligned>();
    CAPTURE(words);
    CHECK(words.find("kvloom: host:") != std::string::npos);
    CHECK(words.find("16") != std::string::npos);
}
