// SPDX-License-Identifier: MIT
// The fused insert with the values of reported faults: rows of zeros, and where a row's own scale lies.
#include "contract/hand_cases.hpp"

#include "kvloom/kernel/read_back.hpp"

#include <cmath>
#include <limits>

using namespace kvloom_test;

namespace {

/// What a row of zeros leaves: zeros in K and V, and the scale that the rule gives it where scales are found.
template <class Problem>
void check_zero_rows(double const found_scale, std::vector<float> const& scales = {0.7f})
{
    for (float const scale : scales) {
        for (int const q_heads : {2, 2100}) { // one row a tile; several
            scene_options o = call_of(3, {q_heads, 2, 0}, slot_pattern::none, slot_pattern::none);
            o.key_scale     = scale;
            o.value_scale   = scale;
            scene s         = scene_of<Problem>(o);
            s.slots         = {5, 6, 1};
            write_indices(s);
            set_angles(s, 1.0, 0.0);
            set_keys_and_values(s, 1, 0.0);
            run_by_hand<Problem>(s, [&](image const& after) {
                CAPTURE(scale, q_heads);
                int others = 0;
                for (int d = 0; d < s.problem.head_dim; ++d) {
                    others += key_code(s, after, 6, d) != 0 || value_code(s, after, 6, d) != 0 ? 1 : 0;
                }
                CHECK(others == 0);
                for (scales_at const& at : {s.key_scales, s.value_scales}) {
                    std::int64_t const element = 6 / s.problem.page_size * at.page_stride + 1 * at.head_stride
                                                 + 6 % s.problem.page_size;
                    if (s.problem.rule.found) {
                        CHECK(number_at(s, after, at.block, element) == found_scale);
                    }
                }
            });
        }
    }
}

template <class Layout>
struct rows_with_scales : read_back_problem
{
    using cache  = Layout;
    using output = float;
    using scale  = scale_view;
};

} // namespace

TEST_CASE("rows of zeros are stored as zeros: given scales", "[contract][cases]") // B14
{
    float const infinity = std::numeric_limits<float>::infinity();
    std::vector<float> const scales{0.7f, 1e-38f, 3e38f, 0.0f, infinity, std::nanf("")};
    check_zero_rows<bare_fn>(0.0, scales);
    check_zero_rows<m3_seed>(0.0, scales);
    check_zero_rows<packed_head_scales>(0.0, scales);
}

TEST_CASE("rows of zeros are stored as zeros: a scale of one, and scales that are found",
          "[contract][cases]") // B14
{
    check_zero_rows<unit_96>(1.0);
    check_zero_rows<token_scales>(1.0);
    check_zero_rows<token_scales_rows>(1.0);
    check_zero_rows<token_writer>(0.0);
    check_zero_rows<quant_shuffle>(static_cast<double>(1e-8f / 240.0f));
}

TEST_CASE("a reciprocal of a scale that cannot be divided by is one", "[contract][cases]") // B14
{
    float const infinity = std::numeric_limits<float>::infinity();
    for (float const scale : {0.0f, -0.0f, infinity, -infinity, std::nanf(""), 0.5f, -2.0f}) {
        bool const one = !(std::fabs(scale) > 0.0f && std::fabs(scale) < infinity);
        scene_options o;
        o.value_scale = scale;
        scene s       = one_head<m3_seed>({7, 8}, o);
        set_row(s, s.v, 0, 0, filled(s, 3.0));
        set_row(s, s.v, 1, 0, filled(s, 0.0));
        run_by_hand<m3_seed>(s, [&](image const& after) {
            CAPTURE(scale);
            CHECK(value_code(s, after, 7, 30) == (one ? 0x44u : scale == 0.5f ? 0x4Cu : 0xBCu));
            CHECK(value_code(s, after, 8, 30) == (!one && scale < 0.0f ? 0x80u : 0x00u));
        });
    }
}

TEST_CASE("a row's scale lies by its page and head, not by the table", "[contract][cases]") // B21
{
    constexpr int pages = 100, heads = 2, width = 4;
    scene_options o = call_of(64, {1, heads, 0}, slot_pattern::none, slot_pattern::none);
    scene s         = scene_of<token_scales>(o);
    set_pages(s, pages);
    for (scales_at* const at : {&s.key_scales, &s.value_scales}) { // [head][page][16]
        *at = {at->block, 16, pages * 16};
        s.blocks[at->block].bytes.resize(pages * heads * 16 * 4);
        kvloom_test::detail::fill_poison(s.blocks[at->block]);
    }
    std::vector<int> const table{97, 3, 50, 0};
    for (int token = 0; token < 64; ++token) {
        s.slots.push_back(table[static_cast<std::size_t>(token / 16)] * 16 + token % 16);
        for (int head = 0; head < heads; ++head) { // each row has another largest magnitude
            set_row(s, s.v, token, head, filled(s, 1.0 + token + 64 * head));
        }
    }
    write_indices(s);
    image const want = expected_image(s);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        image const after = run_and_compare<token_scales>(stream, s, want);
        CHECK(number_at(s, after, block_value_scales, 3157) == static_cast<double>((1.0f + 5 + 64) / 448.0f));

        scene_memory const memory(s);
        auto const args = make_args<token_scales>(s, memory);
        REQUIRE(text_of(qk_norm_rope_insert<token_scales>::launch(stream, args)) == "");
        using problem = rows_with_scales<insert_types<token_scales>::values>;
        device_array<int> const ids(table);
        device_array<float> const rows(64 * heads * 128, -7.0f);
        read_back_args<problem> back;
        back.cache = args.values;
        back.table = {ids.data(), 1, width, width};
        back.count = 64;
        back.rows  = {rows.data(), heads, heads * 128, 128};
        back.scale = args.value_scales;
        REQUIRE(text_of(read_back<problem>::launch(stream, back)) == "");
        auto const numbers = rows.values();
        for (int i = 0; i < 64 * heads * 128; ++i) {
            int const token = i / (heads * 128), head = i / 128 % heads;
            float const scale = static_cast<float>(1 + token + 64 * head) / 448.0f;
            REQUIRE(numbers[static_cast<std::size_t>(i)] == 448.0f * scale);
        }
    });
}
