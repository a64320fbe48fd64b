// SPDX-License-Identifier: MIT
// What the fused insert refuses: each fault alone, by the argument that it names.
#include "contract/launch.hpp"
#include "contract/refusals.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

using namespace kvloom_test;

namespace {

struct problem : m3_static
{
    using heads = strided_heads;
};
using args = insert_args<problem>;

struct by_rows_of_20 : insert_problem
{
    static constexpr int rotary_dim = 20;
};

struct packed_blocks : insert_problem
{
    using cache = packed_cache<shuffled_cache<bf16>>;
    using index = index_branch<>;
};

/// 7 tokens of 8 query heads, 2 kv heads, 3 index heads in a packed row, one page more than needed.
template <class Problem>
insert_args<Problem> sound()
{
    using types = insert_types<Problem>;
    insert_args<Problem> a;
    a.tokens = 7;
    packed_row(a, somewhere<typename types::activation>(0), {8, 2, 3, 1});
    a.q_out       = {somewhere<typename types::activation>(1), 8, 8 * 128};
    a.index_q_out = {somewhere<typename types::index_query>(2), 3, 3 * 128};
    a.q_gain = a.k_gain = somewhere<typename types::activation>(3);
    a.index_q_gain = a.index_k_gain = somewhere<typename types::activation>(4);
    a.angles                        = {somewhere<typename types::angle>(5), 100, types::rotary};
    a.positions                     = somewhere<typename types::position>(6);
    a.slots                         = somewhere<typename types::slot>(7);
    a.slot_count                    = 7;
    a.index_slots                   = somewhere<typename types::slot>(8);
    a.index_slot_count              = 7;
    a.keys.data                     = somewhere<typename types::element>(9);
    a.values.data                   = somewhere<typename types::element>(10);
    a.index_keys.data               = somewhere<typename types::index_key>(11);
    a.keys.pages = a.values.pages = a.index_keys.pages = 4;
    a.keys.heads = a.values.heads = 2;
    a.index_keys.heads            = 1;
    a.keys.page_stride = a.values.page_stride = 2 * 16 * 128;
    a.index_keys.page_stride                  = 16 * 128;
    a.key_scale = a.value_scale = somewhere<float>(12);
    return a;
}

struct named_fault
{
    char const* argument;
    fault code;
    std::function<void(args&)> spoil;
};

void check_refusals(std::vector<named_fault> const& refusals)
{
    REQUIRE(text_of(qk_norm_rope_insert<problem>::validate(sound<problem>())) == "");
    for (named_fault const& r : refusals) {
        args a = sound<problem>();
        r.spoil(a);
        status const s = qk_norm_rope_insert<problem>::validate(a);
        CAPTURE(text_of(s));
        CHECK(std::string(s.argument) == r.argument);
        CHECK(s.code == r.code);
        CHECK(std::string(rule_of(s.code)).substr(0, 4) == "must");
    }
}

} // namespace

TEST_CASE("null pointers are refused by name", "[contract][validate]")
{
    fault const null = fault::null_pointer;
    check_refusals({
        {"q.data", null, [](args& a) { a.q.data = nullptr; }},
        {"k.data", null, [](args& a) { a.k.data = nullptr; }},
        {"v.data", null, [](args& a) { a.v.data = nullptr; }},
        {"index_q.data", null, [](args& a) { a.index_q.data = nullptr; }},
        {"index_k.data", null, [](args& a) { a.index_k.data = nullptr; }},
        {"q_out.data", null, [](args& a) { a.q_out.data = nullptr; }},
        {"index_q_out.data", null, [](args& a) { a.index_q_out.data = nullptr; }},
        {"q_gain", null, [](args& a) { a.q_gain = nullptr; }},
        {"k_gain", null, [](args& a) { a.k_gain = nullptr; }},
        {"index_q_gain", null, [](args& a) { a.index_q_gain = nullptr; }},
        {"index_k_gain", null, [](args& a) { a.index_k_gain = nullptr; }},
        {"angles.data", null, [](args& a) { a.angles.data = nullptr; }},
        {"positions", null, [](args& a) { a.positions = nullptr; }},
        {"slots", null, [](args& a) { a.slots = nullptr; }},
        {"index_slots", null, [](args& a) { a.index_slots = nullptr; }},
        {"keys.data", null, [](args& a) { a.keys.data = nullptr; }},
        {"values.data", null, [](args& a) { a.values.data = nullptr; }},
        {"index_keys.data", null, [](args& a) { a.index_keys.data = nullptr; }},
        {"key_scale", null, [](args& a) { a.key_scale = nullptr; }},
        {"value_scale", null, [](args& a) { a.value_scale = nullptr; }},
    });
}

TEST_CASE("bases that are not aligned are refused by name", "[contract][validate]")
{
    fault const code = fault::misaligned;
    check_refusals({
        {"q.data", code, [](args& a) { shift(a.q.data, 2); }},
        {"k.data", code, [](args& a) { shift(a.k.data, 8); }},
        {"v.data", code, [](args& a) { shift(a.v.data, 4); }},
        {"index_q.data", code, [](args& a) { shift(a.index_q.data, 2); }},
        {"index_k.data", code, [](args& a) { shift(a.index_k.data, 8); }},
        {"q_out.data", code, [](args& a) { shift(a.q_out.data, 2); }},
        {"index_q_out.data", code, [](args& a) { shift(a.index_q_out.data, 8); }},
        {"q_gain", code, [](args& a) { shift(a.q_gain, 2); }},
        {"k_gain", code, [](args& a) { shift(a.k_gain, 8); }},
        {"index_q_gain", code, [](args& a) { shift(a.index_q_gain, 2); }},
        {"index_k_gain", code, [](args& a) { shift(a.index_k_gain, 2); }},
        {"angles.data", code, [](args& a) { shift(a.angles.data, 2); }},
        {"positions", code, [](args& a) { shift(a.positions, 4); }},
        {"slots", code, [](args& a) { shift(a.slots, 4); }},
        {"index_slots", code, [](args& a) { shift(a.index_slots, 4); }},
        {"keys.data", code, [](args& a) { shift(a.keys.data, 8); }},
        {"values.data", code, [](args& a) { shift(a.values.data, 1); }},
        {"index_keys.data", code, [](args& a) { shift(a.index_keys.data, 8); }},
        {"key_scale", code, [](args& a) { shift(a.key_scale, 2); }},
        {"value_scale", code, [](args& a) { shift(a.value_scale, 1); }},
    });
}

TEST_CASE("dense heads: a head stride other than the head size is refused", "[contract][validate]")
{
    insert_args<m3_bf16> a;
    alignas(16) static bf16 somewhere[8];
    a.tokens        = 1;
    a.q.data        = somewhere;
    a.q.heads       = 4;
    a.q.head_stride = 256;
    status const s  = qk_norm_rope_insert<m3_bf16>::validate(a);
    CHECK(std::string(s.argument) == "q.head_stride");
    CHECK(s.code == fault::not_equal);
    CHECK((s.got == 256 && s.need == 128));
}

TEST_CASE("strides that are no multiples of 16 bytes are refused by name", "[contract][validate]")
{
    fault const code = fault::misaligned;
    check_refusals({
        {"q.token_stride", code, [](args& a) { a.q.token_stride += 4; }},
        {"q.head_stride", code, [](args& a) { a.q.head_stride += 1; }},
        {"k.token_stride", code, [](args& a) { a.k.token_stride += 4; }},
        {"k.head_stride", code, [](args& a) { a.k.head_stride += 2; }},
        {"v.token_stride", code, [](args& a) { a.v.token_stride += 4; }},
        {"v.head_stride", code, [](args& a) { a.v.head_stride += 1; }},
        {"index_q.token_stride", code, [](args& a) { a.index_q.token_stride += 4; }},
        {"index_q.head_stride", code, [](args& a) { a.index_q.head_stride += 1; }},
        {"index_k.token_stride", code, [](args& a) { a.index_k.token_stride += 1; }},
        {"q_out.token_stride", code, [](args& a) { a.q_out.token_stride += 4; }},
        {"q_out.head_stride", code, [](args& a) { a.q_out.head_stride += 4; }},
        {"index_q_out.token_stride", code, [](args& a) { a.index_q_out.token_stride += 8; }}, // fp8
        {"angles.stride", code, [](args& a) { a.angles.stride += 4; }},
        {"keys.page_stride", code, [](args& a) { a.keys.page_stride += 8; }},
        {"keys.head_stride", code, [](args& a) { a.keys.head_stride += 1; }},
        {"values.page_stride", code, [](args& a) { a.values.page_stride += 8; }},
        {"values.head_stride", code, [](args& a) { a.values.head_stride += 4; }},
        {"index_keys.page_stride", code, [](args& a) { a.index_keys.page_stride += 8; }},
        {"index_keys.token_stride", code, [](args& a) { a.index_keys.token_stride += 8; }},
    });
}

TEST_CASE("sizes and counts out of range are refused by name", "[contract][validate]")
{
    fault const small = fault::too_small;
    check_refusals({
        {"tokens", small, [](args& a) { a.tokens = -1; }},
        {"q.heads", small, [](args& a) { a.q.heads = 0; }},
        {"q.heads", small, [](args& a) { a.q.heads = -1; }},
        {"k.heads", small, [](args& a) { a.k.heads = 0; }},
        {"v.heads", small, [](args& a) { a.v.heads = 0; }},
        {"v.heads", fault::not_equal, [](args& a) { a.v.heads = 3; }},
        {"q_out.heads", fault::not_equal, [](args& a) { a.q_out.heads = 7; }},
        {"index_q.heads", small, [](args& a) { a.index_q.heads = -1; }},
        {"index_k.heads", small, [](args& a) { a.index_k.heads = 0; }},
        {"index_k.heads", fault::not_equal, [](args& a) { a.index_k.heads = 2; }},
        {"index_q_out.heads", fault::not_equal, [](args& a) { a.index_q_out.heads = 4; }},
        {"keys.heads", fault::not_equal, [](args& a) { a.keys.heads = 4; }},
        {"values.heads", fault::not_equal, [](args& a) { a.values.heads = 1; }},
        {"index_keys.heads", fault::not_equal, [](args& a) { a.index_keys.heads = 2; }},
        {"keys.pages", small, [](args& a) { a.keys.pages = -1; }},
        {"values.pages", small, [](args& a) { a.values.pages = -4; }},
        {"index_keys.pages", small, [](args& a) { a.index_keys.pages = -1; }},
        {"slot_count", small, [](args& a) { a.slot_count = -1; }},
        {"index_slot_count", small, [](args& a) { a.index_slot_count = -1; }},
        {"angles.rows", small, [](args& a) { a.angles.rows = 0; }},
        {"angles.stride", small, [](args& a) { a.angles.stride = 56; }},
        {"q.token_stride", small, [](args& a) { a.q.token_stride = -128; }},
        {"keys.page_stride", small, [](args& a) { a.keys.page_stride = -4096; }},
        {"eps", fault::not_positive, [](args& a) { a.eps = 0.0f; }},
        {"eps", fault::not_positive, [](args& a) { a.eps = -1e-6f; }},
        {"eps", fault::not_positive, [](args& a) { a.eps = std::numeric_limits<float>::quiet_NaN(); }},
    });
}

TEST_CASE("outputs whose rows share elements are refused by name", "[contract][validate]")
{
    fault const stride = fault::wrong_stride;
    check_refusals({
        {"q_out.token_stride", stride, [](args& a) { a.q_out.token_stride = 7 * 128; }},
        {"q_out.token_stride", stride, [](args& a) { a.q_out.head_stride = 64; }},
        {"q_out.token_stride", stride, [](args& a) { a.q_out.token_stride = 0; }},
        {"index_q_out.token_stride", stride, [](args& a) { a.index_q_out.token_stride = 2 * 128; }},
        {"keys.page_stride", stride, [](args& a) { a.keys.page_stride = 16 * 128; }},
        {"values.head_stride", stride, [](args& a) { a.values.head_stride = 15 * 128; }},
        {"index_keys.page_stride", stride, [](args& a) { a.index_keys.page_stride = 15 * 128; }},
        {"index_keys.token_stride", stride, [](args& a) { a.index_keys.token_stride = 112; }},
    });
}

TEST_CASE("outputs that lie over what is still to be read are refused by name", "[contract][validate]")
{
    fault const over    = fault::overlapping;
    auto const index_at = [](args& a, bf16 const* const rows) { // fp8 rows, one to a projection row
        a.index_q_out.data         = reinterpret_cast<fp8_e4m3*>(const_cast<bf16*>(rows));
        a.index_q_out.token_stride = a.q.token_stride * 2;
    };
    auto const queries_at = [](args& a, bf16 const* const rows, int const heads) {
        a.q.heads = heads;
        a.q_out   = {const_cast<bf16*>(rows), heads, a.q.token_stride};
    };
    check_refusals({
        {"q_out.token_stride", over,
         [](args& a) {
             a.q_out = {const_cast<bf16*>(a.q.data), 8, 8 * 128};
         }},
        {"q_out.data", over, [&](args& a) { queries_at(a, a.q.data + 128, 8); }}, // a head further on
        {"q_out.data", over, [&](args& a) { queries_at(a, a.k.data, 2); }},
        {"q_out.data", over, [&](args& a) { queries_at(a, a.v.data, 2); }},
        {"q_out.data", over, [&](args& a) { queries_at(a, a.v.data + 128, 1); }},
        {"q_out.data", over, [&](args& a) { queries_at(a, a.index_q.data, 3); }},
        {"q_out.data", over, [&](args& a) { queries_at(a, a.index_k.data, 1); }},
        {"index_q_out.token_stride", over, [&](args& a) { index_at(a, a.index_q.data); }},
        {"index_q_out.data", over, [&](args& a) { index_at(a, a.q.data); }},
        {"index_q_out.data", over, [&](args& a) { index_at(a, a.k.data); }},
        {"index_q_out.data", over, [&](args& a) { index_at(a, a.v.data); }},
        {"index_q_out.data", over, [&](args& a) { index_at(a, a.index_k.data); }},
        {"index_q_out.data", over,
         [](args& a) { a.index_q_out.data = reinterpret_cast<fp8_e4m3*>(a.q_out.data); }},
    });
}

TEST_CASE("caches that lie over each other or over rows are refused by name", "[contract][validate]")
{
    fault const over = fault::overlapping;
    auto const at    = [](auto& to, auto* const from, int const bytes) {
        to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(from);
        shift(to, bytes);
    };
    int const page = 2 * 16 * 128; // bytes
    check_refusals({
        {"values.data", over, [&](args& a) { at(a.values.data, a.keys.data, 0); }},
        {"values.data", over, [&](args& a) { at(a.values.data, a.keys.data, 16); }},
        {"values.data", over, [&](args& a) { at(a.values.data, a.keys.data, 3 * page); }},
        {"values.data", over,
         [&](args& a) { at(a.values.data, a.keys.data, page); }}, // a plane a page, dense strides
        {"keys.data", over, [&](args& a) { at(a.keys.data, a.q_out.data, 0); }},
        {"keys.data", over, [&](args& a) { at(a.q_out.data, a.keys.data, 4 * page - 16); }},
        {"keys.data", over, [&](args& a) { at(a.keys.data, const_cast<bf16*>(a.k.data), 0); }},
        {"values.data", over, [&](args& a) { at(a.values.data, const_cast<bf16*>(a.v.data), 0); }},
        {"index_keys.data", over, [&](args& a) { at(a.index_keys.data, a.values.data, page); }},
        {"index_keys.data", over, [&](args& a) { at(a.index_keys.data, a.index_q_out.data, 0); }},
    });
}

TEST_CASE("K, V and index keys may share pages, rows and blocks of one storage", "[contract][validate]")
{
    auto planes             = sound<problem>(); // [pages][K, V, index key][...]
    planes.keys.page_stride = planes.values.page_stride = planes.index_keys.page_stride = 5 * 16 * 128;
    planes.values.data     = planes.keys.data + 2 * 16 * 128;
    planes.index_keys.data = planes.keys.data + 4 * 16 * 128;
    CHECK(text_of(qk_norm_rope_insert<problem>::validate(planes)) == "");
    planes.index_keys.data -= 16;
    CHECK(text_of(qk_norm_rope_insert<problem>::validate(planes))
          == "index_keys.data must not overlap another argument");

    auto side             = sound<rows_page_128>(); // NHD, [pages][tokens][heads][K, V]
    side.keys.head_stride = side.values.head_stride = 2 * 128;
    side.keys.token_stride = side.values.token_stride = 2 * 2 * 128;
    side.keys.page_stride = side.values.page_stride = i64(128) * 2 * 2 * 128;
    side.values.data                                = side.keys.data + 128;
    side.index_keys.page_stride                     = 128 * 128;
    CHECK(text_of(qk_norm_rope_insert<rows_page_128>::validate(side)) == "");
    side.values.data -= 8;
    CHECK(text_of(qk_norm_rope_insert<rows_page_128>::validate(side))
          == "values.data must not overlap another argument");

    auto packed       = sound<packed_blocks>();
    packed.keys.pages = packed.values.pages = 24;
    packed.keys.block_stride = packed.values.block_stride = 16 * packed.keys.page_stride;
    packed.values.data                                    = packed.keys.data + 8 * packed.keys.page_stride;
    CHECK(text_of(qk_norm_rope_insert<packed_blocks>::validate(packed)) == "");
    packed.values.data -= packed.keys.page_stride;
    CHECK(text_of(qk_norm_rope_insert<packed_blocks>::validate(packed))
          == "values.data must not overlap another argument");
}

TEST_CASE("unusual but sound arguments are taken", "[contract][validate]")
{
    std::vector<std::function<void(args&)>> const variants = {
        [](args& a) { a = args{}; }, // zero tokens
        [](args& a) { a.slot_count = 0, a.slots = nullptr; },
        [](args& a) { a.slot_count = 100; },
        [](args& a) { a.index_slot_count = 3; },
        [](args& a) { a.keys.pages = 0, a.keys.data = nullptr; },
        [](args& a) { a.index_keys.pages = 0, a.index_keys.data = nullptr; },
        [](args& a) { a.values.pages = 3; },
        [](args& a) { a.keys.page_stride *= 2; },
        [](args& a) {
            a.index_q.heads = 0, a.index_q.data = nullptr, a.index_q_out = {}, a.index_q_gain = nullptr;
        },
        [](args& a) {
            a.q_out.data = const_cast<bf16*>(a.q.data), a.q_out.token_stride = a.q.token_stride;
        }, // in place
        [](args& a) { a.q_out.token_stride = 128, a.q_out.head_stride = 7 * 128; },
        [](args& a) { a.tokens = 1, a.q.token_stride = 0, a.q_out.token_stride = 0; },
        [](args& a) { a.angles.stride = 128; },
        [](args& a) { a.eps = 1e-30f; },
    };
    for (std::size_t i = 0; i < variants.size(); ++i) {
        args a = sound<problem>();
        variants[i](a);
        CAPTURE(i);
        CHECK(text_of(qk_norm_rope_insert<problem>::validate(a)) == "");
    }
}

TEST_CASE("a problem is asked only for what it uses", "[contract][validate]")
{
    auto a             = sound<bare_page_64>(); // no norm, no rotation, no index, no scale
    a.q_gain           = nullptr;
    a.k_gain           = nullptr;
    a.angles           = {};
    a.positions        = nullptr;
    a.key_scale        = nullptr;
    a.index_q          = {};
    a.index_k          = {};
    a.index_keys       = {};
    a.eps              = 0.0f;
    a.keys.page_stride = a.values.page_stride = 2 * 64 * 128;
    a.keys.head_stride = a.values.head_stride = 64 * 128;
    CHECK(text_of(qk_norm_rope_insert<bare_page_64>::validate(a)) == "");

    auto b = sound<by_rows_of_20>(); // halves of 10 are read one by one: no 16-byte rule for the table
    b.angles.stride = 22;
    shift(b.angles.data, 2);
    b.keys.page_stride = b.values.page_stride = 2 * 16 * 128;
    CHECK(text_of(qk_norm_rope_insert<by_rows_of_20>::validate(b)) == "");
    b.angles.stride = 18;
    CHECK(std::string(qk_norm_rope_insert<by_rows_of_20>::validate(b).argument) == "angles.stride");
}

TEST_CASE("a launch of what is refused starts nothing", "[contract][validate]")
{
    on_every_machine([](char const* machine, auto const& stream) {
        INFO(machine);
        args a         = sound<problem>(); // pointers to nowhere: a start would fault
        a.value_scale  = nullptr;
        status const s = qk_norm_rope_insert<problem>::launch(stream, a);
        CHECK(s.code == fault::null_pointer);
        CHECK(std::string(s.argument) == "value_scale");
        CHECK(qk_norm_rope_insert<problem>::launch(stream, args{}).ok()); // zero tokens
    });
}
