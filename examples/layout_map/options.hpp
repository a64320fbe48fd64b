// SPDX-License-Identifier: MIT
// The command line of layout_map, refused with the argument, the value and the rule.
#pragma once

#include "span_map.hpp"

#include <charconv>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace layout_map {

/// "--page-size is 12, but must be one of 1, 8, 16".
class bad_argument : public std::runtime_error
{
public:
    bad_argument(std::string const& argument, std::string const& value, std::string const& rule)
        : std::runtime_error(argument + " is " + value + ", but must be " + rule)
    {}
};

/// What the command line asks for.
struct request
{
    choice layout;
    bool has_query = false;
    int token      = 0; ///< its slot in the cache
    int head       = 0;
    int dim        = 0;
    int heads      = 1;
    std::string svg; ///< a file to draw into; empty: none
};

template <class Names>
std::string one_of(Names const& names)
{
    std::string text = "one of ";
    for (auto const& name : names) {
        if (text != "one of ") {
            text += ", ";
        }
        text += name;
    }
    return text;
}

template <int... Sizes>
std::vector<std::string> texts(std::integer_sequence<int, Sizes...>)
{
    return {std::to_string(Sizes)...};
}

/// The value, which must be one of the names.
template <class Names>
std::string named(std::string const& argument, std::string const& value, Names const& names)
{
    for (auto const& name : names) {
        if (value == name) {
            return value;
        }
    }
    throw bad_argument(argument, value.empty() ? "empty" : value, one_of(names));
}

/// The value, which must be a whole number in [least, most].
inline int number(std::string const& argument, std::string const& value, int least, int most)
{
    int result                  = 0;
    char const* const end       = value.data() + value.size();
    std::from_chars_result done = std::from_chars(value.data(), end, result);
    if (done.ec != std::errc() || done.ptr != end || result < least || result > most) {
        throw bad_argument(argument, value.empty() ? "empty" : value,
                           "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return result;
}

inline request parse(std::vector<std::string> const& words)
{
    std::vector<std::string> const options = {"--element", "--head-size", "--page-size", "--heads",
                                              "--token",   "--head",      "--dim",       "--svg"};
    request r;
    std::string token = "0"; // and the others: their rules depend on arguments that may come later
    std::string head  = "0";
    std::string dim   = "0";
    r.layout.layout   = named("the layout", words.empty() ? "" : words[0], layout_names);
    for (std::size_t i = 1; i < words.size(); i += 2) {
        std::string const name = named("an argument", words[i], options);
        if (i + 1 == words.size()) {
            throw bad_argument(name, "without a value", "followed by one");
        }
        std::string const& value = words[i + 1];
        if (name == "--element") {
            r.layout.element = named(name, value, element_names);
        } else if (name == "--head-size") {
            r.layout.head_size = std::stoi(named(name, value, texts(head_sizes{})));
        } else if (name == "--page-size") {
            r.layout.page_size = std::stoi(named(name, value, texts(page_sizes{})));
        } else if (name == "--heads") {
            r.heads = number(name, value, 1, 1024);
        } else if (name == "--svg") {
            r.svg = value;
        } else {
            std::string& text = name == "--token" ? token : name == "--head" ? head : dim;
            text              = value;
            r.has_query       = true;
        }
    }
    r.token          = number("--token", token, 0, std::numeric_limits<int>::max());
    r.head           = number("--head", head, 0, r.heads - 1);
    r.dim            = number("--dim", dim, 0, r.layout.head_size - 1);
    int const vector = r.layout.element == "fp8" ? 16 : 8;
    if (r.layout.layout != "token_rows" && r.layout.page_size % vector != 0) {
        throw bad_argument("--page-size", std::to_string(r.layout.page_size),
                           "a multiple of " + std::to_string(vector) + " for " + r.layout.layout + " of "
                               + r.layout.element + ", whose 16 bytes hold that many elements");
    }
    return r;
}

} // namespace layout_map
