// SPDX-License-Identifier: MIT
// The main of the plain AMD test programs. The last line is `N passed, N failed, N skipped`, counted in test cases; skipped
// are those tagged [large], unless named. Needs an AMD GPU.
//   --model      the CPU model of a wave takes its place
//   --kernels    prints what the launches of each kernel come to
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/catch_version_macros.hpp>
#include <catch2/interfaces/catch_interfaces_registry_hub.hpp>
#include <catch2/interfaces/catch_interfaces_testcase.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
namespace {
using event_listener = Catch::EventListenerBase;
}
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
namespace {
using event_listener = Catch::TestEventListenerBase;
}
#endif

#include "amd/estimate.hpp"
#include "amd/plain_device.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

int passed = 0;
int failed = 0;

struct count_cases : event_listener
{
    using event_listener::event_listener;

    void testCaseEnded(Catch::TestCaseStats const& of) override
    {
        (of.totals.testCases.failed == 0 ? passed : failed) += 1;
    }
};

CATCH_REGISTER_LISTENER(count_cases)

int all_cases()
{
    return static_cast<int>(Catch::getRegistryHub().getTestCaseRegistry().getAllTests().size());
}

/// `more`: failures that are no test case's, or all test cases where none was run.
int finish(int const more)
{
    int const skipped = all_cases() - passed - failed - (more == all_cases() ? more : 0);
    failed += more;
    std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed != 0 || passed == 0 ? 1 : 0;
}

/// Whether the launches were few and short enough.
bool within_estimate(bool const by_kernel)
{
    long long launches     = 0;
    long long instructions = 0;
    for (auto const& [name, count] : kvloom_test::all_counts()) {
        launches += count.launches;
        instructions += count.instructions;
        if (by_kernel) {
            std::printf("%lld launches, %lld waves, %.2f million instructions; words: %lld, loop %lld, short "
                        "%lld: %s\n",
                        static_cast<long long>(count.launches), static_cast<long long>(count.waves),
                        static_cast<double>(count.instructions) * 1e-6,
                        static_cast<long long>(count.size.whole), static_cast<long long>(count.size.loop),
                        static_cast<long long>(count.size.short_loop), name.c_str());
        }
    }
    std::printf("%lld launches, at most %.2f million wave instructions of %lld million\n", launches,
                static_cast<double>(instructions) * 1e-6,
                static_cast<long long>(kvloom_test::most_instructions / 1000000));
    return instructions <= kvloom_test::most_instructions;
}

/// Whether an argument is among them, which is then taken out.
bool take(std::vector<char*>& arguments, char const* const name)
{
    auto const found = std::find_if(arguments.begin(), arguments.end(),
                                    [&](char const* one) { return std::strcmp(one, name) == 0; });
    bool const there = found != arguments.end();
    if (there) {
        arguments.erase(found);
    }
    return there;
}

} // namespace

int main(int argc, char** argv)
{
    std::vector<char*> arguments(argv, argv + argc);
    bool const model          = take(arguments, "--model");
    bool const by_kernel      = take(arguments, "--kernels");
    std::string const missing = kvloom_test::take_device(model);
    if (!missing.empty()) {
        std::printf("%s needs an AMD GPU: %s\n", argv[0], missing.c_str());
        return finish(all_cases());
    }

    Catch::Session session;
    int const wrong = session.applyCommandLine(static_cast<int>(arguments.size()), arguments.data());
    if (wrong != 0) {
        return wrong;
    }
    auto& chosen = session.configData().testsOrTags;
    if (chosen.empty()) {
        chosen.push_back("~[large]");
    }
    (void)session.run();
    return finish(within_estimate(by_kernel) ? 0 : 1);
}
