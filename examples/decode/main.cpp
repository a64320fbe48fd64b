// SPDX-License-Identifier: MIT
// Paged decode alone, behind the fused insert, and with scores of one's own; plain loops check every row.
#include "alone.hpp"
#include "loop.hpp"

#include <cstdio>
#include <exception>

namespace {

template <class Stream>
bool show(char const* const machine, Stream const& stream)
{
    std::printf("%s: %d query heads on %d of K and V, %d dims; bf16 SHUFFLE pages of %d\n"
                "  %-38s%-14s %8s  %8s\n",
                machine, plain::heads, plain::kv_heads, plain::dim, example::page_size, "step", " lengths",
                "queries", "error");
    bool const alone = example::show_decode_alone(stream);
    bool const loop  = example::show_loop(stream);
    bool const own   = example::show_own_scores(stream);
    return alone && loop && own;
}

} // namespace

int main()
{
    if (!example::has_machine()) {
        std::puts("SKIPPED: no GPU");
        return 77;
    }
    try {
        bool good = true;
        example::on_each_machine(
            [&](char const* const machine, auto const& stream) { good = show(machine, stream) && good; });
        std::printf("error: the worst row's, against a plain loop in double precision: %s\n",
                    good ? "all within 4e-3" : "BEYOND 4e-3");
        return good ? 0 : 1;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "decode: %s\n", error.what());
        return 1;
    }
}
