// SPDX-License-Identifier: MIT
// Which device a plain AMD test program runs on.
#pragma once

#include <string>

namespace kvloom_test {

/// Readies the first AMD GPU, or with `model` the CPU model of a wave. Empty, or why it cannot be had.
std::string take_device(bool model);

} // namespace kvloom_test
