// SPDX-License-Identifier: MIT
// Catch2 of either major version: tests include this and nothing of Catch2.
#pragma once

#if defined(__has_include)
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
#else
#include <catch2/catch.hpp>
#endif
