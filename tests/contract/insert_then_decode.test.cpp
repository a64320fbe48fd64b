// SPDX-License-Identifier: MIT
// Insert, then decode, step by step over growing sequences: SHUFFLE pages of 16 to 1024 tokens.
#include "contract/growing_problems.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

using m3_bf16    = insert_problem;
using fp16_of_64 = as_it_comes<fp16, shuffled_cache<fp16, 64>, 64>;
using unscaled   = as_it_comes<bf16, shuffled_cache<fp8_e4m3_fnuz, 1024>, 64>;

struct static_scales : insert_problem
{
    using cache    = shuffled_cache<fp8_e4m3, 128>;
    using numerics = contract::aiter_static;
};

/// A line of the table that turns nothing.
template <int Dim>
std::vector<bf16> cosines_of_one()
{
    std::vector<bf16> line(Dim, bf16{});
    std::fill_n(line.begin(), Dim / 4, encode<bf16>(1.0F)); // half of the rotated dims, which are half of all
    return line;
}

/// The first element of a page.
template <class T>
int byte_at(T const* const data, page_model::cache const& cache, std::int64_t const page)
{
    backend_memory::finish();
    unsigned char byte = 0;
    backend_memory::download(&byte, data + page_model::offset(cache, page, 0, 0, 0), 1);
    return byte;
}

/// K and V of 3 over these scales are stored as these bytes, and are 3 to the decode.
template <class Insert>
void check_threes(double const key_scale, double const value_scale, int const key_byte, int const value_byte)
{
    using problem          = decode_after<Insert>;
    constexpr int dim      = Insert::head_dim;
    auto const three       = encode<bf16>(3.0F);
    decode_options options = {};
    options.lengths        = {1};
    options.heads          = 1;
    options.scale          = 0.125F;
    options.query          = [](int, std::int64_t, int, int const d) { return d == 0 ? 8.0 : 0.0; };
    auto s                 = scene_for<problem>(options);
    if (s.shape.key_by != scale_kind::none) {
        scalar_model::write(scalar_model::dtype::fp32, s.key_scales.bytes.data(), 0, key_scale);
        scalar_model::write(scalar_model::dtype::fp32, s.value_scales.bytes.data(), 0, value_scale);
    }
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        decode_call<problem> call(stream, s);
        device_array<bf16> const rows(std::size_t{3 * dim}, three),
            gain(std::size_t{dim}, encode<bf16>(2.0F));
        device_array<bf16> const angles(cosines_of_one<dim>());
        device_array<bf16> const aside(std::size_t{dim},
                                       bf16{}); // the query that is inserted is not the one that attends
        device_array<i64> const slots(std::vector<i64>{s.ids[0][0] * s.keys.page_size});
        device_array<i64> const positions(std::vector<i64>{0});
        insert_args<Insert> a;
        a.tokens = a.slot_count = 1;
        a.slots                 = slots.data();
        a.positions             = positions.data();
        a.angles                = {angles.data(), 1, Insert::rotary_dim};
        a.k_gain                = gain.data(); // what is three throughout is one, and times 1 + 2 three again
        a.q_gain                = gain.data();
        a.q_out                 = {aside.data(), 1, dim};
        a.keys                  = call.args.keys;
        a.values                = call.args.values;
        if constexpr (insert_types<Insert>::given_scales) {
            a.key_scale   = call.args.key_scale.data;
            a.value_scale = call.args.value_scale.data;
        }
        packed_row<Insert>(a, rows.data(), {1, 1, 0, 0});
        REQUIRE(text_of(qk_norm_rope_insert<Insert>::launch(stream, a)) == "");
        call.run(stream);
        CHECK(byte_at(call.args.keys.data, s.keys, s.ids[0][0]) == key_byte);
        CHECK(byte_at(call.args.values.data, s.values, s.ids[0][0]) == value_byte);
        double const lse = kvloom_test::detail::number_in(scalar_model::dtype::fp32, call.lse(), 0);
        CHECK(std::fabs(lse - 3.0) < 1e-5); // 0.125 * 8 * 3
        auto const out = call.out();
        for (int d = 0; d < dim; ++d) {
            REQUIRE(kvloom_test::detail::number_in(s.shape.out, out, d) == 3.0);
        }
    });
}

} // namespace

TEST_CASE("insert then decode: bf16, SHUFFLE pages of 16", "[contract][decode][law]")
{
    check_growth<m3_bf16>(across_pages(), crossed);
    auto g   = across_pages();
    g.caches = page_form::apart;
    g.blocks = 1;
    g.seed   = 2;
    check_growth<m3_bf16>(g, crossed);
}

TEST_CASE("insert then decode: fp16, SHUFFLE pages of 64", "[contract][decode][law]")
{
    check_growth<fp16_of_64>(across_pages(), crossed);
}

TEST_CASE("insert then decode: e4m3 with a scale for the cache, SHUFFLE pages of 128",
          "[contract][decode][law]")
{
    check_growth<static_scales>(across_pages(), crossed);
}

TEST_CASE("insert then decode: fnuz without a scale, SHUFFLE pages of 1024", "[contract][decode][law]")
{
    check_growth<unscaled>(usual_growth({1019, 13, 254}), {15, 16, 257, 1022, 1026, 1030, 1031});
}

TEST_CASE("what was stored over a scale is used times that scale", "[contract][cases]") // B14
{
    check_threes<static_scales>(0.5, 2.0, 0x4C, 0x3C);
}

TEST_CASE("fnuz is read as it was written, wherever it is", "[contract][cases]") // B09
{
    check_threes<unscaled>(1.0, 1.0, 0x4C, 0x4C);
}
