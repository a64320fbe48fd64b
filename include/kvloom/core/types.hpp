// SPDX-License-Identifier: MIT
// Integer and trait names of our own, since device headers include no standard header.
#pragma once

#include "kvloom/core/config.hpp"

namespace kvloom {
inline namespace v0 {

#if defined(__INT64_TYPE__) && defined(__UINT64_TYPE__) && defined(__SIZE_TYPE__)
using u64   = __UINT64_TYPE__;
using i64   = __INT64_TYPE__;
using usize = __SIZE_TYPE__;
#else
using u64   = unsigned long long;
using i64   = long long;
using usize = decltype(sizeof(0));
#endif
using u8  = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using i32 = int;

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "kvloom: unexpected integer sizes");

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;

namespace detail {

template <bool Condition, class A, class B>
struct conditional
{
    using type = A;
};

template <class A, class B>
struct conditional<false, A, B>
{
    using type = B;
};

template <class A>
struct remove_const
{
    using type = A;
};

template <class A>
struct remove_const<A const>
{
    using type = A;
};

} // namespace detail

/// A if Condition, else B.
template <bool Condition, class A, class B>
using conditional_t = typename detail::conditional<Condition, A, B>::type;

template <class A>
using remove_const_t = typename detail::remove_const<A>::type;

/// True for the types that slots, positions and page ids may have: signed integers of 4 or 8 bytes.
template <class A>
inline constexpr bool is_index_v = is_same_v<A, int> || is_same_v<A, long> || is_same_v<A, long long>;
template <class A>
inline constexpr bool is_index_v<A const> = is_index_v<A>;

/// The object of type To that has the bytes of `from`; both have the same size and are trivially copyable.
///
/// The argument is a reference on purpose: an element of a vector register is copied first. Given such an
/// element itself, clang's builtin reads element 0.
template <class To, class From>
KVLOOM_FN constexpr To bit_cast(From const& from)
{
    static_assert(sizeof(To) == sizeof(From), "bit_cast: both types must have the same size");
    return __builtin_bit_cast(To, from);
}

/// A place in the source: the last argument of every collective, for messages of the host backend.
struct site
{
    char const* file = "";
    int line         = 0;

    /// The place of the call in which `site::here()` stands as (or inside) a default argument.
#if KVLOOM_RTC
    KVLOOM_FN static constexpr site here(char const* file = "", int line = 0)
#else
    KVLOOM_FN static constexpr site here(char const* file = __builtin_FILE(), int line = __builtin_LINE())
#endif
    {
        return {file, line};
    }
};

} // namespace v0
} // namespace kvloom
