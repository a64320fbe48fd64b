// SPDX-License-Identifier: MIT
// The fused insert with the values of reported faults: fp8 codes, overflow, limits, unusable scales.
#include "contract/hand_cases.hpp"

#include "kvloom/kernel/read_back.hpp"

#include <cmath>
#include <limits>

using namespace kvloom_test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <class Layout>
struct scaled_rows : read_back_problem
{
    using cache  = Layout;
    using output = float;
    using scale  = cache_scale;
};

/// The first `count` tokens of a cache, which lie in page 1, as numbers.
template <class Layout, class Stream, class View>
std::vector<float> dequantised(Stream const& stream, View const& cache, float const* const scale,
                               int const count)
{
    using problem = scaled_rows<Layout>;
    device_array<int> const table(std::vector<int>{1, -1});
    device_array<float> const rows(static_cast<std::size_t>(count) * 128, -7.0f);
    read_back_args<problem> args;
    args.cache      = cache;
    args.table      = {table.data(), 1, 2, 2};
    args.count      = count;
    args.rows       = {rows.data(), 1, 128, 128};
    args.scale.data = scale;
    REQUIRE(text_of(read_back<problem>::launch(stream, args)) == "");
    return rows.values();
}

/// Tokens of page 1, each of one number, with scales of one: their codes, and what they are read back as.
template <class Problem>
void check_codes(std::vector<double> const& numbers, std::vector<unsigned> const& codes,
                 std::vector<float> const& values, scene_options const& o = {})
{
    std::vector<std::int64_t> slots;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        slots.push_back(16 + static_cast<std::int64_t>(i));
    }
    scene s = one_head<Problem>(slots, o);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        set_keys_and_values(s, static_cast<int>(i), numbers[i]);
    }
    image const want = expected_image(s);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        image const after = run_and_compare<Problem>(stream, s, want);
        for (std::size_t i = 0; i < codes.size(); ++i) {
            CAPTURE(i, numbers[i]);
            CHECK(key_code(s, after, slots[i], 77) == codes[i]);
            CHECK(value_code(s, after, slots[i], 77) == codes[i]);
        }
        if (values.empty()) {
            return;
        }
        using types = insert_types<Problem>;
        scene_memory const memory(s);
        auto const args = make_args<Problem>(s, memory);
        auto const n    = static_cast<int>(values.size());
        REQUIRE(text_of(qk_norm_rope_insert<Problem>::launch(stream, args)) == "");
        auto const keys = dequantised<typename types::keys>(stream, args.keys, args.key_scale, n);
        auto const back = dequantised<typename types::values>(stream, args.values, args.value_scale, n);
        for (int i = 0; i < n * 128; ++i) {
            REQUIRE(keys[static_cast<std::size_t>(i)] == values[static_cast<std::size_t>(i / 128)]);
            REQUIRE(back[static_cast<std::size_t>(i)] == values[static_cast<std::size_t>(i / 128)]);
        }
    });
}

} // namespace

TEST_CASE("both fp8 encodings go in and come back on the same machine", "[contract][cases]") // B09
{
    check_codes<bare_fn>({1.0, 2.0, -1.0}, {0x38, 0x40, 0xB8}, {1.0f, 2.0f, -1.0f});
    check_codes<bare_fnuz>({1.0, 2.0, -1.0}, {0x40, 0x48, 0xC0}, {1.0f, 2.0f, -1.0f});
}

TEST_CASE("what was divided by a scale is multiplied by it when it is read", "[contract][cases]") // B14
{
    scene_options o;
    o.key_scale   = 0.5f;
    o.value_scale = 2.0f;
    scene s       = one_head<bare_fn>({16, 17}, o);
    set_keys_and_values(s, 0, 3.0);
    set_keys_and_values(s, 1, 0.0);
    image const want = expected_image(s);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        image const after = run_and_compare<bare_fn>(stream, s, want);
        CHECK(key_code(s, after, 16) == 0x4C);
        CHECK(value_code(s, after, 16) == 0x3C);
        CHECK((key_code(s, after, 17) == 0x00 && value_code(s, after, 17) == 0x00));
        scene_memory const memory(s);
        auto const args = make_args<bare_fn>(s, memory);
        REQUIRE(text_of(qk_norm_rope_insert<bare_fn>::launch(stream, args)) == "");
        using types     = insert_types<bare_fn>;
        auto const keys = dequantised<types::keys>(stream, args.keys, args.key_scale, 2);
        auto const back = dequantised<types::values>(stream, args.values, args.value_scale, 2);
        for (std::size_t i = 0; i < 256; ++i) {
            REQUIRE(keys[i] == (i < 128 ? 3.0f : 0.0f));
            REQUIRE(back[i] == (i < 128 ? 3.0f : 0.0f));
        }
    });
}

TEST_CASE("scales that are zero, infinite or NaN count as one, and zeros stay zeros",
          "[contract][cases]") // B14
{
    float const nan = std::numeric_limits<float>::quiet_NaN();
    for (float const scale : {0.0f, -0.0f, infinity, -infinity, nan, 1e-42f, 3e38f, -2.0f}) {
        bool const one = !(std::fabs(scale) > 0.0f && std::fabs(scale) < infinity);
        for (int const q_heads : {1, 2100}) { // one row a tile; several
            scene_options o = call_of(2, {q_heads, 1, 0}, slot_pattern::none, slot_pattern::none);
            o.key_scale     = scale;
            o.value_scale   = scale;
            scene s         = scene_of<bare_fn>(o);
            s.slots         = {3, 4};
            write_indices(s);
            set_angles(s, 1.0, 0.0);
            set_keys_and_values(s, 0, 3.0);
            set_keys_and_values(s, 1, 0.0);
            unsigned const zero  = std::signbit(scale) && !one ? 0x80 : 0x00;
            unsigned const three = one              ? 0x44
                                   : scale == -2.0f ? 0xBC
                                   : scale < 1.0f   ? 0x7E // beyond the format, and beyond fp32
                                                    : 0x00;  // below the format
            run_by_hand<bare_fn>(s, [&](image const& after) {
                CAPTURE(scale);
                CHECK(key_code(s, after, 3, 99) == three);
                CHECK(value_code(s, after, 3, 99) == three);
                CHECK(key_code(s, after, 4, 99) == zero);
                CHECK(value_code(s, after, 4, 99) == zero);
            });
        }
    }
}

TEST_CASE("values beyond the format become its largest number", "[contract][cases]") // B12
{
    check_codes<bare_fn>({1000.0, -1000.0, 464.0, 448.0, HUGE_VAL, -HUGE_VAL},
                         {0x7E, 0xFE, 0x7E, 0x7E, 0x7E, 0xFE}, {448.0f, -448.0f, 448.0f, 448.0f});
    check_codes<bare_fnuz>({1000.0, -1000.0, 248.0, 240.0, HUGE_VAL, -HUGE_VAL},
                           {0x7F, 0xFF, 0x7F, 0x7F, 0x7F, 0xFF}, {240.0f, -240.0f, 240.0f, 240.0f});
}

TEST_CASE("an infinity over a scale of any size is the format's largest number",
          "[contract][cases]") // B12, B14
{
    for (float const scale : {1e-38f, 0.7f, 1e6f, 0x1p28f, 1e10f, 0x1p80f, 1e30f, 3e38f}) {
        scene_options o;
        o.key_scale   = scale;
        o.value_scale = scale;
        CAPTURE(scale);
        check_codes<bare_fn>({HUGE_VAL, -HUGE_VAL}, {0x7E, 0xFE}, {}, o);
        check_codes<bare_fnuz>({HUGE_VAL, -HUGE_VAL}, {0x7F, 0xFF}, {}, o);
    }
}

TEST_CASE("from 465 on, saturating and not saturating differ", "[contract][cases]") // B12
{
    REQUIRE(155.0f / (1.0f / 3.0f) == 465.0f); // no bf16 number, but the quotient of one
    scene_options o;
    o.key_scale   = 1.0f / 3.0f;
    o.value_scale = 1.0f / 3.0f;
    check_codes<bare_fn>({155.0, -155.0}, {0x7E, 0xFE}, {}, o);
    for (bool const over : {false, true}) {
        scene_options p = o;
        p.index_heads   = 0;
        p.value_scale   = over ? o.value_scale : 1.0f;
        scene s         = one_head<own_contract>({0, 1, 2}, p);
        set_row(s, s.v, 0, 0, filled(s, over ? 155.0 : 464.0));
        set_row(s, s.v, 1, 0, filled(s, over ? -155.0 : -464.0));
        set_row(s, s.v, 2, 0, filled(s, over ? HUGE_VAL : 1000.0));
        run_by_hand<own_contract>(s, [&](image const& after) {
            CHECK(value_code(s, after, 0) == (over ? 0x7F : 0x7E));
            CHECK((over ? value_code(s, after, 1) | 0x80 : value_code(s, after, 1)) == (over ? 0xFF : 0xFE));
            CHECK(value_code(s, after, 2) == 0x7F);
        });
    }
}

TEST_CASE("a limit of 224 in FNUZ is that of the scale and that of the code", "[contract][cases]") // B12
{
    scene_options o;
    o.eps   = 1e-30f; // the mean square of ones and eps make one
    scene s = one_head<token_scales_rows>({0, 2}, o);
    set_gain(s, block_k_gain, 239.0);
    set_row(s, s.k, 0, 0, filled(s, 1.0));
    set_row(s, s.k, 1, 0, filled(s, -1.0));
    run_by_hand<token_scales_rows>(s, [&](image const& after) {
        for (std::int64_t const slot : {0, 2}) {
            CHECK(key_code(s, after, slot, 50) == (slot == 0 ? 0x7Eu : 0xFEu));
            auto const at     = slot * s.key_scales.page_stride; // pages of one token
            double const used = number_at(s, after, block_key_scales, at);
            CHECK(used == static_cast<double>(240.0f / 224.0f));
            double const stored = scalar_model::decode(scalar_model::dtype::fp8_e4m3_fnuz, 0x7E);
            CHECK(static_cast<float>(stored * used) == 240.0f);
        }
    });
}
