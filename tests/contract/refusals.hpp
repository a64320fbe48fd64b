// SPDX-License-Identifier: MIT
// Arguments that validate() must refuse: each fault alone, and the sentence that names it.
#pragma once

#include "kvloom/core/status.hpp"
#include "support/machines.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace kvloom_test {

/// Pointers that nothing looks behind, each in a region of its own.
template <class T>
T* somewhere(int const region)
{
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(region + 1) << 36);
}

template <class Pointer>
void shift(Pointer& pointer, int const bytes)
{
    pointer = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(pointer)
                                        + static_cast<std::uintptr_t>(bytes));
}

template <class Args>
struct refusal
{
    std::function<void(Args&)> spoil;
    std::string message; ///< the sentence; one that ends in a space: its beginning, the rest is an address
};

/// Whether a status says a message.
inline bool says(kvloom::status const s, std::string const& message)
{
    std::string const text = text_of(s);
    return message.back() == ' ' ? text.compare(0, message.size(), message) == 0 : text == message;
}

} // namespace kvloom_test
