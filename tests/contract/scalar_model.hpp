// SPDX-License-Identifier: MIT
// The contract of the fused insert as a scalar program: one element at a time, every rounding written down, exact bytes
// of every output. Written apart from the library and includes none of its headers.
#pragma once

#include "contract/scalar_problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace scalar_model {

// Each operation below rounds once to fp32. A product of two fp32 numbers is exact in double, and a sum, quotient or
// root that is rounded to double first rounds to fp32 as if it had been rounded once; so no compiler can contract them.
inline float product(float const a, float const b)
{
    return static_cast<float>(static_cast<double>(a) * static_cast<double>(b));
}
inline float sum(float const a, float const b)
{
    return static_cast<float>(static_cast<double>(a) + static_cast<double>(b));
}
inline float quotient(float const a, float const b)
{
    return static_cast<float>(static_cast<double>(a) / static_cast<double>(b));
}
inline float root(float const a)
{
    return static_cast<float>(std::sqrt(static_cast<double>(a)));
}
inline float fused(float const a, float const b, float const c)
{
    return std::fma(a, b, c);
}

/// Squares in runs of eight neighbours, each an even and an odd chain; then runs pairwise at distance 1, 2, 4, ...
inline float sum_of_squares(std::vector<float> const& x)
{
    std::size_t count = 1;
    while (count * 8 < x.size()) {
        count *= 2;
    }
    std::vector<float> runs(count, 0.0f);
    for (std::size_t run = 0; run * 8 < x.size(); ++run) {
        float chain[2] = {};
        for (int parity = 0; parity < 2; ++parity) {
            float const* const first = &x[run * 8 + static_cast<std::size_t>(parity)];
            chain[parity]            = product(first[0], first[0]);
            for (int step = 2; step < 8; step += 2) {
                chain[parity] = fused(first[step], first[step], chain[parity]);
            }
        }
        runs[run] = sum(chain[0], chain[1]);
    }
    for (std::size_t distance = 1; distance < count; distance *= 2) {
        for (std::size_t run = 0; run < count; run += 2 * distance) {
            runs[run] = sum(runs[run], runs[run + distance]);
        }
    }
    return runs[0];
}

/// 1 / rms of a row, or of all heads of a token one behind the other.
inline float inverse_rms(std::vector<float> const& x, float const eps)
{
    float const share = quotient(1.0f, static_cast<float>(x.size()));
    return quotient(1.0f, root(fused(sum_of_squares(x), share, eps)));
}

/// Normalises a row by a factor r; its weights begin with element `first` of `gain`.
inline void normalise(problem const& p, norm_kind const norm, std::vector<float>& x, float const r,
                      void const* const gain, std::int64_t const first = 0)
{
    if (norm == norm_kind::none) {
        return;
    }
    for (std::size_t d = 0; d < x.size(); ++d) {
        x[d] = product(x[d], r);
        if (p.round_before_gain && norm != norm_kind::weightless) {
            x[d] = round_to(p.activation, x[d]);
        }
        if (norm != norm_kind::weightless) {
            float const weight = read(p.activation, gain, first + static_cast<std::int64_t>(d));
            x[d]               = product(x[d], norm == norm_kind::unit_offset ? sum(1.0f, weight) : weight);
        }
        if (p.round_after_norm) {
            x[d] = round_to(p.activation, x[d]);
        }
    }
}

/// Whose position frequency i follows.
inline int section_of(problem const& p, int const i)
{
    if (p.position_sections() == 1) {
        return 0;
    }
    if (p.sections_in_turn) {
        for (int section = 1; section < 3; ++section) {
            if (i % 3 == section && i < 3 * p.sections[static_cast<std::size_t>(section)]) {
                return section;
            }
        }
        return 0;
    }
    return i < p.sections[0] ? 0 : i < p.sections[0] + p.sections[1] ? 1 : 2;
}

/// Rotates a row; `lines` holds the first element of the table's row for each section.
inline void rotate(problem const& p, std::vector<float>& n, void const* const angles,
                   std::array<std::int64_t, 3> const& lines)
{
    int const half = p.rotary_dim / 2;
    for (int i = 0; i < half; ++i) {
        std::int64_t const line = lines[static_cast<std::size_t>(section_of(p, i))];
        float const cosine      = read(p.angle, angles, line + i);
        float const sine        = read(p.angle, angles, line + half + i);
        auto& first             = n[static_cast<std::size_t>(p.interleaved ? 2 * i : i)];
        auto& second            = n[static_cast<std::size_t>(p.interleaved ? 2 * i + 1 : i + half)];
        float const low         = first;
        float const high        = second;

        auto const turned = [&](float const own, float const other) {
            if (!p.rotate_in_activation) {
                return fused(own, cosine, product(other, sine));
            }
            float const one = round_to(p.activation, product(own, cosine));
            float const two = round_to(p.activation, product(other, sine));
            return round_to(p.activation, sum(one, two));
        };
        first  = turned(low, -high);
        second = turned(high, low);
    }
}

/// A scale that cannot be divided by counts as one.
inline float usable(float const scale)
{
    return std::isfinite(scale) && scale != 0.0f ? scale : 1.0f;
}

/// What a cache of type `type` holds for `number`; `limit` 0: the format's.
inline unsigned cache_code(dtype const type, scale_mode const mode, float const number, float const scale,
                           overflow const policy = overflow::saturate, double const limit = 0.0)
{
    float scaled = mode == scale_mode::divide       ? quotient(number, usable(scale))
                   : mode == scale_mode::reciprocal ? product(number, quotient(1.0f, usable(scale)))
                   : mode == scale_mode::multiply   ? product(number, scale)
                                                    : number;
    if (limit != 0.0 && !std::isnan(scaled)) {
        scaled = std::clamp(scaled, static_cast<float>(-limit), static_cast<float>(limit));
    }
    return encode(type, scaled, policy);
}

/// The largest magnitude that cache type `type` is given.
inline double limit_of(problem const& p, dtype const type)
{
    return p.limit != 0.0 ? p.limit : type == dtype::fp8_e4m3 ? 448.0 : 240.0;
}

/// The scale that a row finds for itself.
inline float found_scale(problem const& p, dtype const type, std::vector<float> const& y)
{
    float largest = 0.0f;
    for (float const exact : y) {
        float const number = p.rule.after_rounding ? round_to(p.activation, exact) : exact;
        largest            = std::isnan(number) ? largest : std::max(largest, std::fabs(number));
    }
    if (largest == 0.0f && p.rule.least == 0.0) {
        return static_cast<float>(p.rule.of_zeros);
    }
    largest =
        std::min(std::max(largest, static_cast<float>(p.rule.least)), std::numeric_limits<float>::max());
    return quotient(largest, static_cast<float>(limit_of(p, type)));
}

/// The slot of a token, or -1 where nothing is to be stored.
inline std::int64_t slot_of(slot_list const& slots, int const token, int const pages, int const page_size)
{
    if (token >= slots.count || slots.data[token] < 0
        || slots.data[token] >= std::int64_t{pages} * page_size) {
        return -1;
    }
    return slots.data[token];
}

/// Runs one call.
class runner
{
public:
    runner(problem const& p, call const& a) : p_(p), a_(a) {}

    void run()
    {
        for (int token = 0; token < a_.tokens; ++token) {
            run_token(token);
        }
    }

private:
    using row = std::vector<float>;

    row load(rows const& from, int const token, int const head) const
    {
        row x(static_cast<std::size_t>(p_.head_dim));
        for (int d = 0; d < p_.head_dim; ++d) {
            std::int64_t const at          = token * from.token_stride + head * from.head_stride + d;
            x[static_cast<std::size_t>(d)] = read(p_.activation, from.data, at);
        }
        return x;
    }

    float factor(rows const& from, norm_kind const norm, bool const vector, int const token,
                 int const head) const
    {
        if (norm == norm_kind::none) {
            return 1.0f;
        }
        if (!vector) {
            return inverse_rms(load(from, token, head), a_.eps);
        }
        row all;
        for (int h = 0; h < from.heads; ++h) {
            row const x = load(from, token, h);
            all.insert(all.end(), x.begin(), x.end());
        }
        return inverse_rms(all, a_.eps);
    }

    row normalised(rows const& from, norm_kind const norm, bool const vector, void const* const gain,
                   int const token, int const head) const
    {
        row x = load(from, token, head);
        normalise(p_, norm, x, factor(from, norm, vector, token, head), gain,
                  vector ? std::int64_t{head} * p_.head_dim : 0);
        return x;
    }

    row prepared(rows const& from, norm_kind const norm, bool const vector, void const* const gain,
                 int const token, int const head) const
    {
        row x = normalised(from, norm, vector, gain, token, head);
        if (p_.rotary_dim > 0) {
            std::array<std::int64_t, 3> lines{};
            for (int s = 0; s < p_.position_sections(); ++s) {
                lines[static_cast<std::size_t>(s)] =
                    a_.positions[std::int64_t{s} * a_.tokens + token] * a_.angle_stride;
            }
            rotate(p_, x, a_.angles, lines);
        }
        return x;
    }

    void store_dense(rows const& to, dtype const type, bool const round_first, scale_mode const mode,
                     int const token, int const head, row const& y) const
    {
        for (int d = 0; d < p_.head_dim; ++d) {
            float const exact     = y[static_cast<std::size_t>(d)];
            float const number    = round_first ? round_to(p_.activation, exact) : exact;
            std::int64_t const at = token * to.token_stride + head * to.head_stride + d;
            float const scale     = mode == scale_mode::none ? 1.0f : *a_.query_scale;
            write_code(type, static_cast<unsigned char*>(to.data) + at * size_of(type),
                       cache_code(type, mode, number, scale, p_.fp8_overflow));
        }
    }

    struct target
    {
        cache const& into;
        layout order;
        dtype type;
        int page_size;
        int block_pages;
        scale_mode mode;
        double limit;
    };

    void store_cached(target const& to, std::int64_t const slot, int const head, row const& y,
                      float const scale) const
    {
        for (int d = 0; d < p_.head_dim; ++d) {
            float const exact  = y[static_cast<std::size_t>(d)];
            float const number = p_.keys_through_activation ? round_to(p_.activation, exact) : exact;
            auto const at = offset_in_cache(to.into, to.order, to.type, to.page_size, p_.head_dim, slot, head,
                                            d, to.block_pages);
            write_code(to.type, static_cast<unsigned char*>(to.into.data) + at * size_of(to.type),
                       cache_code(to.type, to.mode, number, scale, p_.fp8_overflow, to.limit));
        }
    }

    /// A row of K or V with its scale.
    void store_scaled(target const& to, float const* const given, scales const& out, std::int64_t const slot,
                      int const head, row const& y) const
    {
        if (!p_.rule.found) {
            store_cached(to, slot, head, y, given == nullptr ? 1.0f : given[p_.head_scales ? head : 0]);
            return;
        }
        float const scale = found_scale(p_, to.type, y);
        float const used  = std::max(scale, static_cast<float>(p_.rule.least_divisor));
        store_cached(to, slot, head, y, used);
        out.data[slot / p_.page_size * out.page_stride + head * out.head_stride + slot % p_.page_size] =
            scale;
    }

    bool known(int const token) const
    {
        bool inside = true;
        for (int s = 0; s < p_.position_sections() && p_.rotary_dim > 0; ++s) {
            std::int64_t const position = a_.positions[std::int64_t{s} * a_.tokens + token];
            inside                      = inside && position >= 0 && position < a_.angle_rows;
        }
        return inside;
    }

    void count(int const which, bool const fault) const
    {
        a_.faults[which] += p_.counts_faults && fault ? 1 : 0;
    }

    static bool beyond(slot_list const& slots, int const token, int const pages, int const page_size)
    {
        return token < slots.count && slots.data[token] >= std::int64_t{pages} * page_size;
    }

    void run_token(int const token) const
    {
        row const zeros(static_cast<std::size_t>(p_.head_dim), 0.0f);
        bool const inside = known(token);
        int const pages   = std::min(a_.keys.pages, a_.values.pages);
        count(0, !inside);
        count(1, beyond(a_.slots, token, pages, p_.page_size));
        count(2, p_.has_index && beyond(a_.index_slots, token, a_.index_keys.pages, p_.index_page_size));

        for (int head = 0; head < a_.q.heads; ++head) {
            row const y = inside ? prepared(a_.q, p_.q_norm, p_.over_vector, a_.q_gain, token, head) : zeros;
            store_dense(a_.q_out, p_.query, p_.query == p_.activation || p_.queries_through_activation,
                        p_.query_scale, token, head, y);
        }
        std::int64_t const slot = inside ? slot_of(a_.slots, token, pages, p_.page_size) : -1;
        for (int head = 0; head < a_.k.heads; ++head) {
            row const y = inside ? prepared(a_.k, p_.k_norm, p_.over_vector, a_.k_gain, token, head) : zeros;
            if (p_.keys_out) {
                store_dense(a_.k_out, p_.activation, true, scale_mode::none, token, head, y);
            }
            if (slot >= 0) {
                target const to{a_.keys,        p_.key_order, p_.cache, p_.page_size,
                                p_.block_pages, p_.scale,     p_.limit};
                store_scaled(to, a_.key_scale, a_.key_scales, slot, head, y);
            }
        }
        for (int head = 0; slot >= 0 && head < a_.v.heads; ++head) {
            target const to{a_.values,      p_.value_order, p_.cache, p_.page_size,
                            p_.block_pages, p_.scale,       p_.limit};
            store_scaled(to, a_.value_scale, a_.value_scales, slot, head,
                         normalised(a_.v, p_.v_norm, false, a_.v_gain, token, head));
        }
        if (p_.has_index) {
            run_index(token, inside, zeros);
        }
    }

    void run_index(int const token, bool const inside, row const& zeros) const
    {
        for (int head = 0; head < a_.index_q.heads; ++head) {
            row const y =
                inside ? prepared(a_.index_q, p_.index_norm, false, a_.index_q_gain, token, head) : zeros;
            store_dense(a_.index_q_out, p_.index_query, p_.index_queries_through_activation, scale_mode::none,
                        token, head, y);
        }
        if (a_.index_k.heads == 0) {
            return;
        }
        row const y = inside ? prepared(a_.index_k, p_.index_norm, false, a_.index_k_gain, token, 0) : zeros;
        if (p_.keys_out) {
            store_dense(a_.index_k_out, p_.activation, true, scale_mode::none, token, 0, y);
        }
        std::int64_t const slot = slot_of(a_.index_slots, token, a_.index_keys.pages, p_.index_page_size);
        if (inside && slot >= 0) {
            target const to{a_.index_keys,    layout::rows, p_.index_cache, p_.index_page_size, 1,
                            scale_mode::none, 0.0};
            store_cached(to, slot, 0, y, 1.0f);
        }
    }

    problem const& p_;
    call const& a_;
};

/// Runs the whole call on the memory that `a` points to. An output may be its own source.
inline void run(problem const& p, call const& a)
{
    runner(p, a).run();
}

} // namespace scalar_model
