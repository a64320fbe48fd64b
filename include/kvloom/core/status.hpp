// SPDX-License-Identifier: MIT
// What validation and launches report.
#pragma once

#include "kvloom/core/types.hpp"

namespace kvloom {
inline namespace v0 {

/// Which rule an argument broke.
enum class fault {
    none,
    null_pointer,
    misaligned,
    out_of_range,
    wrong_stride,
    too_small,
    not_positive,
    not_equal,
    overlapping,
    launch_failed,
    unsupported
};

/// The outcome of `validate` or `launch`: the first argument that broke a rule, the value found and the one
/// needed.
///
/// For launch_failed, `argument` is the runtime's message and `got` its error code.
struct [[nodiscard]] status
{
    fault code           = fault::none;
    char const* argument = "";
    i64 got              = 0;
    i64 need             = 0;

    KVLOOM_FN constexpr bool ok() const { return code == fault::none; }
};

/// The rule behind a fault, to be read behind the argument's name: "heads must be at least", 1. `need` completes
/// the rules of misaligned, out_of_range, wrong_stride, too_small, not_positive and not_equal; `got` is the value
/// found, but for not_positive. backend/message.hpp makes a sentence of a status.
KVLOOM_FN constexpr char const* rule_of(fault code)
{
    switch (code) {
    case fault::none:
        return "is valid";
    case fault::null_pointer:
        return "must not be null";
    case fault::misaligned:
        return "must be a multiple of";
    case fault::out_of_range:
        return "must be below";
    case fault::wrong_stride:
        return "must be a stride of at least";
    case fault::too_small:
        return "must be at least";
    case fault::not_positive:
        return "must be finite and above";
    case fault::not_equal:
        return "must be";
    case fault::overlapping:
        return "must not overlap another argument";
    case fault::launch_failed:
        return "must be accepted by the runtime";
    case fault::unsupported:
        return "must be supported by this build and device";
    }
    return "must be a known fault";
}

} // namespace v0
} // namespace kvloom
