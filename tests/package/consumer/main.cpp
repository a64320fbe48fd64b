// SPDX-License-Identifier: MIT
// A consumer's program: one kernel on the CPU, and the version that the package claims.
#include <kvloom/backend/host.hpp>
#include <kvloom/kvloom.hpp>

#include <cstdio>
#include <string>

namespace {

struct add_args
{
    int const* from;
    int* to;
};

struct add_one
{
    static constexpr kvloom::launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, add_args const& a) const
    {
        int const i = block.index() * Block::threads + block.thread();
        a.to[i]     = a.from[i] + 1;
    }
};

} // namespace

int main()
{
#if defined(CONSUMER_FOUND_VERSION)
    std::string const in_headers = std::to_string(KVLOOM_VERSION_MAJOR) + "."
                                   + std::to_string(KVLOOM_VERSION_MINOR) + "."
                                   + std::to_string(KVLOOM_VERSION_PATCH);
    if (in_headers != CONSUMER_FOUND_VERSION) {
        std::printf("the package says %s, its headers %s\n", CONSUMER_FOUND_VERSION, in_headers.c_str());
        return 1;
    }
#endif
    int from[128];
    int to[128] = {};
    for (int i = 0; i < 128; ++i) {
        from[i] = i;
    }
    kvloom::host::stream<kvloom::host::cdna> const stream;
    kvloom::status const outcome = launch(stream, add_one{}, add_args{from, to}, 2);
    int wrong                    = outcome.ok() ? 0 : 128;
    for (int i = 0; i < 128; ++i) {
        wrong += to[i] == i + 1 ? 0 : 1;
    }
    std::printf("%d of 128 values wrong\n", wrong);
    return wrong == 0 ? 0 : 1;
}
