// SPDX-License-Identifier: MIT
// The version of kvloom: CMake reads it from here.
#pragma once

#define KVLOOM_VERSION_MAJOR 0
#define KVLOOM_VERSION_MINOR 1
#define KVLOOM_VERSION_PATCH 0

/// One number to compare with: 10000 * major + 100 * minor + patch.
#define KVLOOM_VERSION (KVLOOM_VERSION_MAJOR * 10000 + KVLOOM_VERSION_MINOR * 100 + KVLOOM_VERSION_PATCH)
