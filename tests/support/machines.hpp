// SPDX-License-Identifier: MIT
// The machines of the backend under test, arrays in their memory, and kernels made of a lambda-like functor.
#pragma once

#include "kvloom/backend/message.hpp"
#include "kvloom/group/launch_bounds.hpp"
#include "support/buffers.hpp"

#if KVLOOM_TEST_PLAIN
#include "amd/plain_stream.hpp"
#elif KVLOOM_TEST_BACKEND_CUDA
#include "kvloom/backend/cuda.hpp"
#elif KVLOOM_TEST_BACKEND_HIP
#include "kvloom/backend/hip.hpp"
#else
#include "kvloom/backend/host.hpp"
#endif

#include <stdexcept>
#include <string>
#include <vector>

namespace kvloom_test {

/// Calls `body(name, stream)` for every machine of the backend under test.
template <class Body>
void on_every_machine(Body&& body)
{
#if KVLOOM_TEST_PLAIN
    on_model_and_device(body);
#elif KVLOOM_TEST_BACKEND_CUDA
    body("cuda", kvloom::cuda::stream{});
#elif KVLOOM_TEST_BACKEND_HIP
    body("hip", kvloom::hip::stream{});
#else
    body("host, waves of 64", kvloom::host::stream<kvloom::host::cdna>{});
    body("host, warps of 32", kvloom::host::stream<kvloom::host::warp32>{});
#endif
}

/// The same, and on the host for machines that differ in their matrix units alone: CDNA4, and RDNA without any.
template <class Body>
void on_every_matrix_machine(Body&& body)
{
    on_every_machine(body);
#if KVLOOM_TEST_BACKEND_HOST
    body("host, waves of 64 with CDNA4's units", kvloom::host::stream<kvloom::host::cdna4>{});
    body("host, waves of 32 without units", kvloom::host::stream<kvloom::host::rdna>{});
#endif
}

/// What a status says, in words; empty for success.
inline std::string text_of(kvloom::status const s)
{
    return s.ok() ? "" : message(s);
}

/// An array in the memory of the backend under test.
template <class T>
class device_array
{
public:
    explicit device_array(std::vector<T> const& values)
        : count_(values.size()), memory_(backend_memory::allocate(bytes() + 16))
    {
        backend_memory::upload(memory_, values.data(), bytes());
    }
    device_array(std::size_t const count, T const& value) : device_array(std::vector<T>(count, value)) {}
    ~device_array() { backend_memory::release(memory_); }
    device_array(device_array const&)            = delete;
    device_array& operator=(device_array const&) = delete;

    T* data() const { return static_cast<T*>(memory_); }

    std::vector<T> values() const
    {
        backend_memory::finish();
        std::vector<T> copy(count_);
        backend_memory::download(copy.data(), memory_, bytes());
        return copy;
    }

private:
    std::size_t bytes() const { return count_ * sizeof(T); }

    std::size_t count_;
    void* memory_;
};

/// Runs `Kernel` in `blocks` blocks and waits; throws what the status says.
template <class Kernel, class Stream, class Args>
void run(Stream const& stream, Args const& args, int const blocks = 1)
{
    kvloom::status const outcome = launch(stream, Kernel{}, args, blocks);
    if (!outcome.ok()) {
        throw std::runtime_error(text_of(outcome));
    }
    backend_memory::finish();
}

} // namespace kvloom_test
