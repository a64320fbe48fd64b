// SPDX-License-Identifier: MIT
// A status in words, for people.
#pragma once

#include "kvloom/core/status.hpp"

#include <string>

namespace kvloom {
inline namespace v0 {

/// "keys.head_stride must be a stride of at least 2048, but is 8"; "success" where there is nothing to say.
inline std::string message(status const& s)
{
    switch (s.code) {
    case fault::none:
        return "success";
    case fault::launch_failed:
        return std::string("the runtime refused the launch: ") + s.argument + " (" + std::to_string(s.got)
               + ")";
    case fault::null_pointer:
    case fault::overlapping:
    case fault::unsupported:
        return std::string(s.argument) + " " + rule_of(s.code);
    case fault::not_positive:
        return std::string(s.argument) + " " + rule_of(s.code) + " " + std::to_string(s.need);
    default:
        return std::string(s.argument) + " " + rule_of(s.code) + " " + std::to_string(s.need) + ", but is "
               + std::to_string(s.got);
    }
}

} // namespace v0
} // namespace kvloom
