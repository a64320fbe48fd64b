// SPDX-License-Identifier: MIT
// Integer names, traits, bit_cast and site of core, and the rules that status reports.
#include "kvloom/core/status.hpp"
#include "kvloom/core/types.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>

static_assert(std::is_same_v<kvloom::u8, std::uint8_t> && std::is_same_v<kvloom::u16, std::uint16_t>);
static_assert(std::is_same_v<kvloom::u32, std::uint32_t> && std::is_same_v<kvloom::u64, std::uint64_t>);
static_assert(std::is_same_v<kvloom::i32, std::int32_t> && std::is_same_v<kvloom::i64, std::int64_t>);
static_assert(std::is_same_v<kvloom::usize, std::size_t>);

static_assert(
    kvloom::is_same_v<int, int> && !kvloom::is_same_v<int, int const> && !kvloom::is_same_v<int, long>);
static_assert(std::is_same_v<kvloom::conditional_t<true, int, float>, int>);
static_assert(std::is_same_v<kvloom::conditional_t<false, int, float>, float>);
static_assert(std::is_same_v<kvloom::remove_const_t<int const>,
                             int> && std::is_same_v<kvloom::remove_const_t<int>, int>);
static_assert(std::is_same_v<kvloom::remove_const_t<int const*>, int const*>);

static_assert(
    kvloom::is_index_v<std::int32_t> && kvloom::is_index_v<std::int64_t> && kvloom::is_index_v<long const>);
static_assert(kvloom::is_index_v<long long>);
static_assert(
    !kvloom::is_index_v<std::uint32_t> && !kvloom::is_index_v<std::uint64_t> && !kvloom::is_index_v<float>);
static_assert(!kvloom::is_index_v<short> && !kvloom::is_index_v<char> && !kvloom::is_index_v<bool>);

static_assert(kvloom::bit_cast<kvloom::u32>(1.0f) == 0x3f800000u
              && kvloom::bit_cast<float>(0x40000000u) == 2.0f);

// Every condition is defined, as 0 or 1.
static_assert((KVLOOM_CUDA == 0 || KVLOOM_CUDA == 1) && (KVLOOM_HIP == 0 || KVLOOM_HIP == 1));
static_assert((KVLOOM_ON_CUDA == 0 || KVLOOM_ON_CUDA == 1) && (KVLOOM_ON_AMD == 0 || KVLOOM_ON_AMD == 1));
static_assert((KVLOOM_NATIVE_FP8 == 0 || KVLOOM_NATIVE_FP8 == 1)
              && (KVLOOM_NATIVE_BF16 == 0 || KVLOOM_NATIVE_BF16 == 1));
static_assert(KVLOOM_RTC == 0 && KVLOOM_FAST_MATH == 0 && KVLOOM_CUDA + KVLOOM_HIP <= 1);

static_assert(std::is_trivially_copyable_v<kvloom::site>);
static_assert(std::is_trivially_copyable_v<kvloom::status>);
static_assert(kvloom::status{}.ok() && !kvloom::status{kvloom::fault::too_small, "tokens", -1, 0}.ok());

namespace {

kvloom::site inner(kvloom::site where = kvloom::site::here())
{
    return where;
}

} // namespace

TEST_CASE("a site is the place of the call", "[core][types]")
{
    int const line         = __LINE__ + 1;
    kvloom::site const one = inner();
    kvloom::site const two = inner();
    CHECK(one.line == line);
    CHECK(two.line == line + 1);
    CHECK(std::string(one.file).find("types.test.cpp") != std::string::npos);
    CHECK(inner(one).line == line);
}

TEST_CASE("every fault has a rule of its own", "[core][status]")
{
    std::set<std::string> rules;
    int count = 0;
    for (; count <= static_cast<int>(kvloom::fault::unsupported); ++count) {
        std::string const rule = kvloom::rule_of(static_cast<kvloom::fault>(count));
        CAPTURE(count, rule);
        CHECK(!rule.empty());
        CHECK(rules.insert(rule).second);
    }
    CHECK(rules.count(kvloom::rule_of(static_cast<kvloom::fault>(count))) == 0);
    CHECK(std::string(kvloom::rule_of(kvloom::fault::null_pointer)) == "must not be null");
    CHECK(std::string(kvloom::rule_of(kvloom::fault::misaligned)) == "must be a multiple of");
}
