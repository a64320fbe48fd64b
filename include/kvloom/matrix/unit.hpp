// SPDX-License-Identifier: MIT
// Matrix units: three maps that say which lane holds what, and one product.
//
// A unit multiplies A (m x k) by B (k x n) and adds C (m x n). `a(lane, e)`, `b(lane, e)` and `c(lane, e)` give the
// element of the matrix that is element e of the lane's operand.
#pragma once

#include "kvloom/core/convert.hpp"
#include "kvloom/core/vec.hpp"
#include "kvloom/group/arch.hpp"

namespace kvloom {
inline namespace v0 {

struct matrix_coord
{
    int row    = 0;
    int column = 0;

    KVLOOM_FN friend constexpr bool operator==(matrix_coord x, matrix_coord y)
    {
        return x.row == y.row && x.column == y.column;
    }
};

/// Elements of T in a 32-bit word.
template <class T>
inline constexpr int word_size = 4 / int(sizeof(T));

/// CDNA's 16x16 products: a wave of 64 lanes, `PerLane` neighbouring k to a lane of A and B.
///
/// PerLane 4: 16x16x16 of bf16 and fp16. PerLane 8: 16x16x32 of fp8 (gfx942 FNUZ, gfx950 OCP), and of bf16 and fp16 on
/// gfx950.
template <class T, int PerLane>
struct mfma_16x16
{
    using element = T;

    static constexpr int m         = 16;
    static constexpr int n         = 16;
    static constexpr int k         = 4 * PerLane;
    static constexpr int lanes     = 64;
    static constexpr int a_words   = PerLane / word_size<T>;
    static constexpr int b_words   = PerLane / word_size<T>;
    static constexpr int c_numbers = 4;

    KVLOOM_FN static constexpr matrix_coord a(int lane, int e)
    {
        return {lane % 16, PerLane * (lane / 16) + e};
    }
    KVLOOM_FN static constexpr matrix_coord b(int lane, int e)
    {
        return {PerLane * (lane / 16) + e, lane % 16};
    }
    KVLOOM_FN static constexpr matrix_coord c(int lane, int e) { return {4 * (lane / 16) + e, lane % 16}; }
};

template <class T>
using mfma_16x16x16 = mfma_16x16<T, 4>;
template <class T>
using mfma_16x16x32 = mfma_16x16<T, 8>;

/// NVIDIA's m16n8 products: a warp of 32 lanes; k is 16 for bf16 and fp16, 32 for fp8.
template <class T>
struct mma_16x8
{
    using element = T;

    static constexpr int m         = 16;
    static constexpr int n         = 8;
    static constexpr int k         = 8 * word_size<T>;
    static constexpr int lanes     = 32;
    static constexpr int a_words   = 4;
    static constexpr int b_words   = 2;
    static constexpr int c_numbers = 4;

    KVLOOM_FN static constexpr matrix_coord a(int lane, int e)
    {
        int const word = e / word_size<T>;
        return {lane / 4 + word % 2 * 8, word_size<T> * (lane % 4 + word / 2 * 4) + e % word_size<T>};
    }
    KVLOOM_FN static constexpr matrix_coord b(int lane, int e)
    {
        return {word_size<T> * (lane % 4 + e / word_size<T> * 4) + e % word_size<T>, lane / 4};
    }
    KVLOOM_FN static constexpr matrix_coord c(int lane, int e)
    {
        return {lane / 4 + e / 2 * 8, lane % 4 * 2 + e % 2};
    }
};

/// The same product by vector instructions, for machines without a matrix unit whose waves have 32 lanes: bf16 and fp16.
template <class T>
struct dot_16x8 : mma_16x8<T>
{
    static_assert(sizeof(T) == 2, "dot_16x8: operands are bf16 or fp16");
};

namespace detail {

/// Four values of a lane that stay together. To HIP's compiler a struct of four is four variables, which it copies at the
/// head of a loop where an instruction wants them side by side; a vector is one.
#if KVLOOM_HIP
template <class T>
struct four_together
{
    typedef T type __attribute__((ext_vector_type(4)));
};
#else
template <class T>
struct four_together
{
    using type = vec<T, 4>;
};
#endif

} // namespace detail

/// A lane's operands.
template <class Unit>
using a_operand = vec<u32, Unit::a_words>;
template <class Unit>
using b_operand = vec<u32, Unit::b_words>;
template <class Unit>
using accumulator = typename detail::four_together<float>::type;

/// 16 bytes of a cache in registers.
using vector_words = detail::four_together<u32>::type;

namespace detail {

/// Whether a machine has NVIDIA's units.
KVLOOM_FN constexpr bool has_mma(arch_id arch)
{
    return arch == arch_id::host_warp32 || arch == arch_id::host_sm_90 || arch == arch_id::sm_80
           || arch == arch_id::sm_90;
}

/// Elements that a lane hands to the deepest of CDNA's products of T.
template <class T>
KVLOOM_FN constexpr int mfma_per_lane(arch_id arch)
{
    return sizeof(T) == 1 || arch == arch_id::gfx950 || arch == arch_id::host_cdna4 ? 8 : 4;
}

/// The unit for operands of T on a machine: the deepest that it has, or vector instructions.
template <arch_id Arch, class T>
using unit_of =
    conditional_t<has_mma(Arch), mma_16x8<T>,
                  conditional_t<is_narrow(Arch), dot_16x8<T>, mfma_16x16<T, mfma_per_lane<T>(Arch)>>>;

} // namespace detail

/// The matrix unit that attention uses on a machine for operands of T.
template <class Wave, class T>
using matrix_unit_t = detail::unit_of<Wave::arch, T>;

} // namespace v0
} // namespace kvloom
