// SPDX-License-Identifier: MIT
// Nothing: the target of this file holds the headers that all host programs take precompiled (cmake/KvloomTests.cmake).
