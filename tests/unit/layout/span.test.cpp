// SPDX-License-Identifier: MIT
// Span layouts are bijections with the claims they make; views and page tables find the right place.
#include "kvloom/core/bf16.hpp"
#include "kvloom/core/fp16.hpp"
#include "kvloom/core/fp8.hpp"
#include "kvloom/layout/page_table.hpp"
#include "kvloom/layout/view.hpp"
#include "support/catch.hpp"

#include <tuple>
#include <type_traits>
#include <vector>

using namespace kvloom;

namespace {

using layouts =
    std::tuple<shuffled_keys<bf16, 128>, shuffled_keys<fp16, 64, 8>, shuffled_keys<fp8_e4m3, 128>,
               shuffled_keys<fp8_e4m3_fnuz, 80, 64>, shuffled_keys<bf16, 72, 1024>,
               shuffled_values<bf16, 128>, shuffled_values<fp16, 64, 8>, shuffled_values<fp8_e4m3, 128>,
               shuffled_values<fp8_e4m3, 72, 64>, shuffled_values<bf16, 128, 128>, token_rows<bf16, 128>,
               token_rows<fp8_e4m3, 128, 1>>;

// cases.md B16: addresses a reader can check by hand
static_assert(shuffled_keys<bf16, 128>::offset(3, 9) == 153);
static_assert(shuffled_values<bf16, 128>::offset(9, 3) == 1049);
static_assert(shuffled_values<bf16, 128>::offset(3, 9) == 75);
static_assert(shuffled_keys<fp8_e4m3, 128>::offset(3, 17) == 305);
static_assert(shuffled_values<fp8_e4m3, 128>::offset(9, 3) == 57);

static_assert(std::is_empty_v<shuffled_keys<bf16, 128>>, "a layout is stateless");
static_assert(std::is_trivially_copyable_v<paged_view<shuffled_keys<bf16, 128>>>,
              "a view is a kernel argument");
static_assert(
    std::is_trivially_copyable_v<block_table<int>> && std::is_trivially_copyable_v<head_rows<bf16, 128>>);

} // namespace

TEMPLATE_LIST_TEST_CASE("a span layout is a bijection onto its span", "[layout][law]", layouts)
{
    std::vector<int> visits(TestType::elements, 0);
    for (int slot = 0; slot < TestType::page_size; ++slot) {
        for (int dim = 0; dim < TestType::dim; ++dim) {
            int const at = TestType::offset(slot, dim);
            CAPTURE(slot, dim, at);
            REQUIRE((0 <= at && at < TestType::elements));
            REQUIRE(TestType::coord(at) == span_coord{slot, dim});
            ++visits[std::size_t(at)];
        }
    }
    for (int const count : visits) {
        REQUIRE(count == 1);
    }
}

TEMPLATE_LIST_TEST_CASE("neighbours of a vector differ in the vector's axis alone", "[layout][law]", layouts)
{
    for (int at = 0; at + 1 < TestType::elements; ++at) {
        if ((at + 1) % TestType::vector == 0) {
            continue;
        }
        span_coord const here = TestType::coord(at);
        span_coord const next = TestType::coord(at + 1);
        if (TestType::vector_axis == axis::dim) {
            REQUIRE(next == span_coord{here.slot, here.dim + 1});
        } else {
            REQUIRE(next == span_coord{here.slot + 1, here.dim});
        }
    }
}

TEST_CASE("place: only slots of existing pages have one", "[layout]")
{
    paged_view<shuffled_keys<bf16, 128>> cache;
    cache.pages = 4;
    for (i64 const slot : {i64(-1), i64(-16), i64(64), i64(1) << 40, -(i64(1) << 40)}) {
        CAPTURE(slot);
        REQUIRE_FALSE(place(cache, slot).valid);
    }
    for (int slot = 0; slot < 64; ++slot) {
        auto const narrow = place(cache, i32(slot));
        auto const wide   = place(cache, i64(slot));
        REQUIRE((narrow.valid && wide.valid));
        REQUIRE((narrow.page == slot / 16 && narrow.slot == slot % 16));
        REQUIRE((wide.page == slot / 16 && wide.slot == slot % 16));
    }
}

TEST_CASE("addresses are formed in 64 bits from the first factor on", "[layout]")
{
    // cases.md B05, in elements of one byte, from a base that is never dereferenced
    paged_view<shuffled_keys<fp8_e4m3, 128>> cache;
    cache.data        = nullptr;
    cache.pages       = 64000;
    cache.heads       = 32;
    cache.page_stride = 32 * 128 * 16;
    auto const at     = reinterpret_cast<std::uintptr_t>(cache.address({63999, 0, true}, 0, 0));
    REQUIRE(at == 4194238464U);

    head_rows<fp8_e4m3, 128> rows;
    rows.token_stride = 1 << 20;
    REQUIRE(reinterpret_cast<std::uintptr_t>(rows.row(5000, 3).data) == 5000ULL * (1 << 20) + 3 * 128);
}

TEST_CASE("the page stride is the view's", "[layout]")
{
    paged_view<shuffled_values<bf16, 128>> cache;
    std::vector<bf16> storage(2 * 2 * 2048 * 3);
    cache.data        = storage.data();
    cache.pages       = 3;
    cache.heads       = 2;
    cache.page_stride = 2 * 2 * 2048; // K and V interleaved page by page
    REQUIRE(cache.address({1, 9, true}, 1, 3) == storage.data() + 2 * 2 * 2048 + 2048 + 1049);
}

TEST_CASE("token rows lie as far apart as the view says", "[layout]")
{
    paged_view<token_rows<bf16, 128>> cache;
    std::vector<bf16> storage(8192);
    cache.data         = storage.data();
    cache.pages        = 2;
    cache.heads        = 1;
    cache.page_stride  = 16 * 136;
    cache.token_stride = 136;
    REQUIRE(cache.address({1, 3, true}, 0, 5) == storage.data() + 16 * 136 + 3 * 136 + 5);
}

TEST_CASE("block_table: slots of a sequence, and none where there is no page", "[layout]")
{
    std::vector<int> const ids{7, 2, -1, 99, 5, 0};
    block_table<int> const table{ids.data(), 2, 3, 3};
    REQUIRE(table.slot(0, 0, 16) == 7 * 16);
    REQUIRE(table.slot(0, 17, 16) == 2 * 16 + 1);
    REQUIRE(table.slot(0, 33, 16) == -1); // page id -1
    REQUIRE(table.slot(1, 31, 16) == 5 * 16 + 15);
    REQUIRE(table.slot(0, 48, 16) == -1); // beyond the row
    REQUIRE(table.slot(0, -1, 16) == -1);
    REQUIRE(table.slot(2, 0, 16) == -1);
    REQUIRE(table.slot(-1, 0, 16) == -1);
    auto const run = table.run(1);
    REQUIRE((run.ids == ids.data() + 3 && run.count == 3 && run.first_token == 0));
}
