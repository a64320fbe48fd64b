// SPDX-License-Identifier: MIT
// Conversions as functors from words to words: the same checks run them on the host and in a kernel.
//
// A case takes `inputs` words and gives `outputs` words a call. A runner makes call i with in + i * inputs
// and out + i * outputs; see run_on_host in convert_checks.hpp.
#pragma once

#include "kvloom/core/convert.hpp"
#include "kvloom/core/vec.hpp"

namespace kvloom_test {

using kvloom::u32;

/// Words that eight values of T fill.
template <class T>
inline constexpr int packed_words = 2 * kvloom::numeric<T>::bytes;

/// Code i of eight packed ones.
template <class T>
KVLOOM_FN T unpack_code(u32 const* words, int i)
{
    constexpr int each = 4 / kvloom::numeric<T>::bytes;
    constexpr int bits = 8 * kvloom::numeric<T>::bytes;
    return {static_cast<decltype(T::bits)>(words[i / each] >> (i % each * bits))};
}

template <class T>
KVLOOM_FN void pack_code(u32* words, int i, T code)
{
    constexpr int each = 4 / kvloom::numeric<T>::bytes;
    constexpr int bits = 8 * kvloom::numeric<T>::bytes;
    u32 const part     = static_cast<u32>(code.bits) << (i % each * bits);
    words[i / each]    = i % each == 0 ? part : words[i / each] | part;
}

/// Eight floats to eight packed codes.
template <class T, class Overflow>
struct narrowing_case
{
    using type                   = T;
    using overflow               = Overflow;
    static constexpr int inputs  = 8;
    static constexpr int outputs = packed_words<T>;
};

template <class T, class Overflow>
struct narrow_vector : narrowing_case<T, Overflow>
{
    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        kvloom::vec<float, 8> x;
        KVLOOM_UNROLL
        for (int i = 0; i < 8; ++i) {
            x[i] = kvloom::bit_cast<float>(in[i]);
        }
        auto const words =
            kvloom::bit_cast<kvloom::vec<u32, packed_words<T>>>(kvloom::narrow<T, Overflow>(x));
        KVLOOM_UNROLL
        for (int i = 0; i < packed_words<T>; ++i) {
            out[i] = words[i];
        }
    }
};

template <class T, class Overflow>
struct narrow_pairs : narrowing_case<T, Overflow>
{
    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        KVLOOM_UNROLL
        for (int i = 0; i < 8; i += 2) {
            u32 const pair = kvloom::narrow_pair<T, Overflow>(kvloom::bit_cast<float>(in[i]),
                                                              kvloom::bit_cast<float>(in[i + 1]));
            pack_code(out, i, unpack_code<T>(&pair, 0));
            pack_code(out, i + 1, unpack_code<T>(&pair, 1));
        }
    }
};

template <class T, class Overflow>
struct narrow_singles : narrowing_case<T, Overflow>
{
    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        KVLOOM_UNROLL
        for (int i = 0; i < 8; ++i) {
            pack_code(out, i, kvloom::narrow<T, Overflow>(kvloom::bit_cast<float>(in[i])));
        }
    }
};

template <class T, class Overflow>
struct encode_singles : narrowing_case<T, Overflow>
{
    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        KVLOOM_UNROLL
        for (int i = 0; i < 8; ++i) {
            pack_code(out, i, kvloom::encode<T, Overflow>(kvloom::bit_cast<float>(in[i])));
        }
    }
};

/// Eight packed codes to eight floats.
template <class T>
struct widening_case
{
    using type                   = T;
    static constexpr int inputs  = packed_words<T>;
    static constexpr int outputs = 8;
};

template <class T>
struct widen_vector : widening_case<T>
{
    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        kvloom::vec<u32, packed_words<T>> words;
        KVLOOM_UNROLL
        for (int i = 0; i < packed_words<T>; ++i) {
            words[i] = in[i];
        }
        auto const x = kvloom::widen(kvloom::bit_cast<kvloom::vec<T, 8>>(words));
        KVLOOM_UNROLL
        for (int i = 0; i < 8; ++i) {
            out[i] = kvloom::bit_cast<u32>(x[i]);
        }
    }
};

template <class T>
struct widen_pairs : widening_case<T>
{
    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        KVLOOM_UNROLL
        for (int i = 0; i < 8; i += 2) {
            u32 pair = 0;
            pack_code(&pair, 0, unpack_code<T>(in, i));
            pack_code(&pair, 1, unpack_code<T>(in, i + 1));
            auto const x = kvloom::widen_pair<T>(static_cast<kvloom::packed_pair_t<T>>(pair));
            out[i]       = kvloom::bit_cast<u32>(x.low);
            out[i + 1]   = kvloom::bit_cast<u32>(x.high);
        }
    }
};

template <class T>
struct widen_singles : widening_case<T>
{
    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        KVLOOM_UNROLL
        for (int i = 0; i < 8; ++i) {
            out[i] = kvloom::bit_cast<u32>(kvloom::widen(unpack_code<T>(in, i)));
        }
    }
};

template <class T>
struct decode_singles : widening_case<T>
{
    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        KVLOOM_UNROLL
        for (int i = 0; i < 8; ++i) {
            out[i] = kvloom::bit_cast<u32>(kvloom::decode(unpack_code<T>(in, i)));
        }
    }
};

/// The largest magnitude of two pairs of T, by their keys.
template <class T>
struct largest_by_keys
{
    using type                   = T;
    static constexpr int inputs  = 2;
    static constexpr int outputs = 1;

    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        using namespace kvloom::detail;
        u32 const keys = larger_keys(magnitude_keys<T>(in[0]), magnitude_keys<T>(in[1]));
        out[0]         = kvloom::bit_cast<u32>(larger_of_keys<T>(keys));
    }
};

} // namespace kvloom_test
