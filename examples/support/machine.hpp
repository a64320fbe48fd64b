// SPDX-License-Identifier: MIT
// The machines that this program was compiled for, and arrays in their memory.
#pragma once

#include <kvloom/core/config.hpp>

#if KVLOOM_CUDA
#include <kvloom/backend/cuda.hpp>
#elif KVLOOM_HIP
#include <kvloom/backend/hip.hpp>
#else
#include <kvloom/backend/host.hpp>
#endif

#include <cstddef>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

namespace example {

#if KVLOOM_CUDA

inline bool has_machine()
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

template <class Body>
void on_each_machine(Body&& body)
{
    body("an NVIDIA GPU", kvloom::cuda::stream{});
}

inline void check(cudaError_t const code)
{
    if (code != cudaSuccess) {
        throw std::runtime_error(cudaGetErrorString(code));
    }
}
inline void* allocate(std::size_t const bytes)
{
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes));
    return memory;
}
inline void release(void* const memory)
{
    (void)cudaFree(memory);
}
inline void copy(void* const to, void const* const from, std::size_t const bytes)
{
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

#elif KVLOOM_HIP

inline bool has_machine()
{
    int count = 0;
    return hipGetDeviceCount(&count) == hipSuccess && count > 0;
}

template <class Body>
void on_each_machine(Body&& body)
{
    body("an AMD GPU", kvloom::hip::stream{});
}

inline void check(hipError_t const code)
{
    if (code != hipSuccess) {
        throw std::runtime_error(hipGetErrorString(code));
    }
}
inline void* allocate(std::size_t const bytes)
{
    void* memory = nullptr;
    check(hipMalloc(&memory, bytes));
    return memory;
}
inline void release(void* const memory)
{
    (void)hipFree(memory);
}
inline void copy(void* const to, void const* const from, std::size_t const bytes)
{
    check(hipMemcpy(to, from, bytes, hipMemcpyDefault));
}

#else

inline bool has_machine()
{
    return true;
}

template <class Body>
void on_each_machine(Body&& body)
{
    body("the CPU as a CDNA wave", kvloom::host::stream<kvloom::host::cdna>{});
    body("the CPU as an NVIDIA warp", kvloom::host::stream<kvloom::host::warp32>{});
}

inline void* allocate(std::size_t const bytes)
{
    return ::operator new(bytes, std::align_val_t(256));
}
inline void release(void* const memory)
{
    ::operator delete(memory, std::align_val_t(256));
}
inline void copy(void* const to, void const* const from, std::size_t const bytes)
{
    std::memcpy(to, from, bytes);
}

#endif

/// An array in the machine's memory. Its copies wait for what the default stream holds.
template <class T>
class array
{
public:
    explicit array(std::size_t const count)
        : count_(count), memory_(static_cast<T*>(allocate(count * sizeof(T))))
    {}
    explicit array(std::vector<T> const& values) : array(values.size())
    {
        copy(memory_, values.data(), count_ * sizeof(T));
    }
    ~array() { release(memory_); }
    array(array const&)            = delete;
    array& operator=(array const&) = delete;

    T* data() const { return memory_; }
    std::size_t size() const { return count_; }

    /// The first elements become these.
    void assign(std::vector<T> const& values) const
    {
        copy(memory_, values.data(), values.size() * sizeof(T));
    }

    std::vector<T> values() const
    {
        std::vector<T> result(count_);
        copy(result.data(), memory_, count_ * sizeof(T));
        return result;
    }

private:
    std::size_t count_;
    T* memory_;
};

} // namespace example
