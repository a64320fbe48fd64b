// SPDX-License-Identifier: MIT
// Span layouts: where the element (slot, dim) of one head of one page lies.
#pragma once

#include "kvloom/core/config.hpp"
#include "kvloom/core/types.hpp"

namespace kvloom {
inline namespace v0 {

/// Which axis the neighbouring elements of a 16-byte vector run along.
enum class axis { slot, dim };

struct span_coord
{
    int slot = 0;
    int dim  = 0;

    KVLOOM_FN friend constexpr bool operator==(span_coord a, span_coord b)
    {
        return a.slot == b.slot && a.dim == b.dim;
    }
};

/// Elements of T to a 16-byte vector, the x of SHUFFLE.
template <class T>
inline constexpr int vector_size = 16 / int(sizeof(T));

/// SHUFFLE keys: [dim / x][slot][dim % x].
template <class T, int Dim, int PageSize = 16>
struct shuffled_keys
{
    static constexpr int x = vector_size<T>;
    static_assert(PageSize > 0 && PageSize % x == 0,
                  "shuffled_keys: the page size must be a multiple of 16 bytes of elements");
    static_assert(Dim > 0 && Dim % x == 0, "shuffled_keys: the head size must fill whole 16-byte vectors");

    using element                         = T;
    static constexpr int dim              = Dim;
    static constexpr int page_size        = PageSize;
    static constexpr int elements         = Dim * PageSize;
    static constexpr bool contiguous_span = true;      ///< a span is `elements` elements without a gap
    static constexpr axis vector_axis     = axis::dim; ///< neighbours in memory differ in this coordinate
    static constexpr int vector           = x;         ///< and run on for this many elements

    KVLOOM_FN static constexpr int offset(int slot, int dim)
    {
        return (dim / x * PageSize + slot) * x + dim % x;
    }

    KVLOOM_FN static constexpr span_coord coord(int at)
    {
        return {at / x % PageSize, at / (x * PageSize) * x + at % x};
    }
};

/// SHUFFLE values: [slot / x][dim][slot % x].
template <class T, int Dim, int PageSize = 16>
struct shuffled_values
{
    static constexpr int x = vector_size<T>;
    static_assert(PageSize > 0 && PageSize % x == 0,
                  "shuffled_values: the page size must be a multiple of 16 bytes of elements");
    static_assert(Dim > 0, "shuffled_values: the head size must be positive");

    using element                         = T;
    static constexpr int dim              = Dim;
    static constexpr int page_size        = PageSize;
    static constexpr int elements         = Dim * PageSize;
    static constexpr bool contiguous_span = true;
    static constexpr axis vector_axis     = axis::slot;
    static constexpr int vector           = x;

    KVLOOM_FN static constexpr int offset(int slot, int dim) { return (slot / x * Dim + dim) * x + slot % x; }

    KVLOOM_FN static constexpr span_coord coord(int at)
    {
        return {at / (x * Dim) * x + at % x, at / x % Dim};
    }
};

/// Values with the slots of a dim together: [dim][slot].
template <class T, int Dim, int PageSize = 16>
struct transposed_values
{
    static_assert(PageSize > 0 && PageSize % vector_size<T> == 0,
                  "transposed_values: the page size must be a multiple of 16 bytes of elements");
    static_assert(Dim > 0, "transposed_values: the head size must be positive");

    using element                         = T;
    static constexpr int dim              = Dim;
    static constexpr int page_size        = PageSize;
    static constexpr int elements         = Dim * PageSize;
    static constexpr bool contiguous_span = true;
    static constexpr axis vector_axis     = axis::slot;
    static constexpr int vector           = PageSize;

    KVLOOM_FN static constexpr int offset(int slot, int dim) { return dim * PageSize + slot; }

    KVLOOM_FN static constexpr span_coord coord(int at) { return {at % PageSize, at / PageSize}; }
};

/// Tokens one after the other, each a row: [slot][dim]. The view may set the rows further apart.
template <class T, int Dim, int PageSize = 16>
struct token_rows
{
    static_assert(PageSize > 0, "token_rows: the page size must be positive");
    static_assert(Dim > 0, "token_rows: the head size must be positive");

    using element                         = T;
    static constexpr int dim              = Dim;
    static constexpr int page_size        = PageSize;
    static constexpr int elements         = Dim * PageSize;
    static constexpr bool contiguous_span = false; ///< unless the view's token stride is `Dim`
    static constexpr axis vector_axis     = axis::dim;
    static constexpr int vector           = Dim;

    KVLOOM_FN static constexpr int offset(int slot, int dim) { return slot * Dim + dim; }

    KVLOOM_FN static constexpr span_coord coord(int at) { return {at / Dim, at % Dim}; }
};

/// Whether these are the keys and values of SHUFFLE pages of `PageSize` tokens.
template <class KeyLayout, class ValueLayout, int PageSize>
inline constexpr bool are_shuffled_v = false;
template <class T, int KeyDim, int ValueDim, int PageSize>
inline constexpr bool
    are_shuffled_v<shuffled_keys<T, KeyDim, PageSize>, shuffled_values<T, ValueDim, PageSize>, PageSize> =
        true;

/// Elements from a dim to the next at one slot.
template <class Layout>
inline constexpr int dim_stride_v = Layout::offset(0, 1) - Layout::offset(0, 0);

/// Whether the tokens of a span lie `token_stride` of the view apart, instead of where the layout alone says.
template <class Layout>
inline constexpr bool strided_tokens_v = false;
template <class T, int Dim, int PageSize>
inline constexpr bool strided_tokens_v<token_rows<T, Dim, PageSize>> = true;

} // namespace v0
} // namespace kvloom
