// SPDX-License-Identifier: MIT
// Number formats of the scalar model: encode and decode at run time, by frexp, nearbyint and ldexp alone.
// Written apart from the library and includes none of its headers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace scalar_model {

enum class dtype { fp32, bf16, fp16, fp8_e4m3, fp8_e4m3_fnuz };

/// Where the fields of a code lie and what its top codes mean.
struct fields
{
    int mantissa_bits;
    int bias;
    unsigned sign_bit;
    unsigned largest; // code of the largest finite number
    unsigned
        infinity; // code of +infinity, 0 where there is none: what rounds beyond `largest` then saturates
    unsigned nan; // a code of NaN
    bool signed_zero;
};

inline fields fields_of(dtype const type)
{
    switch (type) {
    case dtype::bf16:
        return {7, 127, 0x8000u, 0x7F7Fu, 0x7F80u, 0x7FC0u, true};
    case dtype::fp16:
        return {10, 15, 0x8000u, 0x7BFFu, 0x7C00u, 0x7E00u, true};
    case dtype::fp8_e4m3:
        return {3, 7, 0x80u, 0x7Eu, 0u, 0x7Fu, true};
    case dtype::fp8_e4m3_fnuz:
        return {3, 8, 0x80u, 0x7Fu, 0u, 0x80u, false};
    case dtype::fp32:
        break;
    }
    return {23, 127, 0x80000000u, 0x7F7FFFFFu, 0x7F800000u, 0x7FC00000u, true};
}

inline int size_of(dtype const type)
{
    return type == dtype::fp32 ? 4 : type == dtype::bf16 || type == dtype::fp16 ? 2 : 1;
}

inline bool is_fp8(dtype const type)
{
    return size_of(type) == 1;
}

inline bool is_nan_code(dtype const type, unsigned const code)
{
    fields const f           = fields_of(type);
    unsigned const magnitude = code & ~f.sign_bit;
    switch (type) {
    case dtype::fp8_e4m3:
        return magnitude == 0x7Fu;
    case dtype::fp8_e4m3_fnuz:
        return code == 0x80u;
    default:
        return magnitude > f.infinity;
    }
}

/// The number of a code; every one is exact in double.
inline double decode(dtype const type, unsigned const code)
{
    fields const f           = fields_of(type);
    unsigned const magnitude = code & ~f.sign_bit;
    double const sign        = (code & f.sign_bit) != 0 ? -1.0 : 1.0;
    if (is_nan_code(type, code)) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    if (f.infinity != 0 && magnitude == f.infinity) {
        return sign * std::numeric_limits<double>::infinity();
    }
    int const field    = static_cast<int>(magnitude >> f.mantissa_bits);
    unsigned const low = magnitude & ((1u << f.mantissa_bits) - 1u);
    double const whole = static_cast<double>(field == 0 ? low : low | 1u << f.mantissa_bits);
    return sign * std::ldexp(whole, (field == 0 ? 1 : field) - f.bias - f.mantissa_bits);
}

/// What becomes of a number that rounds beyond the largest of a format without infinity.
enum class overflow { saturate, to_nan };

/// The code of a number, to nearest, ties to even. Beyond the largest: infinity where there is one, else as `policy` says.
inline unsigned encode(dtype const type, double const number, overflow const policy = overflow::saturate)
{
    fields const f      = fields_of(type);
    unsigned const sign = std::signbit(number) ? f.sign_bit : 0u;
    if (std::isnan(number)) {
        return f.nan;
    }
    unsigned const top = f.infinity != 0              ? sign | f.infinity
                         : policy == overflow::to_nan ? f.nan
                                                      : sign | f.largest;
    if (std::isinf(number)) {
        return top;
    }
    if (number == 0.0) {
        return f.signed_zero ? sign : 0u;
    }
    int exponent = 0;
    std::frexp(number, &exponent);
    exponent -= 1; // now |number| lies in [2^exponent, 2^(exponent + 1))
    if (exponent > f.bias + 1) {
        return top;
    }
    int const lowest    = 1 - f.bias;
    exponent            = exponent < lowest ? lowest : exponent;
    double const steps  = std::nearbyint(std::ldexp(std::fabs(number), f.mantissa_bits - exponent));
    unsigned const base = static_cast<unsigned>(exponent - lowest) << f.mantissa_bits;
    unsigned const code = base + static_cast<unsigned>(steps); // a carry runs into the exponent by itself
    if (code == 0u) {
        return f.signed_zero ? sign : 0u;
    }
    return code > f.largest ? top : sign | code;
}

/// Reads the code of one element from memory.
inline unsigned read_code(dtype const type, void const* const at)
{
    std::uint32_t wide   = 0;
    std::uint16_t middle = 0;
    std::uint8_t narrow  = 0;
    switch (size_of(type)) {
    case 4:
        std::memcpy(&wide, at, 4);
        return wide;
    case 2:
        std::memcpy(&middle, at, 2);
        return middle;
    default:
        std::memcpy(&narrow, at, 1);
        return narrow;
    }
}

inline void write_code(dtype const type, void* const at, unsigned const code)
{
    auto const wide   = static_cast<std::uint32_t>(code);
    auto const middle = static_cast<std::uint16_t>(code);
    auto const narrow = static_cast<std::uint8_t>(code);
    switch (size_of(type)) {
    case 4:
        std::memcpy(at, &wide, 4);
        break;
    case 2:
        std::memcpy(at, &middle, 2);
        break;
    default:
        std::memcpy(at, &narrow, 1);
        break;
    }
}

/// Element `index` of an array, as fp32 (exact).
inline float read(dtype const type, void const* const base, std::int64_t const index)
{
    auto const* const at = static_cast<unsigned char const*>(base) + index * size_of(type);
    return static_cast<float>(decode(type, read_code(type, at)));
}

inline void write(dtype const type, void* const base, std::int64_t const index, double const number,
                  overflow const policy = overflow::saturate)
{
    write_code(type, static_cast<unsigned char*>(base) + index * size_of(type), encode(type, number, policy));
}

/// The number rounded to the format and widened again.
inline float round_to(dtype const type, float const number)
{
    return static_cast<float>(decode(type, encode(type, number)));
}

} // namespace scalar_model
