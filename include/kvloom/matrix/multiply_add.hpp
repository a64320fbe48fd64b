// SPDX-License-Identifier: MIT
// The product of a matrix unit: one instruction on a GPU, on the host one body driven by the unit's maps; or vector
// instructions that do the same.
#pragma once

#include "kvloom/matrix/unit.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// x, or zero where it is subnormal in T.
template <class T>
KVLOOM_FN double flushed(double x)
{
    double const least = is_same_v<T, fp16> ? 0x1p-14 : 0x1p-126;
    return x > -least && x < least ? 0.0 : x;
}

/// Element e of a lane's operand of T.
template <class T, bool Flushes, int Words>
KVLOOM_FN double operand_element(vec<u32, Words> const& words, int e)
{
    u32 const word = words[e / word_size<T>] >> (e % word_size<T> * 8 * int(sizeof(T)));
    double const x = decode(T{static_cast<decltype(T::bits)>(word)});
    return Flushes ? flushed<T>(x) : x;
}

/// What a lane hands to the model of a product.
template <class Unit>
struct lane_operands
{
    a_operand<Unit> a;
    b_operand<Unit> b;
    accumulator<Unit> c;
};

/// The product for all lanes of a wave: the sum over k in double, rounded once. `Flushes`: subnormal numbers count as
/// zeros, as on gfx90a.
template <class Unit, bool Flushes>
KVLOOM_FN void multiply_by_maps(lane_operands<Unit>* const* lanes)
{
    using element = typename Unit::element;
    double a[Unit::m][Unit::k];
    double b[Unit::k][Unit::n];
    for (int lane = 0; lane < Unit::lanes; ++lane) {
        for (int e = 0; e < Unit::a_words * word_size<element>; ++e) {
            auto const at        = Unit::a(lane, e);
            a[at.row][at.column] = operand_element<element, Flushes>(lanes[lane]->a, e);
        }
        for (int e = 0; e < Unit::b_words * word_size<element>; ++e) {
            auto const at        = Unit::b(lane, e);
            b[at.row][at.column] = operand_element<element, Flushes>(lanes[lane]->b, e);
        }
    }
    for (int lane = 0; lane < Unit::lanes; ++lane) {
        for (int e = 0; e < Unit::c_numbers; ++e) {
            auto const at = Unit::c(lane, e);
            double sum    = double(lanes[lane]->c[e]);
            for (int i = 0; i < Unit::k; ++i) {
                sum += a[at.row][i] * b[i][at.column];
            }
            lanes[lane]->c[e] = float(Flushes ? flushed<float>(sum) : sum);
        }
    }
}

template <class Unit>
inline constexpr bool is_dot_v = false;
template <class T>
inline constexpr bool is_dot_v<dot_16x8<T>> = true;

/// Two products of neighbours, added to a sum.
template <class T>
KVLOOM_FN float add_products(u32 a, u32 b, float sum)
{
    auto const x = widen_pair<T>(a);
    auto const y = widen_pair<T>(b);
    return fma(x.high, y.high, fma(x.low, y.low, sum));
}

/// What lane ^ Mask and the columns' lanes hold of a quarter of the depth. Four lanes share the rows of A, so its words
/// come by steps within four lanes; those of B from anywhere.
template <class Unit, int Mask, class Wave>
KVLOOM_FN accumulator<Unit> add_quarter(Wave wave, a_operand<Unit> const& a, b_operand<Unit> const& b,
                                        accumulator<Unit> c, site at)
{
    using element   = typename Unit::element;
    int const group = wave.lane() % 4;
    KVLOOM_UNROLL
    for (int half = 0; half < 2; ++half) {
        u32 rows[2];
        KVLOOM_UNROLL
        for (int r = 0; r < 2; ++r) {
            u32 const own = a[2 * half + r];
            if constexpr (Mask == 0) {
                rows[r] = own;
            } else {
                rows[r] = wave.template exchange<Mask>(own, at);
            }
        }
        KVLOOM_UNROLL
        for (int i = 0; i < 2; ++i) {
            u32 const column = wave.shuffle(b[half], 4 * (2 * group + i) + (group ^ Mask), at);
            c[i]             = add_products<element>(rows[0], column, c[i]);
            c[2 + i]         = add_products<element>(rows[1], column, c[2 + i]);
        }
    }
    return c;
}

/// The product of a dot unit. @cost 12 steps within four lanes, 16 shuffles, 128 multiplications
template <class Unit, class Wave>
KVLOOM_FN accumulator<Unit> product_by_dots(Wave wave, a_operand<Unit> const& a, b_operand<Unit> const& b,
                                            accumulator<Unit> c, site at)
{
    c = add_quarter<Unit, 0>(wave, a, b, c, at);
    c = add_quarter<Unit, 1>(wave, a, b, c, at);
    c = add_quarter<Unit, 2>(wave, a, b, c, at);
    return add_quarter<Unit, 3>(wave, a, b, c, at);
}

#if KVLOOM_ON_AMD

typedef short short4_t __attribute__((ext_vector_type(4)));
typedef _Float16 half4_t __attribute__((ext_vector_type(4)));
#if defined(__gfx950__)
typedef __bf16 bfloat8_t __attribute__((ext_vector_type(8)));
typedef _Float16 half8_t __attribute__((ext_vector_type(8)));
#endif

/// Whether this processor has a unit: bf16 and fp16 in 16x16x16 on CDNA2 and later, fp8 of its own format in 16x16x32
/// from CDNA3 on, bf16 and fp16 in 16x16x32 from CDNA4 on.
template <class Unit>
inline constexpr bool has_unit = false;
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
template <>
inline constexpr bool has_unit<mfma_16x16x16<bf16>> = true;
template <>
inline constexpr bool has_unit<mfma_16x16x16<fp16>> = true;
#endif
#if defined(__gfx942__)
template <>
inline constexpr bool has_unit<mfma_16x16x32<fp8_e4m3_fnuz>> = true;
#elif defined(__gfx950__)
template <>
inline constexpr bool has_unit<mfma_16x16x32<fp8_e4m3>> = true;
template <>
inline constexpr bool has_unit<mfma_16x16x32<bf16>> = true;
template <>
inline constexpr bool has_unit<mfma_16x16x32<fp16>> = true;
#endif

template <class Unit>
KVLOOM_DEVICE accumulator<Unit> native_product([[maybe_unused]] a_operand<Unit> a,
                                               [[maybe_unused]] b_operand<Unit> b, accumulator<Unit> sum)
{
    static_assert(has_unit<Unit>, "multiply_add: no such unit on this processor");
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
    if constexpr (is_same_v<Unit, mfma_16x16x16<bf16>>) {
        return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(bit_cast<short4_t>(a), bit_cast<short4_t>(b), sum, 0,
                                                         0, 0);
    } else if constexpr (is_same_v<Unit, mfma_16x16x16<fp16>>) {
        return __builtin_amdgcn_mfma_f32_16x16x16f16(bit_cast<half4_t>(a), bit_cast<half4_t>(b), sum, 0, 0,
                                                     0);
    }
#endif
#if defined(__gfx942__) || defined(__gfx950__)
    else if constexpr (sizeof(typename Unit::element) == 1) {
        return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(bit_cast<long>(a), bit_cast<long>(b), sum, 0, 0, 0);
    }
#endif
#if defined(__gfx950__)
    else if constexpr (is_same_v<Unit, mfma_16x16x32<bf16>>) {
        return __builtin_amdgcn_mfma_f32_16x16x32_bf16(bit_cast<bfloat8_t>(a), bit_cast<bfloat8_t>(b), sum, 0,
                                                       0, 0);
    } else if constexpr (is_same_v<Unit, mfma_16x16x32<fp16>>) {
        return __builtin_amdgcn_mfma_f32_16x16x32_f16(bit_cast<half8_t>(a), bit_cast<half8_t>(b), sum, 0, 0,
                                                      0);
    }
#endif
    return sum;
}

#elif KVLOOM_ON_CUDA

/// Whether this architecture has a unit: fp8 from compute capability 8.9 on.
template <class Unit>
inline constexpr bool has_unit = false;
template <>
inline constexpr bool has_unit<mma_16x8<bf16>> = true;
template <>
inline constexpr bool has_unit<mma_16x8<fp16>> = true;
#if __CUDA_ARCH__ >= 890
template <>
inline constexpr bool has_unit<mma_16x8<fp8_e4m3>> = true;
#endif

template <class Unit>
KVLOOM_DEVICE accumulator<Unit> native_product(a_operand<Unit> a, b_operand<Unit> b, accumulator<Unit> c)
{
    static_assert(has_unit<Unit>, "multiply_add: no such unit on this processor");
    if constexpr (is_same_v<Unit, mma_16x8<bf16>>) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else if constexpr (is_same_v<Unit, mma_16x8<fp16>>) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
        asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    return c;
}

#endif

} // namespace detail

/// A * B + C. Products are exact; the order in which a machine adds them is its own, so results agree within a bound
/// and not bit for bit. Subnormal operands may count as zero (gfx90a).
///
/// Collective: every lane of the wave calls, in uniform control flow. @cost one instruction, but for dot units
template <class Unit, class Wave>
KVLOOM_FN accumulator<Unit> multiply_add(Wave wave, a_operand<Unit> a, b_operand<Unit> b, accumulator<Unit> c,
                                         site at = site::here())
{
    static_assert(Unit::lanes == Wave::size, "multiply_add: the unit is not one of this machine");
    if constexpr (detail::is_dot_v<Unit>) {
        return detail::product_by_dots<Unit>(wave, a, b, c, at);
    } else if constexpr (Wave::is_model) {
        detail::lane_operands<Unit> mine{a, b, c};
        wave.together(&mine, &detail::multiply_by_maps<Unit, Wave::flushes_products>, at);
        return mine.c;
    } else {
#if KVLOOM_ON_AMD || KVLOOM_ON_CUDA
        (void)wave;
        (void)at;
        return detail::native_product<Unit>(a, b, c);
#else
        (void)wave;
        (void)at;
        (void)a;
        (void)b;
        return c;
#endif
    }
}

} // namespace v0
} // namespace kvloom
