// SPDX-License-Identifier: MIT
// For ThreadSanitizer: shared memory handed from lane to lane, with the barrier ("with": silent) or without it ("without": a
// reported race).
#include "kvloom/backend/host.hpp"

#include <cstdio>
#include <cstring>

namespace {

struct neighbour_args
{
    int* out; // [block][thread]
    bool with_barrier;
};

struct neighbours
{
    static constexpr kvloom::launch_bounds bounds = {128, 1, 1};
    struct shared
    {
        int value[128];
    };

    template <class Block>
    void operator()(Block const& block, neighbour_args const& a) const
    {
        auto& memory                 = block.template shared<shared>();
        memory.value[block.thread()] = block.thread();
        if (a.with_barrier) {
            block.barrier();
        }
        a.out[block.index() * 128 + block.thread()] = memory.value[(block.thread() + 64) % 128];
    }
};

} // namespace

int main(int argc, char** argv)
{
    if (argc != 2 || (std::strcmp(argv[1], "with") != 0 && std::strcmp(argv[1], "without") != 0)) {
        std::fprintf(stderr, "usage: %s with|without\n", argv[0]);
        return 2;
    }
    int out[8 * 128] = {};
    neighbour_args const args{out, std::strcmp(argv[1], "with") == 0};
    bool good = true;
    good      = launch(kvloom::host::stream<kvloom::host::cdna>{}, neighbours{}, args, 8).ok() && good;
    good      = launch(kvloom::host::stream<kvloom::host::warp32>{}, neighbours{}, args, 8).ok() && good;
    return good ? 0 : 1;
}
