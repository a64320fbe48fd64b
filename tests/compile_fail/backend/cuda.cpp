// SPDX-License-Identifier: MIT
// What backend/cuda.hpp refuses.
#include "kvloom/backend/cuda.hpp"

using namespace kvloom;

struct nothing
{
    static constexpr launch_bounds bounds = {64, 1, 1};
    struct shared
    {};

    template <class Block, class Args>
    KVLOOM_DEVICE void operator()(Block const&, Args const&) const
    {}
};

struct without_shared
{
    static constexpr launch_bounds bounds = {64, 1, 1};

    template <class Block, class Args>
    KVLOOM_DEVICE void operator()(Block const&, Args const&) const
    {}
};

status launches(cuda::stream const& stream)
{
    // refuses: launch: a kernel declares bounds and struct shared
    // wrong: return launch(stream, without_shared{}, 1, 1);
    return launch(stream, nothing{}, 1, 1);
}
