// SPDX-License-Identifier: MIT
// Whether views share memory, against sets of bytes; and the views that users lay into one storage.
#include "kvloom/kernel/overlap.hpp"
#include "kvloom/kernel/qk_norm_rope_insert.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

#include <set>

using namespace kvloom_test;
using namespace kvloom;
using kvloom::detail::bytes_of;
using kvloom::detail::share_bytes;
using kvloom::detail::strided_bytes;

namespace {

std::set<i64> set_of(strided_bytes const& view)
{
    std::set<i64> bytes;
    for (i64 i = 0; i < view.row; ++i) {
        bytes.insert(view.begin + i);
    }
    for (int axis = 0; axis < view.axes; ++axis) {
        std::set<i64> const one = bytes;
        for (i64 i = 1; i < view.repeat[axis].count; ++i) {
            for (i64 const byte : one) {
                bytes.insert(byte + i * view.repeat[axis].stride);
            }
        }
    }
    return bytes;
}

/// Units of each fit the stride that repeats them, and both views have the same strides.
bool nested_alike(strided_bytes const& a, strided_bytes const& b)
{
    bool alike = a.axes == b.axes;
    for (int axis = 0; alike && axis < a.axes; ++axis) {
        i64 const stride = a.repeat[axis].stride;
        alike = stride == b.repeat[axis].stride && a.extent(axis) <= stride && b.extent(axis) <= stride;
    }
    return alike;
}

strided_bytes random_view(random_source& random)
{
    strided_bytes view;
    view.begin = 1000 + random.below(40);
    view.row   = 1 + random.below(4);
    for (int i = random.below(4); i > 0; --i) {
        i64 const strides[] = {2, 4, 6, 8, 12, 24, 48};
        view.along(1 + random.below(3), strides[random.below(7)]);
    }
    return view;
}

} // namespace

TEST_CASE("views share bytes where their sets of bytes meet", "[contract][validate]")
{
    random_source random(7);
    int exact = 0, nested = 0, meet = 0;
    for (int i = 0; i < 20000; ++i) {
        strided_bytes const a = random_view(random);
        strided_bytes b       = random_view(random);
        if (i % 2 == 0) { // a's axes
            b.axes = 0;
            for (int axis = 0; axis < a.axes; ++axis) {
                b.along(2 + random.below(2), a.repeat[axis].stride);
            }
        }
        auto const bytes = set_of(a);
        bool want        = false;
        for (i64 const byte : set_of(b)) {
            want = want || bytes.count(byte) != 0;
        }
        bool const got = share_bytes(a, b);
        REQUIRE(got == share_bytes(b, a));
        REQUIRE((got || !want)); // never denied
        if (nested_alike(a, b)) {
            REQUIRE(got == want);
            exact += 1;
            nested += a.axes > 1 ? 1 : 0;
            meet += want ? 1 : 0;
        }
    }
    CHECK(exact > 2000);
    CHECK(nested > 300); // axes within axes are among them
    CHECK(meet > 500);
    CHECK(exact - meet > 500);
}

TEST_CASE("a view without bytes shares none", "[contract][validate]")
{
    bf16 storage[64] = {};
    head_rows<bf16, 64> rows{storage, 1, 64};
    CHECK(share_bytes(bytes_of(rows, 1), bytes_of(rows, 1)));
    CHECK_FALSE(share_bytes(bytes_of(rows, 1), bytes_of(rows, 0)));
    rows.heads = 0;
    CHECK_FALSE(share_bytes(bytes_of(rows, 1), bytes_of(rows, 1)));
}
