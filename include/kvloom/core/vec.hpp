// SPDX-License-Identifier: MIT
// A few neighbouring elements held by one lane, and their conversions.
#pragma once

#include "kvloom/core/convert.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// The largest power of two that divides a size, but no more than a 16-byte access needs.
KVLOOM_FN constexpr usize vector_alignment(usize bytes)
{
    usize const power = bytes & (~bytes + 1);
    return power < 16 ? power : 16;
}

template <class T, int N, bool FillsWords>
struct vec_elements
{
    T e[N];
};

/// Nothing uses `words`. It is there for clang and nvcc, which keep a union in registers as its member of the
/// largest alignment: without it, every element becomes a variable of its own where a value lives through a
/// loop.
template <class T, int N>
struct vec_elements<T, N, true>
{
    union
    {
        T e[N];
        u32 words[sizeof(T) * N / 4];
    };
};

} // namespace detail

/// N elements, aligned to their size up to 16 bytes.
///
/// An aggregate: `vec<float, 2>{{1.0f, 2.0f}}`. Elements of less than 4 bytes are better assigned one by one,
/// since clang warns of missing braces there.
template <class T, int N>
struct alignas(detail::vector_alignment(sizeof(T) * N)) vec
    : detail::vec_elements<T, N, (sizeof(T) < 4 && !__is_empty(T) && sizeof(T) * N % 4 == 0)>
{
    static_assert(N > 0, "vec: N must be positive");

    KVLOOM_FN constexpr T& operator[](int i) { return this->e[i]; }

    KVLOOM_FN constexpr T const& operator[](int i) const { return this->e[i]; }
};

/// Moves each of the `Count` elements of an array to the place below; the first is lost. For loops over what must lie in
/// registers, which no index that changes can name: they use element 0 and move on. @cost a move a word
template <int Count, class Array>
KVLOOM_FN void move_down(Array& array)
{
    KVLOOM_UNROLL
    for (int i = 0; i + 1 < Count; ++i) {
        array[i] = array[i + 1];
    }
}

namespace detail {

/// The values in one 32-bit word: 2 of a 16-bit type, 4 of fp8.
template <class T>
KVLOOM_FN vec<float, 4 / numeric<T>::bytes> widen_word(u32 word)
{
    if constexpr (numeric<T>::bytes == 2) {
        float_pair const x = widen_pair<T>(word);
        return {{x.low, x.high}};
    } else {
        float_pair const x = widen_fp8s<T, false>(word);
        float_pair const y = widen_fp8s<T, true>(word);
        return {{x.low, x.high, y.low, y.high}};
    }
}

template <class T, class Overflow, values Of = values::any>
KVLOOM_FN u32 narrow_to_word(float const* x)
{
    if constexpr (is_same_v<T, bf16>) {
        return narrow_to_bf16s<Of>(x[0], x[1]);
    } else if constexpr (is_same_v<T, fp16>) {
        return narrow_to_halves(x[0], x[1]);
    } else {
        return narrow_to_fp8s<T, Overflow, Of>(x[0], x[1], x[2], x[3]);
    }
}

/// Whether the conversion to T asks each value whether it is NaN, and that is much of its work; or whether its answer
/// spares a longer form of the values (`Shortened`). The host, where it is not, does as the machines do for which it
/// stands.
template <class T, class Overflow, bool Shortened = false>
inline constexpr bool asks_each =
    !KVLOOM_ON_CUDA
    && (is_same_v<T, bf16>
            ? KVLOOM_ON_AMD && !KVLOOM_NATIVE_BF16
            : numeric<T>::bytes == 1
                  && is_same_v<Overflow, saturate> && (native_fp8<T> || !KVLOOM_ON_AMD || Shortened));

/// x after `change` of each of its words of 4 bytes.
template <class T, class Change>
KVLOOM_FN T with_each_word(T const& x, Change const& change)
{
    auto words = bit_cast<vec<u32, int(sizeof(T) / 4)>>(x);
    KVLOOM_UNROLL
    for (int w = 0; w < int(sizeof(T) / 4); ++w) {
        words[w] = change(words[w]);
    }
    return bit_cast<T>(words);
}

/// The same words, which the compiler does not know to be the same: what was made of them is made anew.
template <int N>
KVLOOM_FN vec<u32, N> anew(vec<u32, N> words)
{
#if KVLOOM_ON_AMD
    KVLOOM_UNROLL
    for (int i = 0; i < N; ++i) {
        asm volatile("" : "+v"(words[i]));
    }
#endif
    return words;
}

/// The values of two rows in turn, a0 b0 a1 b1 ..., kept apart until they are narrowed: who works on pairs of neighbours
/// has them in neighbouring registers.
template <int N>
struct interleaved
{
    vec<float, N> a;
    vec<float, N> b;
};

/// `so_far` plus products with zero: NaN from the first NaN or infinity on.
template <int N>
KVLOOM_FN float_pair add_zeros_times(float_pair so_far, vec<float, N> const& x)
{
    KVLOOM_UNROLL
    for (int i = 0; i < N; i += 2) {
        so_far = fma(float_pair{x[i], x[i + 1]}, float_pair{0.0f, 0.0f}, so_far);
    }
    return so_far;
}

/// True if any value is NaN; where that is cheaper, infinities too may make it true.
template <int N>
KVLOOM_FN bool may_hold_nan(vec<float, N> const& x)
{
#if KVLOOM_ON_AMD
    float_pair const sum = add_zeros_times({0.0f, 0.0f}, x);
    return __builtin_isunordered(sum.low, sum.high);
#else
    bool found = false;
    for (int i = 0; i < N; ++i) {
        found = found || is_nan(x[i]);
    }
    return found;
#endif
}

template <int N>
KVLOOM_FN bool may_hold_nan(interleaved<N> const& x)
{
#if KVLOOM_ON_AMD
    float_pair const sum = add_zeros_times(add_zeros_times({0.0f, 0.0f}, x.a), x.b);
    return __builtin_isunordered(sum.low, sum.high);
#else
    return may_hold_nan(x.a) || may_hold_nan(x.b);
#endif
}

template <class T, class Overflow, values Of, int N>
KVLOOM_FN vec<u32, N * numeric<T>::bytes / 4> narrow_words(vec<float, N> const& x)
{
    constexpr int each = 4 / numeric<T>::bytes;
    vec<u32, N / each> words;
    KVLOOM_UNROLL
    for (int w = 0; w < N / each; ++w) {
        words[w] = narrow_to_word<T, Overflow, Of>(x.e + w * each);
    }
    return words;
}

/// T is an fp8 type.
template <class T, class Overflow, values Of, int N>
KVLOOM_FN vec<u32, N / 2> narrow_words(interleaved<N> const& x)
{
    vec<u32, N / 2> words;
    KVLOOM_UNROLL
    for (int w = 0; w < N / 2; ++w) {
        words[w] = narrow_to_fp8s<T, Overflow, Of>(x.a[2 * w], x.b[2 * w], x.a[2 * w + 1], x.b[2 * w + 1]);
    }
    return words;
}

/// The values that `whole` gives, rounded to T, in whole words. Where each would be asked for NaN, those of `quick`
/// (which are `Quick`) are, all at once, and only if there may be any `whole` gives the values that are asked one by
/// one: `quick` may give NaN in place of a number, and if it is `Shortened` in fewer operations.
template <class T, class Overflow, values Quick, bool Shortened, class OfQuick, class OfWhole>
KVLOOM_FN auto narrow_words_of(OfQuick const& quick, OfWhole const& whole)
{
    if constexpr (asks_each<T, Overflow, Shortened>) {
        auto const x    = quick();
        bool const rare = may_hold_nan(x); // asked first: a conversion then may write over its operand
        auto words      = narrow_words<T, Overflow, Quick>(x);
        if (__builtin_expect(rare, false)) {
            words = narrow_words<T, Overflow, values::any>(whole());
        }
        return words;
    } else {
        return narrow_words<T, Overflow, values::any>(whole());
    }
}

/// Not a lambda, here and where quantisers are: compilers do not inline those where they are seldom called.
template <int N>
struct as_given
{
    vec<float, N> const& x;

    KVLOOM_FN vec<float, N> operator()() const { return x; }
};

/// N values rounded to T, in whole words.
template <class T, class Overflow, int N>
KVLOOM_FN vec<u32, N * numeric<T>::bytes / 4> narrow_words(vec<float, N> const& x)
{
    return narrow_words_of<T, Overflow, values::numbers, false>(as_given<N>{x}, as_given<N>{x});
}

} // namespace detail

/// The values of all elements. Whole words stay in registers as they are.
template <class T, int N>
KVLOOM_FN vec<float, N> widen(vec<T, N> x)
{
    vec<float, N> wide;
    if constexpr (is_same_v<T, float>) {
        wide = x;
    } else if constexpr (N * numeric<T>::bytes % 4 == 0) {
        constexpr int words = N * numeric<T>::bytes / 4;
        constexpr int each  = 4 / numeric<T>::bytes;

        auto const packed = bit_cast<vec<u32, words>>(x);
        KVLOOM_UNROLL
        for (int w = 0; w < words; ++w) {
            auto const part = detail::widen_word<T>(packed[w]);
            KVLOOM_UNROLL
            for (int i = 0; i < each; ++i) {
                wide[w * each + i] = part[i];
            }
        }
    } else {
        KVLOOM_UNROLL
        for (int i = 0; i < N; ++i) {
            wide[i] = widen(x[i]);
        }
    }
    return wide;
}

/// All elements narrowed to T. Whole words are built in registers.
template <class T, class Overflow = saturate, int N>
KVLOOM_FN vec<T, N> narrow(vec<float, N> x)
{
    if constexpr (is_same_v<T, float>) {
        return x;
    } else if constexpr (N * numeric<T>::bytes % 4 == 0) {
        return bit_cast<vec<T, N>>(detail::narrow_words<T, Overflow>(x));
    } else {
        vec<T, N> result;
        KVLOOM_UNROLL
        for (int i = 0; i < N; ++i) {
            result[i] = narrow<T, Overflow>(x[i]);
        }
        return result;
    }
}

} // namespace v0
} // namespace kvloom
