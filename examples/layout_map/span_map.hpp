// SPDX-License-Identifier: MIT
// A span layout chosen at run time: the library's types, instantiated for the sizes that the program offers.
#pragma once

#include <kvloom/core/bf16.hpp>
#include <kvloom/core/fp16.hpp>
#include <kvloom/core/fp8.hpp>
#include <kvloom/layout/span.hpp>

#include <string>
#include <utility>

namespace layout_map {

using head_sizes = std::integer_sequence<int, 16, 32, 64, 80, 96, 128, 192, 256>;
using page_sizes = std::integer_sequence<int, 1, 8, 16, 32, 64, 128, 256>;

inline constexpr char const* layout_names[]  = {"shuffled_keys", "shuffled_values", "transposed_values",
                                                "token_rows"};
inline constexpr char const* element_names[] = {"bf16", "fp16", "fp8"};

/// What the arguments choose.
struct choice
{
    std::string layout;
    std::string element = "bf16";
    int head_size       = 128;
    int page_size       = 16;
};

/// "shuffled_keys of bf16, head size 128, pages of 16 tokens".
inline std::string title_of(choice const& c)
{
    return c.layout + " of " + c.element + ", head size " + std::to_string(c.head_size) + ", pages of "
           + std::to_string(c.page_size) + (c.page_size == 1 ? " token" : " tokens");
}

/// A span layout as values.
struct span_map
{
    int (*offset)(int slot, int dim)    = nullptr;
    kvloom::span_coord (*coord)(int at) = nullptr;
    int element_bytes                   = 0;
    int elements                        = 0;
    bool slots_share_vectors            = false; ///< the elements of 16 bytes are of one dim
    std::string formula;

    int vector() const { return 16 / element_bytes; }
};

inline std::string formula_of(std::string const& layout, int x, int page_size, int head_size)
{
    std::string const vector = std::to_string(x);
    std::string const page   = std::to_string(page_size);
    std::string const head   = std::to_string(head_size);
    if (layout == "shuffled_keys") {
        return "(dim / " + vector + " * " + page + " + slot) * " + vector + " + dim % " + vector;
    }
    if (layout == "shuffled_values") {
        return "(slot / " + vector + " * " + head + " + dim) * " + vector + " + slot % " + vector;
    }
    return layout == "transposed_values" ? "dim * " + page + " + slot" : "slot * " + head + " + dim";
}

/// Whether a layout takes only pages of whole vectors of slots.
template <template <class, int, int> class Layout>
inline constexpr bool needs_whole_vectors = true;
template <>
inline constexpr bool needs_whole_vectors<kvloom::token_rows> = false;

template <template <class, int, int> class Layout, class T, int Dim, int PageSize>
span_map map_of()
{
    span_map map;
    if constexpr (!needs_whole_vectors<Layout> || PageSize % kvloom::vector_size<T> == 0) {
        using layout            = Layout<T, Dim, PageSize>;
        map.offset              = &layout::offset;
        map.coord               = &layout::coord;
        map.element_bytes       = int(sizeof(T));
        map.elements            = layout::elements;
        map.slots_share_vectors = layout::vector_axis == kvloom::axis::slot;
    }
    return map;
}

template <template <class, int, int> class Layout, class T, int Dim, int... PageSizes>
span_map with_page_size(int page_size, std::integer_sequence<int, PageSizes...>)
{
    span_map map;
    (void)((page_size == PageSizes && (map = map_of<Layout, T, Dim, PageSizes>(), true)) || ...);
    return map;
}

template <template <class, int, int> class Layout, class T, int... HeadSizes>
span_map with_head_size(choice const& c, std::integer_sequence<int, HeadSizes...>)
{
    span_map map;
    (void)((c.head_size == HeadSizes
            && (map = with_page_size<Layout, T, HeadSizes>(c.page_size, page_sizes{}), true))
           || ...);
    return map;
}

template <template <class, int, int> class Layout>
span_map with_element(choice const& c)
{
    if (c.element == "bf16") {
        return with_head_size<Layout, kvloom::bf16>(c, head_sizes{});
    }
    if (c.element == "fp16") {
        return with_head_size<Layout, kvloom::fp16>(c, head_sizes{});
    }
    return with_head_size<Layout, kvloom::fp8_e4m3>(c, head_sizes{});
}

/// The layout chosen; its `offset` is null where the library has none such.
inline span_map find(choice const& c)
{
    span_map map;
    if (c.layout == "shuffled_keys") {
        map = with_element<kvloom::shuffled_keys>(c);
    } else if (c.layout == "shuffled_values") {
        map = with_element<kvloom::shuffled_values>(c);
    } else if (c.layout == "transposed_values") {
        map = with_element<kvloom::transposed_values>(c);
    } else {
        map = with_element<kvloom::token_rows>(c);
    }
    if (map.offset != nullptr) {
        map.formula = formula_of(c.layout, map.vector(), c.page_size, c.head_size);
    }
    return map;
}

} // namespace layout_map
