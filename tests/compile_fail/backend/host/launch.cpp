// SPDX-License-Identifier: MIT
// What backend/host/launch.hpp refuses.
#include "kvloom/backend/host.hpp"

using namespace kvloom;

struct nothing
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block, class Args>
    void operator()(Block const&, Args const&) const
    {}
};

struct without_bounds
{
    struct shared
    {};
};

struct without_shared
{
    static constexpr launch_bounds bounds = {64, 1, 1};
};

struct counted
{
    counted();
    counted(counted const&);
};

status launches(host::stream<host::cdna> const& stream)
{
    // refuses: launch: a kernel declares bounds and struct shared
    // wrong: status const first = launch(stream, without_bounds{}, 1, 1);
    // wrong: status const first = launch(stream, without_shared{}, 1, 1);
    status const first = launch(stream, nothing{}, 1, 1);

    // refuses: launch: the arguments must be trivially copyable
    // wrong: return first.ok() ? launch(stream, nothing{}, counted{}, 1) : first;
    return first.ok() ? launch(stream, nothing{}, 1, 1) : first;
}
