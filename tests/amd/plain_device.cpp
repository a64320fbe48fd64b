// SPDX-License-Identifier: MIT
// Finds the device, with the calls that every HIP runtime has.
#include "amd/place.hpp"
#include "amd/plain_device.hpp"

#include <cstdio>

namespace kvloom_test {

std::string take_device(bool const model)
{
    device_is_model() = model;
    if (model) {
        return "";
    }
    int count             = 0;
    hipError_t const code = hipGetDeviceCount(&count);
    if (code != hipSuccess || count < 1) {
        return "hipGetDeviceCount finds " + std::to_string(count) + " (error " + std::to_string(int(code))
               + ")";
    }
    std::string const name = first_device().gcnArchName;
    std::string const arch = name.substr(0, name.find(':'));
    for (char const* known : {"gfx90a", "gfx942", "gfx950"}) {
        if (arch == known) {
            std::printf("on %s\n", name.c_str());
            return "";
        }
    }
    return "the first one is " + arch + ", and there is code for gfx90a, gfx942 and gfx950";
}

} // namespace kvloom_test
