// SPDX-License-Identifier: MIT
// Compares every output of a scene with the oracle, within bounds that follow from the roundings on its way.
#pragma once

#include "contract/scalar_model.hpp"
#include "oracle/qk_norm_rope_insert.hpp"
#include "support/scene.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace kvloom_test {

/// The oracle's name of a format. With to_nan an fp8 format leaves its range as one with infinities does.
inline oracle::format format_of(scalar_model::dtype const type, scalar_model::overflow const policy)
{
    oracle::format fp8 = type == scalar_model::dtype::fp8_e4m3 ? oracle::fp8_e4m3 : oracle::fp8_e4m3_fnuz;
    fp8.has_infinity   = policy == scalar_model::overflow::to_nan;
    switch (type) {
    case scalar_model::dtype::fp32:
        return oracle::fp32;
    case scalar_model::dtype::bf16:
        return oracle::bf16;
    case scalar_model::dtype::fp16:
        return oracle::fp16;
    default:
        return fp8;
    }
}

/// Holds the first output that lies outside its bounds, how many do, and how near the others came.
struct oracle_report
{
    std::string text;
    std::int64_t compared = 0;
    std::int64_t outside  = 0;
    double nearest        = 0.0; // the largest share of its slack that any output took
};

class oracle_check
{
public:
    oracle_check(scene const& s, image const& after, int const every)
        : s_(s), p_(s.problem), before_(s.initial()), after_(after), every_(every)
    {}

    oracle_report run()
    {
        for (int token = 0; token < s_.options.tokens; token += every_) {
            bool const known = all_inside(token);
            check_queries(token, known);
            if (known) {
                check_cache(token);
                check_index_cache(token);
            }
        }
        return report_;
    }

private:
    oracle::format format(scalar_model::dtype const type) const { return format_of(type, p_.fp8_overflow); }
    static std::size_t index(std::int64_t const i) { return static_cast<std::size_t>(i); }
    static bool inside(std::int64_t const number, std::int64_t const limit)
    {
        return number >= 0 && number < limit;
    }

    std::int64_t position(int const section, int const token) const
    {
        return s_.positions[index(std::int64_t{section} * s_.options.tokens + token)];
    }

    bool all_inside(int const token) const
    {
        bool known = true;
        for (int section = 0; section < p_.position_sections() && p_.rotary_dim > 0; ++section) {
            known = known && inside(position(section, token), s_.angle_rows);
        }
        return known;
    }

    double number(image const& from, block_id const id, std::int64_t const element) const
    {
        return number_at(s_, from, id, element);
    }

    std::vector<double> source_row(rows_at const& at, int const token, int const head) const
    {
        std::vector<double> x;
        for (int d = 0; d < p_.head_dim; ++d) {
            x.push_back(
                number(before_, at.block, at.first + token * at.token_stride + head * at.head_stride + d));
        }
        return x;
    }

    /// A section of the projection row, and how it is prepared.
    struct section
    {
        rows_at const& from;
        scalar_model::norm_kind norm;
        block_id gain;
        bool over_vector;
        bool turns;
    };

    section q() const { return {s_.q, p_.q_norm, block_q_gain, p_.over_vector, true}; }
    section k() const { return {s_.k, p_.k_norm, block_k_gain, p_.over_vector, true}; }
    section v() const { return {s_.v, p_.v_norm, block_v_gain, false, false}; }
    section index_q() const { return {s_.index_q, p_.index_norm, block_index_q_gain, false, true}; }
    section index_k() const { return {s_.index_k, p_.index_norm, block_index_k_gain, false, true}; }

    std::vector<oracle::value> prepared(section const& part, int const token, int const head) const
    {
        using scalar_model::norm_kind;
        bool const offset = part.norm == norm_kind::unit_offset;
        std::vector<double> gain, cosines, sines, vector;
        for (int d = 0; d < p_.head_dim && (offset || part.norm == norm_kind::plain_gain); ++d) {
            gain.push_back(number(before_, part.gain, (part.over_vector ? head * p_.head_dim : 0) + d));
        }
        for (int i = 0; i < p_.rotary_dim / 2 && part.turns; ++i) {
            std::int64_t const line =
                position(scalar_model::section_of(p_, i), token) * (p_.rotary_dim + s_.options.angle_gap);
            cosines.push_back(number(before_, block_angles, line + i));
            sines.push_back(number(before_, block_angles, line + p_.rotary_dim / 2 + i));
        }
        oracle::row_formula formula;
        formula.head_dim    = p_.head_dim;
        formula.rotary_dim  = part.turns ? p_.rotary_dim : 0;
        formula.normalised  = part.norm != norm_kind::none;
        formula.eps         = static_cast<double>(s_.options.eps);
        formula.gain        = gain.empty() ? nullptr : gain.data();
        formula.gain_offset = offset ? 1.0 : 0.0;
        formula.interleaved = p_.interleaved;
        formula.type        = format(p_.activation);
        formula.before_gain = p_.round_before_gain && !gain.empty();
        formula.after_norm  = p_.round_after_norm;
        formula.in_rotation = p_.rotate_in_activation;
        if (part.over_vector) {
            for (int h = 0; h < part.from.heads; ++h) {
                auto const more = source_row(part.from, token, h);
                vector.insert(vector.end(), more.begin(), more.end());
            }
            formula.vector      = vector.data();
            formula.vector_size = static_cast<int>(vector.size());
        }
        auto const x = source_row(part.from, token, head);
        return oracle::prepared_row(x.data(), formula, cosines.data(), sines.data());
    }

    void compare(block_id const id, std::int64_t const element, oracle::value const want)
    {
        double const got = number(after_, id, element);
        ++report_.compared;
        if (!oracle::accepts(want, got)) {
            if (report_.outside++ == 0) {
                std::ostringstream text;
                text.precision(10);
                text << name_of(id) << '[' << element << "]: want " << want.exact << " +- " << want.slack
                     << ", got " << got;
                report_.text = text.str();
            }
        } else if (want.slack > 0.0 && !std::isinf(want.slack) && !std::isnan(got)) {
            report_.nearest = std::max(report_.nearest, std::fabs(got - want.exact) / want.slack);
        }
    }

    /// K and index_k on their way to a cache of `type`.
    oracle::value key_for(oracle::value const y, scalar_model::dtype const type) const
    {
        bool const through = p_.keys_through_activation || type == p_.activation;
        return through ? oracle::rounded(y, format(p_.activation)) : y;
    }

    oracle::value narrowed(oracle::value const y, scalar_model::dtype const type) const
    {
        return type == p_.activation ? y : oracle::rounded(y, format(type));
    }

    void check_row(rows_at const& to, int token, int head, std::vector<oracle::value> const& y,
                   bool through_activation, scalar_model::scale_mode mode = scalar_model::scale_mode::none)
    {
        for (int d = 0; d < p_.head_dim; ++d) {
            scalar_model::dtype const type = s_.blocks[to.block].type;
            oracle::value want             = y[index(d)];
            if (through_activation || type == p_.activation) {
                want = oracle::rounded(want, format(p_.activation));
            }
            if (mode != scalar_model::scale_mode::none) {
                want = by_scale(want, mode, static_cast<double>(s_.options.query_scale));
            }
            compare(to.block, to.first + token * to.token_stride + head * to.head_stride + d,
                    narrowed(want, type));
        }
    }

    void check_queries(int const token, bool const known)
    {
        std::vector<oracle::value> const zeros(index(p_.head_dim));
        for (int head = 0; head < s_.q_out.heads; ++head) {
            check_row(s_.q_out, token, head, known ? prepared(q(), token, head) : zeros,
                      known && p_.queries_through_activation, p_.query_scale);
        }
        for (int head = 0; head < s_.index_q_out.heads; ++head) {
            auto const y = known ? prepared(index_q(), token, head) : zeros;
            check_row(s_.index_q_out, token, head, y, known && p_.index_queries_through_activation);
        }
        for (int head = 0; head < s_.k_out.heads; ++head) {
            check_row(s_.k_out, token, head, known ? prepared(k(), token, head) : zeros, true);
        }
        for (int head = 0; head < s_.index_k_out.heads; ++head) {
            check_row(s_.index_k_out, token, head, known ? prepared(index_k(), token, head) : zeros, true);
        }
    }

    /// A number divided by a scale, or multiplied by its reciprocal or by the scale itself.
    static oracle::value by_scale(oracle::value const v, scalar_model::scale_mode const mode,
                                  double const scale)
    {
        using scalar_model::scale_mode;
        return oracle::scaled(v, mode == scale_mode::multiply ? 1.0 / scale : scale,
                              mode == scale_mode::reciprocal ? 2 : 1);
    }

    /// A number of K or V as it is stored with a scale, clamped to the contract's limit.
    oracle::value in_cache(oracle::value const through, double const scale) const
    {
        bool const scales =
            p_.scale != scalar_model::scale_mode::none && p_.scale != scalar_model::scale_mode::unit;
        oracle::value value = scales ? by_scale(through, p_.scale, scale) : through;
        if (p_.limit != 0.0 && !std::isnan(value.exact)) {
            value.exact = std::clamp(value.exact, -p_.limit, p_.limit);
        }
        return scales ? oracle::rounded(value, format(p_.cache)) : narrowed(value, p_.cache);
    }

    std::int64_t element_at(cache_at const& c, scalar_model::layout order, int page_size, std::int64_t slot,
                            int head, int dim) const
    {
        scalar_model::cache const strides{nullptr,       c.pages,        c.heads,       c.page_stride,
                                          c.head_stride, c.token_stride, c.block_stride};
        int const block = c.block == block_index_keys ? 1 : p_.block_pages;
        return c.first
               + scalar_model::offset_in_cache(strides, order, s_.blocks[c.block].type, page_size,
                                               p_.head_dim, slot, head, dim, block);
    }

    static bool stored(std::vector<std::int64_t> const& slots, int const pages, int const page_size,
                       int const token)
    {
        return index(token) < slots.size() && inside(slots[index(token)], std::int64_t{pages} * page_size);
    }

    void check_cache(int const token)
    {
        if (!stored(s_.slots, std::min(s_.keys.pages, s_.values.pages), p_.page_size, token)) {
            return;
        }
        std::int64_t const slot = s_.slots[index(token)];
        for (int head = 0; head < s_.keys.heads; ++head) {
            check_cached(s_.keys, p_.key_order, block_key_scale, s_.key_scales, slot, head,
                         prepared(k(), token, head));
            check_cached(s_.values, p_.value_order, block_value_scale, s_.value_scales, slot, head,
                         prepared(v(), token, head));
        }
    }

    /// A row of K or V, and its scale where it finds one: that one must be right, and is then taken as it is.
    void check_cached(cache_at const& into, scalar_model::layout const order, block_id const given,
                      scales_at const& found, std::int64_t const slot, int const head,
                      std::vector<oracle::value> const& y)
    {
        double scale = 1.0;
        if (p_.rule.found) {
            auto const at =
                slot / p_.page_size * found.page_stride + head * found.head_stride + slot % p_.page_size;
            compare(found.block, at, scale_of(y));
            scale = std::max(number(after_, found.block, at), p_.rule.least_divisor);
            scale = scale == 0.0 ? 1.0 : scale;
        } else if (p_.scale != scalar_model::scale_mode::none && p_.scale != scalar_model::scale_mode::unit) {
            scale = number(before_, given, p_.head_scales ? head : 0);
        }
        for (int d = 0; d < p_.head_dim; ++d) {
            compare(into.block, element_at(into, order, p_.page_size, slot, head, d),
                    in_cache(key_for(y[index(d)], p_.cache), scale));
        }
    }

    /// The scale of a row: as far off as its largest magnitude, by a rounding to the activation type, and by a division.
    oracle::value scale_of(std::vector<oracle::value> const& y) const
    {
        oracle::value largest;
        for (oracle::value one : y) {
            if (p_.rule.after_rounding) {
                one = oracle::rounded(one, format(p_.activation));
            }
            if (!std::isnan(one.exact)) {
                largest.exact = std::max(largest.exact, std::fabs(one.exact));
                largest.slack = std::max(largest.slack, one.slack);
            }
        }
        double const limit = scalar_model::limit_of(p_, p_.cache);
        if (largest.exact == 0.0 && p_.rule.least == 0.0) {
            return {p_.rule.of_zeros, 0.0};
        }
        largest.exact = std::min(std::max(largest.exact, p_.rule.least), oracle::fp32.largest);
        return oracle::scaled(largest, limit, 1);
    }

    void check_index_cache(int const token)
    {
        if (!stored(s_.index_slots, s_.index_keys.pages, p_.index_page_size, token)) {
            return;
        }
        std::int64_t const slot = s_.index_slots[index(token)];
        auto const y            = prepared(index_k(), token, 0);
        for (int d = 0; d < p_.head_dim; ++d) {
            auto const key = key_for(y[index(d)], p_.index_cache);
            compare(block_index_keys,
                    element_at(s_.index_keys, scalar_model::layout::rows, p_.index_page_size, slot, 0, d),
                    narrowed(key, p_.index_cache));
        }
    }

    scene const& s_;
    scalar_model::problem const& p_;
    image before_;
    image const& after_;
    int every_;
    oracle_report report_;
};

/// Every output of `s` as found in `after`, against the oracle; with `every` n, those of each n-th token.
inline oracle_report check_against_oracle(scene const& s, image const& after, int const every = 1)
{
    return oracle_check(s, after, every).run();
}

} // namespace kvloom_test
