// SPDX-License-Identifier: MIT
// How many instructions of waves a plain AMD test program takes at most, from the code objects that it holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <typeinfo>

namespace kvloom_test {

/// A program that exceeds it fails: what an emulator of instructions runs through in minutes.
inline constexpr std::int64_t most_instructions = 60'000'000;

/// Words of 4 bytes of a kernel's code, at least as many as instructions: the most over all architectures.
struct kernel_size
{
    std::int64_t whole      = 0;
    std::int64_t loop       = 0; ///< of its longest loop; 0 without one
    std::int64_t short_loop = 0; ///< of the longest among those of at most most_words_of_short words
};
inline constexpr std::int64_t most_words_of_short = 64;

/// Passes through the loops of a kernel, of all waves of a launch together, at most.
struct loop_passes
{
    std::int64_t any;               ///< each counts as one through the longest loop
    std::int64_t through_short = 0; ///< through loops of at most most_words_of_short words
};

/// A type's name as in the demangled name of a kernel.
std::string demangled(char const* name);
template <class T>
std::string demangled_name()
{
    return demangled(typeid(T).name());
}

/// What the launches of a kernel come to.
struct kernel_count
{
    kernel_size size;
    std::int64_t launches     = 0;
    std::int64_t waves        = 0;
    std::int64_t instructions = 0;

    /// Every wave takes the whole code once, and each pass through a loop that loop once more.
    void add(std::int64_t waves_of_launch, loop_passes passes);
};

/// Of the kernel of that demangled name, whose size is read from the program's own file. Throws
/// std::runtime_error where that has none.
kernel_count& count_of(std::string const& name);

/// Of all kernels.
std::map<std::string, kernel_count> const& all_counts();

} // namespace kvloom_test
