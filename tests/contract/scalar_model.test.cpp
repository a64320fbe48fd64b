// SPDX-License-Identifier: MIT
// The scalar model against values worked out by hand, and against the oracle on random data.
#include "contract/scalar_model.hpp"

#include "contract/oracle_check.hpp"
#include "contract/scenes.hpp"
#include "support/catch.hpp"
#include "support/scene_image.hpp"

using namespace scalar_model;

namespace {

constexpr dtype small_types[] = {dtype::bf16, dtype::fp16, dtype::fp8_e4m3, dtype::fp8_e4m3_fnuz};

std::vector<float> prepared_row(problem const& p, std::vector<float> x, std::vector<double> const& gain,
                                float const eps)
{
    std::vector<unsigned char> weights(gain.size() * 2);
    for (std::size_t d = 0; d < gain.size(); ++d) {
        write(p.activation, weights.data(), static_cast<std::int64_t>(d), gain[d]);
    }
    normalise(p, p.q_norm, x, p.q_norm == norm_kind::none ? 1.0f : inverse_rms(x, eps), weights.data());
    return x;
}

std::vector<float> rotated_row(problem const& p, std::vector<float> n, float const cosine, float const sine)
{
    std::vector<unsigned char> table(static_cast<std::size_t>(p.rotary_dim) * 4);
    for (int i = 0; i < p.rotary_dim; ++i) {
        write(p.angle, table.data(), i, i < p.rotary_dim / 2 ? cosine : sine);
    }
    rotate(p, n, table.data(), {});
    return n;
}

bool near(float const got, double const want, double const share)
{
    return std::fabs(static_cast<double>(got) - want) <= want * share;
}

} // namespace

TEST_CASE("the model's formats have the known codes", "[contract][model]")
{
    CHECK(decode(dtype::fp8_e4m3, 0x40) == 2.0); // B09
    CHECK(decode(dtype::fp8_e4m3_fnuz, 0x40) == 1.0);
    CHECK(encode(dtype::fp8_e4m3, 1.0) == 0x38);
    CHECK(encode(dtype::fp8_e4m3_fnuz, 1.0) == 0x40);
    CHECK(encode(dtype::fp8_e4m3, 1000.0) == 0x7E); // B12
    CHECK(encode(dtype::fp8_e4m3_fnuz, 1000.0) == 0x7F);
    CHECK(encode(dtype::fp8_e4m3, 464.0) == 0x7E);
    CHECK(encode(dtype::fp8_e4m3, -465.0) == 0xFE);
    CHECK(encode(dtype::fp8_e4m3_fnuz, -1e30) == 0xFF);
    CHECK(encode(dtype::fp8_e4m3, HUGE_VAL) == 0x7E);
    CHECK(encode(dtype::fp8_e4m3_fnuz, -0.0) == 0x00);
    CHECK(encode(dtype::fp8_e4m3_fnuz, -1e-9) == 0x00);
    CHECK(encode(dtype::fp8_e4m3, -0.0) == 0x80);
    CHECK(encode(dtype::fp8_e4m3, std::ldexp(1.0, -10)) == 0x00); // half of the smallest: to even
    CHECK(encode(dtype::fp8_e4m3, std::ldexp(1.5, -9)) == 0x02);
    CHECK(encode(dtype::fp8_e4m3_fnuz, std::ldexp(1.0, -10)) == 0x01);
    CHECK(encode(dtype::bf16, 1.00390625) == 0x3F80); // a tie, to even
    CHECK(encode(dtype::bf16, 1.01171875) == 0x3F82);
    CHECK(encode(dtype::bf16, 3.4e38) == 0x7F80);
    CHECK(encode(dtype::fp16, 65519.0) == 0x7BFF);
    CHECK(encode(dtype::fp16, 65520.0) == 0x7C00);
    CHECK(encode(dtype::fp16, std::ldexp(1.0, -24)) == 0x0001);
    CHECK(encode(dtype::fp16, std::ldexp(2047.0, -25))
          == 0x0400); // a carry from the subnormals into the normals
}

TEST_CASE("decoding and encoding every code of the model's formats returns the code", "[contract][model]")
{
    for (dtype const type : small_types) {
        unsigned wrong = 0;
        for (unsigned code = 0; code < 1u << 8 * size_of(type); ++code) {
            bool const both_nan = is_nan_code(type, code) && std::isnan(decode(type, code));
            wrong += both_nan ? !is_nan_code(type, encode(type, decode(type, code)))
                              : encode(type, decode(type, code)) != code;
        }
        CAPTURE(static_cast<int>(type));
        CHECK(wrong == 0);
    }
}

TEST_CASE("the model rounds halfway points of its formats to even and their neighbours to nearest",
          "[contract][model]")
{
    for (dtype const type : small_types) {
        unsigned wrong = 0;
        for (unsigned code = 0; code < fields_of(type).largest; ++code) {
            double const low  = decode(type, code);
            double const half = (low + decode(type, code + 1)) / 2;
            wrong += encode(type, half) != code + code % 2;
            wrong += encode(type, half * 0.9999999) != code;
            wrong += encode(type, half * 1.0000001) != code + 1;
        }
        CAPTURE(static_cast<int>(type));
        CHECK(wrong == 0);
    }
}

TEST_CASE("SHUFFLE offsets are those worked out by hand", "[contract][model][layout]") // B16
{
    CHECK(offset_in_page(layout::keys, dtype::bf16, 16, 128, 3, 9) == 153);
    CHECK(offset_in_page(layout::values, dtype::bf16, 16, 128, 9, 3) == 1049);
    CHECK(offset_in_page(layout::values, dtype::bf16, 16, 128, 3, 9) == 75);
    CHECK(offset_in_page(layout::keys, dtype::fp8_e4m3, 16, 128, 3, 17) == 305);
    CHECK(offset_in_page(layout::values, dtype::fp8_e4m3, 16, 128, 9, 3) == 57);
    CHECK(offset_in_page(layout::keys, dtype::bf16, 64, 128, 3, 9) == (1 * 64 + 3) * 8 + 1);
    CHECK(offset_in_page(layout::values, dtype::bf16, 64, 128, 63, 0) == 7 * 1024 + 7);
}

TEST_CASE("cache offsets do not overflow 32 bits", "[contract][model][layout]") // B05
{
    cache const big{nullptr, 64000, 32, 32 * 128 * 16, 128 * 16, 128};
    CHECK(offset_in_cache(big, layout::keys, dtype::bf16, 16, 128, std::int64_t{63999} * 16, 0, 0)
          == 4194238464);
}

TEST_CASE("fp8 codes follow the direction of the scale", "[contract][model]") // B14
{
    CHECK(cache_code(dtype::fp8_e4m3, scale_mode::divide, 3.0f, 0.5f) == 0x4C);
    CHECK(cache_code(dtype::fp8_e4m3, scale_mode::divide, 3.0f, 2.0f) == 0x3C);
    CHECK(cache_code(dtype::fp8_e4m3, scale_mode::reciprocal, 3.0f, 0.5f) == 0x4C);
    CHECK(cache_code(dtype::fp8_e4m3, scale_mode::divide, 0.0f, 0.7f) == 0x00);
    // Division and reciprocal differ only at halfway points, and there seldom: 2800 / 7 = 400 lies between 384 and 416.
    CHECK(cache_code(dtype::fp8_e4m3, scale_mode::divide, 2800.0f / 1024, 7.0f)
          == encode(dtype::fp8_e4m3, 384.0 / 1024));
    CHECK(cache_code(dtype::fp8_e4m3, scale_mode::reciprocal, 2800.0f / 1024, 7.0f)
          == encode(dtype::fp8_e4m3, 416.0 / 1024));
}

TEST_CASE("the unit offset is added in fp32", "[contract][model]") // B25
{
    problem p;
    p.q_norm = norm_kind::unit_offset;
    // mean square + eps is exactly one, so n = 1.5 (1 + w)
    std::vector<float> x(128, 0.0f);
    x[0]            = 1.5f;
    float const eps = 1.0f - 2.25f / 128.0f;
    CHECK(prepared_row(p, x, std::vector<double>(128, 0.00390625), eps)[0] == 1.5f * 1.00390625f);
    CHECK(prepared_row(p, x, std::vector<double>(128, 15.8125), eps)[0] == 1.5f * 16.8125f);
    CHECK(encode(dtype::bf16, 1.5 * 1.00390625) != encode(dtype::bf16, 1.5));
    p.q_norm = norm_kind::plain_gain;
    CHECK(prepared_row(p, x, std::vector<double>(128, 15.8125), eps)[0] == 1.5f * 15.8125f);
    p.q_norm = norm_kind::weightless;
    CHECK(prepared_row(p, x, {}, eps)[0] == 1.5f);
    p.q_norm = norm_kind::none;
    CHECK(prepared_row(p, x, {}, 7.0f)[0] == 1.5f);
}

TEST_CASE("eps stands under the root", "[contract][model]") // B27
{
    problem p;
    p.q_norm = norm_kind::weightless;
    std::vector<float> const small(128, 1e-3f);
    CHECK(near(prepared_row(p, small, {}, 1e-6f)[5], 0.70711, 1e-5));
    CHECK(near(prepared_row(p, small, {}, 1e-5f)[5], 0.30151, 1e-4));
    CHECK(prepared_row(p, std::vector<float>(128, 0.0f), {}, 1e-6f) == std::vector<float>(128, 0.0f));
    // the documented limit: the sum of squares leaves fp32 and the row becomes zeros
    CHECK(prepared_row(p, std::vector<float>(128, std::ldexp(1.0f, 66)), {}, 1e-6f)
          == std::vector<float>(128, 0.0f));
    CHECK(prepared_row(p, std::vector<float>(128, std::ldexp(1.0f, 60)), {}, 1e-6f)
          == std::vector<float>(128, 1.0f));
}

TEST_CASE("dims turn in pairs half the rotary size apart", "[contract][model]") // B28
{
    problem p;
    p.rotary_dim = 4;
    p.angle      = dtype::fp32;
    CHECK(rotated_row(p, {1, 2, 3, 4, 5, 6, 7, 8}, 0.0f, 1.0f)
          == std::vector<float>{-3, -4, 1, 2, 5, 6, 7, 8});
    p.rotary_dim = 64;
    std::vector<float> n(128);
    for (int d = 0; d < 128; ++d) {
        n[static_cast<std::size_t>(d)] = static_cast<float>(d + 1);
    }
    auto const y = rotated_row(p, n, 0.0f, 1.0f);
    CHECK(y[0] == -n[32]);
    CHECK(y[32] == n[0]);
    CHECK(std::equal(y.begin() + 64, y.end(), n.begin() + 64));
}

TEST_CASE("the table's type decides how exact the angles are", "[contract][model]") // B30
{
    problem p;
    p.rotary_dim = 2;
    p.angle      = dtype::fp32;
    CHECK(near(rotated_row(p, {1, 1, 0, 0, 0, 0, 0, 0}, 0.70766f, 0.70655f)[0], 0.00111, 1e-4));
    p.angle = dtype::bf16;
    CHECK(rotated_row(p, {1, 1, 0, 0, 0, 0, 0, 0}, 0.70766f, 0.70655f)[0] == 0.0f);
}

TEST_CASE("squares are added in runs of eight, then pairwise", "[contract][model]")
{
    // 2^12 + 1 ulp pieces: each order of addition gives another fp32 number
    std::vector<float> x(32, 0.0f);
    x[0] = 4096.0f; // its square is 2^24, where a step is 2
    x[2] = 1.0f;    // same chain: 2^24 + 1 is a tie and rounds back to 2^24
    x[4] = 1.0f;
    x[8] = x[16] = x[24] = 1.0f;
    // runs: 2^24, 1, 1, 1; pairs: 2^24 + 1 -> 2^24, and 2; in all 2^24 + 2
    CHECK(sum_of_squares(x) == 16777218.0f);
    std::rotate(x.begin(), x.begin() + 8, x.end()); // 1, 1, 1, 2^24: pairs 2 and 2^24 -> 2^24 + 2
    CHECK(sum_of_squares(x) == 16777218.0f);
    x[1] = 1.0f; // the first run is 1 + 1: pairs 3 and 2^24, in all 2^24 + 4 (a tie, to even)
    CHECK(sum_of_squares(x) == 16777220.0f);
}

TEST_CASE("the model lies within the oracle's bounds, and the bounds are not much wider than its errors",
          "[contract][model]")
{
    using kvloom_test::standard_scenes;
    problem p;
    p.activation = GENERATE(dtype::bf16, dtype::fp16);
    p.cache      = GENERATE(dtype::bf16, dtype::fp16, dtype::fp8_e4m3, dtype::fp8_e4m3_fnuz);
    p.q_norm =
        GENERATE(norm_kind::none, norm_kind::plain_gain, norm_kind::unit_offset, norm_kind::weightless);
    p.rotary_dim      = GENERATE(0, 20, 64, 128);
    int const variant = static_cast<int>(p.cache) + static_cast<int>(p.q_norm) + p.rotary_dim / 20;
    p.angle           = variant % 2 == 0 ? dtype::fp32 : p.activation;
    p.scale           = !is_fp8(p.cache)   ? scale_mode::none
                        : variant % 2 == 0 ? scale_mode::divide
                                           : scale_mode::reciprocal;
    p.has_index       = variant % 3 != 0;
    p.index_cache     = variant % 5 == 0   ? dtype::fp8_e4m3
                        : variant % 5 == 1 ? dtype::fp8_e4m3_fnuz
                                           : p.activation;
    p.index_query     = p.index_cache;
    p.query           = variant % 7 == 0 ? dtype::fp8_e4m3 : p.activation;
    p.query_scale     = variant % 7 == 0 ? scale_mode::divide : scale_mode::none;
    p.k_norm = p.index_norm = p.q_norm;
    p.v_norm                = variant % 4 == 1 ? norm_kind::weightless : norm_kind::none;
    p.over_vector           = variant % 3 == 1;
    p.interleaved           = variant % 5 == 3;
    p.keys_out              = variant % 2 == 1;
    p.rule.found            = is_fp8(p.cache) && variant % 3 == 2;
    p.block_pages           = variant % 4 == 2 ? 8 : 1;
    if (p.rotary_dim == 64 && variant % 2 == 0) {
        p.sections         = {12, 11, 9};
        p.sections_in_turn = variant % 4 == 0;
    }
    p.index_queries_through_activation = variant % 4 == 0;

    auto const scenes = standard_scenes(static_cast<std::uint64_t>(variant));
    auto const s      = kvloom_test::make_scene(p, scenes[static_cast<std::size_t>(variant) % scenes.size()]);
    auto const report = kvloom_test::check_against_oracle(s, kvloom_test::expected_image(s));
    CAPTURE(s.name(), static_cast<int>(p.activation), static_cast<int>(p.cache), static_cast<int>(p.q_norm),
            p.rotary_dim);
    CHECK(report.text == "");
    CHECK(report.outside == 0);
    CHECK(report.nearest <= 1.0);
    if (report.compared > 20000 && (p.q_norm != norm_kind::none || p.rotary_dim != 0)) {
        CHECK(report.nearest > 0.98); // somebody uses up half a step
    }
}
