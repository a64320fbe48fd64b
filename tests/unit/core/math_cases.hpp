// SPDX-License-Identifier: MIT
// Arithmetic of core/math.hpp as functors from words to words; see convert_cases.hpp.
#pragma once

#include "kvloom/core/math.hpp"

namespace kvloom_test {

using kvloom::u32;

struct square_root_case
{
    static constexpr int inputs  = 1;
    static constexpr int outputs = 1;

    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        out[0] = kvloom::bit_cast<u32>(kvloom::square_root(kvloom::bit_cast<float>(in[0])));
    }
};

struct reciprocal_case
{
    static constexpr int inputs  = 1;
    static constexpr int outputs = 1;

    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        out[0] = kvloom::bit_cast<u32>(kvloom::reciprocal(kvloom::bit_cast<float>(in[0])));
    }
};

struct divide_case
{
    static constexpr int inputs  = 2;
    static constexpr int outputs = 1;

    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        out[0] = kvloom::bit_cast<u32>(
            kvloom::divide(kvloom::bit_cast<float>(in[0]), kvloom::bit_cast<float>(in[1])));
    }
};

/// a * b + c in two roundings and in one.
struct product_sum_case
{
    static constexpr int inputs  = 3;
    static constexpr int outputs = 2;

    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        float const a = kvloom::bit_cast<float>(in[0]);
        float const b = kvloom::bit_cast<float>(in[1]);
        float const c = kvloom::bit_cast<float>(in[2]);
        out[0]        = kvloom::bit_cast<u32>(kvloom::add(kvloom::multiply(a, b), c));
        out[1]        = kvloom::bit_cast<u32>(kvloom::fma(a, b, c));
    }
};

/// Two words: low halves, high halves, some bytes; of the first: NaN test, magnitude, lowest set bit.
struct bits_case
{
    static constexpr int inputs  = 2;
    static constexpr int outputs = 6;

    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        out[0] = kvloom::interleave_low(in[0], in[1]);
        out[1] = kvloom::interleave_high(in[0], in[1]);
        out[2] = kvloom::permute_bytes<0x4163>(in[0], in[1]);
        out[3] = kvloom::is_nan(kvloom::bit_cast<float>(in[0])) ? 1u : 0u;
        out[4] = kvloom::bit_cast<u32>(kvloom::magnitude(kvloom::bit_cast<float>(in[0])));
        out[5] = in[0] == 0 ? 0u : static_cast<u32>(kvloom::count_trailing_zeros(in[0]));
    }
};

struct larger_case
{
    static constexpr int inputs  = 2;
    static constexpr int outputs = 1;

    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        out[0] = kvloom::bit_cast<u32>(
            kvloom::larger(kvloom::bit_cast<float>(in[0]), kvloom::bit_cast<float>(in[1])));
    }
};

/// n, then a prepared divider.
struct quotient_case
{
    static constexpr int inputs  = 4;
    static constexpr int outputs = 1;

    KVLOOM_FN void operator()(u32 const* in, u32* out) const
    {
        out[0] = kvloom::quotient(in[0], kvloom::divider{in[1], in[2], in[3]});
    }
};

} // namespace kvloom_test
