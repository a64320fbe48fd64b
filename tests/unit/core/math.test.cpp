// SPDX-License-Identifier: MIT
// Arithmetic of core: correct rounding over every mantissa, nothing contracted, integer helpers.
#include "unit/core/math_checks.hpp"

#include <type_traits>

using namespace kvloom_test;

static_assert(std::is_trivially_copyable_v<kvloom::divider> && std::is_aggregate_v<kvloom::divider>);
static_assert(kvloom::quotient(99u, kvloom::make_divider(7)) == 14
              && kvloom::quotient(99, kvloom::divider{}) == 99);
static_assert(kvloom::is_nan(kvloom::bit_cast<float>(0x7f800001u))
              && !kvloom::is_nan(kvloom::bit_cast<float>(0xff800000u)));
static_assert(kvloom::magnitude(-2.0f) == 2.0f);

TEST_CASE("the square root rounds correctly for every mantissa", "[core][math]")
{
    check_square_root(run_on_host{});
}

TEST_CASE("the reciprocal rounds correctly for every mantissa", "[core][math]")
{
    check_reciprocal(run_on_host{});
}

TEST_CASE("division rounds correctly for every mantissa and many divisors", "[core][math]")
{
    check_division(run_on_host{});
}

TEST_CASE("a product and a sum round twice, fma once", "[core][math]")
{
    check_product_sum(run_on_host{});
}

TEST_CASE("halves, bytes and bits are picked as documented", "[core][math]")
{
    check_bits(run_on_host{});
}

TEST_CASE("the larger of two numbers", "[core][math]")
{
    check_larger(run_on_host{});
}

TEST_CASE("dividing by a prepared divisor is exact", "[core][math]")
{
    check_quotient(run_on_host{});
}
