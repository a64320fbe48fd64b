// SPDX-License-Identifier: MIT
// Whether the device that a test program was built for is there.
#pragma once

namespace kvloom_test {

struct device_state
{
    bool found;
    char const* backend;
    char const* reason; // why it was not found
};

/// Asks the runtime of the program's own backend; the host is always there.
device_state probe_device();

} // namespace kvloom_test
