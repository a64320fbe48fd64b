// SPDX-License-Identifier: MIT
// Query rows of very large, very small and mixed numbers, and what becomes of their elements.
#pragma once

#include "contract/decode_check.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace kvloom_test {

using namespace kvloom;

/// Query rows of Query over caches of T; fp8 and fp16 operands meet a bf16 query as a row times a power of two.
template <class T, class Query, class ValueScale = no_scale>
struct ranged : decode_problem
{
    using query       = Query;
    using key_cache   = shuffled_keys<T, 64>;
    using value_cache = shuffled_values<T, 64>;
    using value_scale = ValueScale;
    using lse         = natural_lse;
};

using in_bf16          = ranged<bf16, bf16>;                 // operands bf16, the query's own type
using in_fp16          = ranged<fp8_e4m3, bf16>;             // operands fp16, a query of another type
using in_fp16_16       = ranged<fp16, bf16>;                 // the same over an fp16 cache
using in_bf16_by_token = ranged<fp8_e4m3, fp16, scale_view>; // operands bf16, a query of another type

/// A number of about unit size that depends on nothing but its place.
inline double unit_at(int const sequence, std::int64_t const token, int const head, int const d)
{
    auto const place = static_cast<std::uint64_t>(((sequence * 97 + token) * 131 + head) * 521 + d);
    return random_source(place).normal();
}

/// Rows of `loud`, of `quiet`, of zeros and of both side by side, one after the other over the heads. The scale makes of
/// the loud ones scores of about 1.
inline decode_options four_kinds(double const loud, double const quiet)
{
    decode_options o;
    o.lengths = {1, 17, 64, 300, 530};
    o.heads   = 8;
    o.count   = 2;
    o.scale   = static_cast<float>(0.2 / loud);
    o.query   = [=](int const sequence, std::int64_t const token, int const head, int const d) {
        double const unit = unit_at(sequence, token, head, d);
        switch (head % 4) {
        case 0:
            return loud * unit;
        case 1:
            return quiet * unit;
        case 2:
            return 0.0;
        default:
            return (d % 3 == 0 ? loud : d % 3 == 1 ? quiet : 1.0) * unit;
        }
    };
    return o;
}

/// What a row's element becomes as an operand: sequences of one token whose key is 1 in one dim and 0 elsewhere have it
/// as the logarithm of their sum. Gives the elements of dims 1 and on; element 0 is the row's largest.
template <class Problem, class Stream>
std::vector<double> operands_of(Stream const& stream, std::vector<double> const& elements, float const scale)
{
    int const count = static_cast<int>(elements.size()) - 1;
    decode_options o;
    o.lengths.assign(static_cast<std::size_t>(count), 1);
    o.heads = 1;
    o.scale = scale;
    o.query = [&](int, std::int64_t, int, int const d) {
        return d < static_cast<int>(elements.size()) ? elements[static_cast<std::size_t>(d)] : 0.0;
    };
    o.key = [](int const sequence, std::int64_t, int, int const d) { return d == sequence + 1 ? 1.0 : 0.0; };
    auto const s = scene_for<Problem>(o);
    decode_call<Problem> call(stream, s);
    call.run(stream);
    std::vector<double> found;
    for (int i = 0; i < count; ++i) {
        double const lse =
            kvloom_test::detail::number_in(scalar_model::dtype::fp32, call.lse(), i * s.lse_stride);
        found.push_back(lse / static_cast<double>(scale));
    }
    return found;
}

/// bf16 elements from the row's largest, 2^exponent, down to 2^-45 of it, with every bit of their significands set.
inline std::vector<double> falling(int const exponent)
{
    std::vector<double> elements{std::ldexp(1.0, exponent)};
    for (int down = 1; down <= 45; ++down) {
        elements.push_back(std::ldexp(down % 2 == 0 ? 255.0 / 128.0 : -255.0 / 128.0, exponent - down - 1));
    }
    return elements;
}

} // namespace kvloom_test
