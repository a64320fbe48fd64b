// SPDX-License-Identifier: MIT
// Launches recorded once and run again: a graph on a GPU, the launches themselves on the host.
#pragma once

#include "support/machines.hpp"

#include <functional>

namespace kvloom_test {

#if KVLOOM_TEST_BACKEND_CUDA

/// What `body(stream)` launches, captured from a stream of its own without having run.
class recorded_launches
{
public:
    template <class Body>
    recorded_launches(kvloom::cuda::stream const&, Body const& body)
    {
        cudaGraph_t graph = nullptr;
        backend_memory::check(cudaStreamCreateWithFlags(&stream_.handle, cudaStreamNonBlocking));
        backend_memory::check(cudaStreamBeginCapture(stream_.handle, cudaStreamCaptureModeThreadLocal));
        body(stream_);
        backend_memory::check(cudaStreamEndCapture(stream_.handle, &graph));
        backend_memory::check(cudaGraphInstantiate(&runnable_, graph, 0));
        backend_memory::check(cudaGraphDestroy(graph));
    }
    ~recorded_launches()
    {
        (void)cudaGraphExecDestroy(runnable_);
        (void)cudaStreamDestroy(stream_.handle);
    }
    recorded_launches(recorded_launches const&)            = delete;
    recorded_launches& operator=(recorded_launches const&) = delete;

    /// Runs them once more, on what has been uploaded, and waits.
    void replay() const
    {
        backend_memory::finish();
        backend_memory::check(cudaGraphLaunch(runnable_, stream_.handle));
        backend_memory::finish();
    }

private:
    kvloom::cuda::stream stream_;
    cudaGraphExec_t runnable_ = nullptr;
};

#elif KVLOOM_TEST_BACKEND_HIP

/// What `body(stream)` launches, captured from a stream of its own without having run.
class recorded_launches
{
public:
    template <class Body>
    recorded_launches(kvloom::hip::stream const&, Body const& body)
    {
        hipGraph_t graph = nullptr;
        backend_memory::check(hipStreamCreateWithFlags(&stream_.handle, hipStreamNonBlocking));
        backend_memory::check(hipStreamBeginCapture(stream_.handle, hipStreamCaptureModeThreadLocal));
        body(stream_);
        backend_memory::check(hipStreamEndCapture(stream_.handle, &graph));
        backend_memory::check(hipGraphInstantiate(&runnable_, graph, nullptr, nullptr, 0));
        backend_memory::check(hipGraphDestroy(graph));
    }
    ~recorded_launches()
    {
        (void)hipGraphExecDestroy(runnable_);
        (void)hipStreamDestroy(stream_.handle);
    }
    recorded_launches(recorded_launches const&)            = delete;
    recorded_launches& operator=(recorded_launches const&) = delete;

    /// Runs them once more, on what has been uploaded, and waits.
    void replay() const
    {
        backend_memory::finish();
        backend_memory::check(hipGraphLaunch(runnable_, stream_.handle));
        backend_memory::finish();
    }

private:
    kvloom::hip::stream stream_;
    hipGraphExec_t runnable_ = nullptr;
};

#else

/// What `body(stream)` launches. A host has no graphs: here the launches are made again from what `body` holds.
class recorded_launches
{
public:
    template <class Stream, class Body>
    recorded_launches(Stream const& stream, Body const& body) : launches_([=] { body(stream); })
    {}

    /// Runs them once more.
    void replay() const { launches_(); }

private:
    std::function<void()> launches_;
};

#endif

} // namespace kvloom_test
