// SPDX-License-Identifier: MIT
// Memory of the plain AMD test programs: the device's, by calls that every HIP runtime has, or ordinary memory for the CPU
// model of a wave.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

namespace kvloom_test {

/// Where memory lies and kernels run at the moment.
struct plain_place
{
    bool on_model = false; ///< ordinary memory, the model of a wave
    bool counted  = true;  ///< not where the model is what the device is compared with
};

inline plain_place& current_place()
{
    static plain_place place;
    return place;
}

/// Whether the program was asked to take the model for the device.
inline bool& device_is_model()
{
    static bool model = false;
    return model;
}

/// Memory of the current place.
struct backend_memory
{
    static void check(hipError_t const code, char const* call)
    {
        if (code != hipSuccess) {
            throw std::runtime_error(std::string(call) + " gave HIP error " + std::to_string(int(code)));
        }
    }
    static void* allocate(std::size_t const bytes)
    {
        void* memory = nullptr;
        if (!current_place().on_model) {
            check(hipMalloc(&memory, bytes), "hipMalloc");
        } else if ((memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256)) == nullptr) {
            throw std::bad_alloc();
        }
        return memory;
    }
    static void release(void* const memory)
    {
        if (current_place().on_model) {
            std::free(memory);
        } else {
            (void)hipFree(memory);
        }
    }
    static void upload(void* const to, void const* const from, std::size_t const bytes)
    {
        copy(to, from, bytes, hipMemcpyHostToDevice);
    }
    static void download(void* const to, void const* const from, std::size_t const bytes)
    {
        copy(to, from, bytes, hipMemcpyDeviceToHost);
    }
    static void finish()
    {
        if (!current_place().on_model) {
            check(hipDeviceSynchronize(), "hipDeviceSynchronize");
        }
    }

private:
    static void copy(void* const to, void const* const from, std::size_t const bytes,
                     hipMemcpyKind const direction)
    {
        if (bytes == 0) {
            return;
        }
        if (current_place().on_model) {
            std::memcpy(to, from, bytes);
        } else {
            check(hipMemcpy(to, from, bytes, direction), "hipMemcpy");
        }
    }
};

/// What the runtime says of the first device; asked for once.
inline hipDeviceProp_t const& first_device()
{
    static hipDeviceProp_t const properties = [] {
        hipDeviceProp_t asked = {};
        backend_memory::check(hipGetDeviceProperties(&asked, 0), "hipGetDeviceProperties");
        return asked;
    }();
    return properties;
}

} // namespace kvloom_test
