// SPDX-License-Identifier: MIT
// The main of every test program: Catch2's, which skips loudly where the program needs a GPU that is not there.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/catch_version_macros.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "device_probe.hpp"
#include <cstdio>

namespace {

constexpr int skipped = 77;

bool only_lists(Catch::ConfigData const& data)
{
#if CATCH_VERSION_MAJOR >= 3
    return data.listTests || data.listTags || data.listReporters || data.listListeners;
#else
    return data.listTests || data.listTags || data.listReporters || data.listTestNamesOnly;
#endif
}

} // namespace

int main(int argc, char** argv)
{
    Catch::Session session;
    int const wrong = session.applyCommandLine(argc, argv);
    if (wrong != 0) {
        return wrong;
    }

#if CATCH_VERSION_MAJOR < 3
    // Version 3 fails by itself where a name matches no test.
    session.configData().warnings =
        static_cast<Catch::WarnAbout::What>(session.configData().warnings | Catch::WarnAbout::NoTests);
#endif

    auto const& data = session.configData();
    if (!data.showHelp && !only_lists(data)) {
        auto const device = kvloom_test::probe_device();
        if (!device.found) {
            std::printf("SKIPPED: %s tests need a GPU: %s\n", device.backend, device.reason);
            return skipped;
        }
    }
    return session.run();
}
