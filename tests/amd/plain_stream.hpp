// SPDX-License-Identifier: MIT
// The machine of the plain AMD test programs: memory and launches by calls that every HIP runtime has, or the CPU model of
// a wave of 64 in the device's place; each launch is counted.
#pragma once

#include "amd/loops.hpp"
#include "amd/place.hpp"
#include "kvloom/backend/hip.hpp"
#include "kvloom/backend/host.hpp"

#include <string>

namespace kvloom_test {

/// The library's stream, but that it counts, and starts kernels in the current place.
struct plain_stream : kvloom::hip::stream
{
    kvloom::host::stream<kvloom::host::cdna> model;
};

inline kvloom::arch_id arch_of(plain_stream const& stream)
{
    return current_place().on_model ? arch_of(stream.model)
                                    : kvloom::hip::arch_named(first_device().gcnArchName);
}

/// Of the model, whatever the device: what grids are made from, and so the estimate, are the same everywhere.
inline int multiprocessors_of(plain_stream const& stream)
{
    return multiprocessors_of(stream.model);
}

/// The demangled name of a kernel's one entry.
template <class Kernel, class Args>
std::string entry_name()
{
    auto const args = demangled_name<Args>();
    return "void kvloom::v0::hip::entry<" + demangled_name<Kernel>() + ", " + args
           + (args.back() == '>' ? " >(" : ">(") + args + ")";
}

/// As kvloom::hip::launch.
template <class Kernel, class Args>
kvloom::status launch(plain_stream const& on, Kernel const& kernel, Args const& args,
                      kvloom::i64 const blocks)
{
    constexpr int threads        = Kernel::bounds.threads;
    constexpr kvloom::i64 beyond = 0xffffffffLL / threads + 1;
    if (blocks == 0) {
        return {};
    }
    if (blocks < 0 || blocks >= beyond) {
        return {kvloom::fault::out_of_range, "blocks", blocks, beyond};
    }
    if (current_place().counted) {
        static kernel_count& count = count_of(entry_name<Kernel, Args>());
        kvloom::i64 const waves    = blocks * ((threads + 63) / 64);
        count.add(waves, loops_of<Kernel, Args>::count(kernel, args, waves));
    }
    if (current_place().on_model) {
        return launch(on.model, kernel, args, blocks);
    }
    kvloom::hip::entry<Kernel, Args><<<dim3(unsigned(blocks)), dim3(threads), 0, on.handle>>>(args);
    hipError_t const error = hipGetLastError();
    if (error != hipSuccess) {
        return {kvloom::fault::launch_failed, "HIP refused the launch", error, 0};
    }
    return {};
}

/// Calls `body(name, stream)` for the model, and then for the device that is compared with it.
template <class Body>
void on_model_and_device(Body&& body)
{
    plain_stream const stream;
    current_place() = {true, false};
    body("host, waves of 64", stream);
    current_place() = {device_is_model(), true};
    body(device_is_model() ? "host in place of a device" : "hip", stream);
}

} // namespace kvloom_test
