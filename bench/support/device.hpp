// SPDX-License-Identifier: MIT
// The device that a benchmark runs on: memory, and the time of a chain of launches replayed from a graph.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "kvloom/backend/message.hpp"
#if KVLOOM_TEST_BACKEND_CUDA
#include "kvloom/backend/cuda.hpp"
#elif KVLOOM_TEST_BACKEND_HIP
#include "kvloom/backend/hip.hpp"
#else
#include "kvloom/backend/host.hpp"
#endif

namespace kvloom_bench {

inline void require(bool condition, std::string const& what)
{
    if (!condition) {
        throw std::runtime_error(what);
    }
}

inline void require(kvloom::status const& status)
{
    require(status.ok(), message(status));
}

/// The median of `repeats` values.
inline double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

inline constexpr int most_repeats = 21;

#if KVLOOM_TEST_BACKEND_CUDA

inline void require(cudaError_t error)
{
    require(error == cudaSuccess, cudaGetErrorString(error));
}

class device
{
public:
    using stream_type          = kvloom::cuda::stream;
    static constexpr bool real = true; ///< times mean something

    device() { require(cudaStreamCreateWithFlags(&stream_.handle, cudaStreamNonBlocking)); }
    ~device() { (void)cudaStreamDestroy(stream_.handle); }
    device(device const&)            = delete;
    device& operator=(device const&) = delete;

    stream_type const& stream() const { return stream_; }

    static void* allocate(std::size_t bytes)
    {
        void* memory = nullptr;
        require(cudaMalloc(&memory, bytes));
        return memory;
    }
    static void release(void* memory) { (void)cudaFree(memory); }
    static void upload(void* to, void const* from, std::size_t bytes)
    {
        require(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    }
    static void download(void* to, void const* from, std::size_t bytes)
    {
        require(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
    }
    void finish() const { require(cudaStreamSynchronize(stream_.handle)); }
    void copy(void* to, void const* from, std::size_t bytes) const
    {
        require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_.handle));
    }

    /// Seconds a launch of `launch(0) .. launch(count - 1)` in one graph: the median of several replays.
    template <class Launch>
    double seconds(int count, Launch const& launch) const
    {
        launch(0);
        finish();
        cudaGraph_t graph        = nullptr;
        cudaGraphExec_t runnable = nullptr;
        cudaEvent_t begin        = nullptr;
        cudaEvent_t end          = nullptr;
        require(cudaStreamBeginCapture(stream_.handle, cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < count; ++i) {
            launch(i);
        }
        require(cudaStreamEndCapture(stream_.handle, &graph));
        require(cudaGraphInstantiate(&runnable, graph, 0));
        require(cudaGraphUpload(runnable, stream_.handle));
        require(cudaEventCreate(&begin));
        require(cudaEventCreate(&end));
        auto const once = [&] {
            require(cudaEventRecord(begin, stream_.handle));
            require(cudaGraphLaunch(runnable, stream_.handle));
            require(cudaEventRecord(end, stream_.handle));
            require(cudaEventSynchronize(end));
            float milliseconds = 0;
            require(cudaEventElapsedTime(&milliseconds, begin, end));
            return milliseconds * 1e-3 / count;
        };
        once();
        double const warm = once() * count;
        std::vector<double> times(std::size_t(std::min(most_repeats, std::max(5, int(14e-3 / warm)))));
        for (double& time : times) {
            time = once();
        }
        (void)cudaEventDestroy(begin);
        (void)cudaEventDestroy(end);
        require(cudaGraphExecDestroy(runnable));
        require(cudaGraphDestroy(graph));
        return median(times);
    }

private:
    stream_type stream_;
};

#elif KVLOOM_TEST_BACKEND_HIP

inline void require(hipError_t error)
{
    require(error == hipSuccess, hipGetErrorString(error));
}

class device
{
public:
    using stream_type          = kvloom::hip::stream;
    static constexpr bool real = true;

    device() { require(hipStreamCreateWithFlags(&stream_.handle, hipStreamNonBlocking)); }
    ~device() { (void)hipStreamDestroy(stream_.handle); }
    device(device const&)            = delete;
    device& operator=(device const&) = delete;

    stream_type const& stream() const { return stream_; }

    static void* allocate(std::size_t bytes)
    {
        void* memory = nullptr;
        require(hipMalloc(&memory, bytes));
        return memory;
    }
    static void release(void* memory) { (void)hipFree(memory); }
    static void upload(void* to, void const* from, std::size_t bytes)
    {
        require(hipMemcpy(to, from, bytes, hipMemcpyHostToDevice));
    }
    static void download(void* to, void const* from, std::size_t bytes)
    {
        require(hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost));
    }
    void finish() const { require(hipStreamSynchronize(stream_.handle)); }
    void copy(void* to, void const* from, std::size_t bytes) const
    {
        require(hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream_.handle));
    }

    template <class Launch>
    double seconds(int count, Launch const& launch) const
    {
        launch(0);
        finish();
        hipGraph_t graph        = nullptr;
        hipGraphExec_t runnable = nullptr;
        hipEvent_t begin        = nullptr;
        hipEvent_t end          = nullptr;
        require(hipStreamBeginCapture(stream_.handle, hipStreamCaptureModeThreadLocal));
        for (int i = 0; i < count; ++i) {
            launch(i);
        }
        require(hipStreamEndCapture(stream_.handle, &graph));
        require(hipGraphInstantiate(&runnable, graph, nullptr, nullptr, 0));
        require(hipEventCreate(&begin));
        require(hipEventCreate(&end));
        auto const once = [&] {
            require(hipEventRecord(begin, stream_.handle));
            require(hipGraphLaunch(runnable, stream_.handle));
            require(hipEventRecord(end, stream_.handle));
            require(hipEventSynchronize(end));
            float milliseconds = 0;
            require(hipEventElapsedTime(&milliseconds, begin, end));
            return milliseconds * 1e-3 / count;
        };
        once();
        double const warm = once() * count;
        std::vector<double> times(std::size_t(std::min(most_repeats, std::max(5, int(14e-3 / warm)))));
        for (double& time : times) {
            time = once();
        }
        (void)hipEventDestroy(begin);
        (void)hipEventDestroy(end);
        require(hipGraphExecDestroy(runnable));
        require(hipGraphDestroy(graph));
        return median(times);
    }

private:
    stream_type stream_;
};

#else

/// The CPU model: its times say how long a test takes, nothing about a GPU.
class device
{
public:
    using stream_type          = kvloom::host::stream<kvloom::host::cdna>;
    static constexpr bool real = false;

    stream_type const& stream() const { return stream_; }

    static void* allocate(std::size_t bytes) { return std::aligned_alloc(256, (bytes + 255) / 256 * 256); }
    static void release(void* memory) { std::free(memory); }
    static void upload(void* to, void const* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
    static void download(void* to, void const* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
    static void finish() {}
    static void copy(void* to, void const* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

    template <class Launch>
    static double seconds(int count, Launch const& launch)
    {
        auto const begin = std::chrono::steady_clock::now();
        for (int i = 0; i < count; ++i) {
            launch(i);
        }
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / count;
    }

private:
    stream_type stream_;
};

#endif

/// Device memory that frees itself.
template <class T>
class memory
{
public:
    explicit memory(std::size_t count)
        : data_(static_cast<T*>(device::allocate(count * sizeof(T) + 256))), count_(count)
    {}
    explicit memory(std::vector<T> const& values) : memory(values.size())
    {
        device::upload(data_, values.data(), values.size() * sizeof(T));
    }
    ~memory() { device::release(data_); }
    memory(memory const&)            = delete;
    memory& operator=(memory const&) = delete;

    T* data() const { return data_; }
    std::size_t count() const { return count_; }

private:
    T* data_;
    std::size_t count_;
};

} // namespace kvloom_bench
