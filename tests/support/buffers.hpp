// SPDX-License-Identifier: MIT
// Memory of the backend under test, with guards on both sides that show any write, and under AddressSanitizer any access.
#pragma once

#include "support/scene.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#if KVLOOM_TEST_PLAIN
#include "amd/plain_stream.hpp"
#elif KVLOOM_TEST_BACKEND_CUDA
#include <cuda_runtime.h>
#elif KVLOOM_TEST_BACKEND_HIP
#include <hip/hip_runtime.h>
#endif

// AddressSanitizer's own interface, referred to only under it.
extern "C" {
void __asan_poison_memory_region(void const volatile* address, std::size_t size);
void __asan_unpoison_memory_region(void const volatile* address, std::size_t size);
}

namespace kvloom_test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif
#else
inline constexpr bool address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool thread_sanitizer  = true;
#else
inline constexpr bool thread_sanitizer  = false;
#endif
#else
inline constexpr bool thread_sanitizer  = false;
#endif

/// Whether everything is ten times as slow: tests then repeat less.
inline constexpr bool sanitized = address_sanitizer || thread_sanitizer;

/// Whether launches are to be few and short: the plain AMD test programs (tests/amd).
inline constexpr bool plain_program = KVLOOM_TEST_PLAIN;

#if KVLOOM_TEST_PLAIN // plain_stream.hpp has backend_memory

#elif KVLOOM_TEST_BACKEND_CUDA

struct backend_memory
{
    static void check(cudaError_t const code)
    {
        if (code != cudaSuccess) {
            throw std::runtime_error(cudaGetErrorString(code));
        }
    }
    static void* allocate(std::size_t const bytes)
    {
        void* memory = nullptr;
        check(cudaMalloc(&memory, bytes));
        return memory;
    }
    static void release(void* const memory) { (void)cudaFree(memory); }
    static void upload(void* const to, void const* const from, std::size_t const bytes)
    {
        check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    }
    static void download(void* const to, void const* const from, std::size_t const bytes)
    {
        check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
    }
    static void finish() { check(cudaDeviceSynchronize()); }
};

#elif KVLOOM_TEST_BACKEND_HIP

struct backend_memory
{
    static void check(hipError_t const code)
    {
        if (code != hipSuccess) {
            throw std::runtime_error(hipGetErrorString(code));
        }
    }
    static void* allocate(std::size_t const bytes)
    {
        void* memory = nullptr;
        check(hipMalloc(&memory, bytes));
        return memory;
    }
    static void release(void* const memory) { (void)hipFree(memory); }
    static void upload(void* const to, void const* const from, std::size_t const bytes)
    {
        check(hipMemcpy(to, from, bytes, hipMemcpyHostToDevice));
    }
    static void download(void* const to, void const* const from, std::size_t const bytes)
    {
        check(hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost));
    }
    static void finish() { check(hipDeviceSynchronize()); }
};

#else

struct backend_memory
{
    static void* allocate(std::size_t const bytes)
    {
        void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
        if (memory == nullptr) {
            throw std::bad_alloc();
        }
        return memory;
    }
    static void release(void* const memory) { std::free(memory); }
    static void upload(void* const to, void const* const from, std::size_t const bytes)
    {
        std::memcpy(to, from, bytes);
    }
    static void download(void* const to, void const* const from, std::size_t const bytes)
    {
        std::memcpy(to, from, bytes);
    }
    static void finish() {}
};

#endif

/// A block's bytes in the backend's memory, 256-byte aligned, between two guards.
class guarded_buffer
{
public:
    explicit guarded_buffer(block const& from)
        : size_(from.bytes.size()), guard_((from.guard + 255) / 256 * 256), guard_byte_(from.guard_byte),
          memory_(backend_memory::allocate(size_ + 2 * guard_))
    {
        std::vector<unsigned char> whole(size_ + 2 * guard_, guard_byte_);
        std::copy(from.bytes.begin(), from.bytes.end(), whole.begin() + static_cast<std::ptrdiff_t>(guard_));
        backend_memory::upload(memory_, whole.data(), whole.size());
        close_guards();
    }
    ~guarded_buffer()
    {
        open_guards();
        backend_memory::release(memory_);
    }
    guarded_buffer(guarded_buffer const&)            = delete;
    guarded_buffer& operator=(guarded_buffer const&) = delete;

    unsigned char* data() const { return static_cast<unsigned char*>(memory_) + guard_; }

    /// The bytes between the guards.
    std::vector<unsigned char> bytes() const
    {
        std::vector<unsigned char> inside(size_);
        if (size_ != 0) {
            backend_memory::download(inside.data(), data(), size_);
        }
        return inside;
    }

    /// Where a guard was written to, as bytes from the first of the block; empty where none was.
    std::string trespass() const
    {
        open_guards();
        std::vector<unsigned char> whole(size_ + 2 * guard_);
        backend_memory::download(whole.data(), memory_, whole.size());
        close_guards();
        for (std::size_t i = 0; i < whole.size(); ++i) {
            bool const outside = i < guard_ || i >= guard_ + size_;
            if (outside && whole[i] != guard_byte_) {
                return "byte " + std::to_string(static_cast<long long>(i) - static_cast<long long>(guard_))
                       + " of a block of " + std::to_string(size_) + " was written";
            }
        }
        return "";
    }

private:
    void close_guards() const
    {
        if constexpr (address_sanitizer && KVLOOM_TEST_BACKEND_HOST) {
            __asan_poison_memory_region(memory_, guard_);
            __asan_poison_memory_region(data() + size_, guard_);
        }
    }
    void open_guards() const
    {
        if constexpr (address_sanitizer && KVLOOM_TEST_BACKEND_HOST) {
            __asan_unpoison_memory_region(memory_, size_ + 2 * guard_);
        }
    }

    std::size_t size_;
    std::size_t guard_;
    unsigned char guard_byte_;
    void* memory_;
};

/// Every block of a scene in the backend's memory.
class scene_memory
{
public:
    explicit scene_memory(scene const& s)
    {
        for (block const& b : s.blocks) {
            buffers_.push_back(std::make_unique<guarded_buffer>(b));
        }
    }

    unsigned char* data(block_id const id) const { return buffers_[id]->data(); }

    image after() const
    {
        backend_memory::finish();
        image bytes;
        for (auto const& buffer : buffers_) {
            bytes.push_back(buffer->bytes());
        }
        return bytes;
    }

    std::string trespasses() const
    {
        std::string text;
        for (int id = 0; id < block_count; ++id) {
            std::string const one = buffers_[static_cast<std::size_t>(id)]->trespass();
            text += one.empty() ? "" : std::string(name_of(static_cast<block_id>(id))) + ": " + one + "; ";
        }
        return text;
    }

private:
    std::vector<std::unique_ptr<guarded_buffer>> buffers_;
};

} // namespace kvloom_test
