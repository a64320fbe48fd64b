// SPDX-License-Identifier: MIT
// Compares every output of a scene with the oracle, within bounds that follow from the roundings on its way.
#pragma once

#include "contract/scalar_model.hpp"
#include "oracle/qk_norm_rope_insert.hpp"
#include "support/scene.hpp"

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
            bool const known = p_.rotary_dim == 0 || inside(s_.positions[index(token)], s_.angle_rows);
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

    std::vector<oracle::value> prepared(rows_at const& at, block_id const gain_id, int const token,
                                        int const head) const
    {
        using scalar_model::norm_kind;
        std::vector<double> gain, cosines, sines;
        for (int d = 0;
             d < p_.head_dim && (p_.norm == norm_kind::plain_gain || p_.norm == norm_kind::unit_offset);
             ++d) {
            gain.push_back(number(before_, gain_id, d));
        }
        for (int i = 0; i < p_.rotary_dim / 2; ++i) {
            std::int64_t const line = s_.positions[index(token)] * (p_.rotary_dim + s_.options.angle_gap);
            cosines.push_back(number(before_, block_angles, line + i));
            sines.push_back(number(before_, block_angles, line + p_.rotary_dim / 2 + i));
        }
        oracle::row_formula formula{p_.head_dim,
                                    p_.rotary_dim,
                                    p_.norm != norm_kind::none,
                                    static_cast<double>(s_.options.eps),
                                    gain.empty() ? nullptr : gain.data(),
                                    p_.norm == norm_kind::unit_offset ? 1.0 : 0.0,
                                    {},
                                    false,
                                    false,
                                    false};
        formula.type        = format(p_.activation);
        formula.before_gain = p_.round_before_gain && !gain.empty();
        formula.after_norm  = p_.round_after_norm;
        formula.in_rotation = p_.rotate_in_activation;

        auto const x = source_row(at, token, head);
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
                   bool through_activation)
    {
        for (int d = 0; d < p_.head_dim; ++d) {
            scalar_model::dtype const type = s_.blocks[to.block].type;
            oracle::value want             = y[index(d)];
            if (through_activation || type == p_.activation) {
                want = oracle::rounded(want, format(p_.activation));
            }
            compare(to.block, to.first + token * to.token_stride + head * to.head_stride + d,
                    narrowed(want, type));
        }
    }

    void check_queries(int const token, bool const known)
    {
        std::vector<oracle::value> const zeros(index(p_.head_dim));
        for (int head = 0; head < s_.q_out.heads; ++head) {
            check_row(s_.q_out, token, head, known ? prepared(s_.q, block_q_gain, token, head) : zeros,
                      known);
        }
        for (int head = 0; head < s_.index_q_out.heads; ++head) {
            auto const y = known ? prepared(s_.index_q, block_index_q_gain, token, head) : zeros;
            check_row(s_.index_q_out, token, head, y, known && p_.index_queries_through_activation);
        }
    }

    oracle::value in_cache(oracle::value const rounded, double const scale) const
    {
        switch (p_.scale) {
        case scalar_model::scale_mode::divide:
            return oracle::rounded(oracle::scaled(rounded, scale, 1), format(p_.cache));
        case scalar_model::scale_mode::reciprocal:
            return oracle::rounded(oracle::scaled(rounded, scale, 2), format(p_.cache));
        default:
            return narrowed(rounded, p_.cache);
        }
    }

    std::int64_t element_at(cache_at const& c, scalar_model::layout order, int page_size, std::int64_t slot,
                            int head, int dim) const
    {
        scalar_model::cache const strides{nullptr,       c.pages,       c.heads,
                                          c.page_stride, c.head_stride, c.token_stride};
        return c.first
               + scalar_model::offset_in_cache(strides, order, s_.blocks[c.block].type, page_size,
                                               p_.head_dim, slot, head, dim);
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
        auto const key_scale    = static_cast<double>(s_.options.key_scale);
        auto const value_scale  = static_cast<double>(s_.options.value_scale);
        for (int head = 0; head < s_.keys.heads; ++head) {
            auto const y = prepared(s_.k, block_k_gain, token, head);
            auto const v = source_row(s_.v, token, head);
            for (int d = 0; d < p_.head_dim; ++d) {
                auto const key_at   = element_at(s_.keys, p_.key_order, p_.page_size, slot, head, d);
                auto const value_at = element_at(s_.values, p_.value_order, p_.page_size, slot, head, d);
                compare(s_.keys.block, key_at, in_cache(key_for(y[index(d)], p_.cache), key_scale));
                compare(s_.values.block, value_at, in_cache({v[index(d)], 0.0}, value_scale));
            }
        }
    }

    void check_index_cache(int const token)
    {
        if (!stored(s_.index_slots, s_.index_keys.pages, p_.index_page_size, token)) {
            return;
        }
        std::int64_t const slot = s_.index_slots[index(token)];
        auto const y            = prepared(s_.index_k, block_index_k_gain, token, 0);
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
