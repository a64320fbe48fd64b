// SPDX-License-Identifier: MIT
// What a scene of paged decode must give: attention in double over what its caches hold, and the comparison with it.
#pragma once

#include "contract/decode_call.hpp"
#include "oracle/paged_decode.hpp"

namespace kvloom_test {

/// What a scaled score becomes: a function of it, of the positions of query and key, and of the query head.
using logit_rule = std::function<double(double, std::int64_t, std::int64_t, int)>;

template <class Logits>
logit_rule logit_of(decode_scene const& s)
{
    if constexpr (kvloom::is_same_v<Logits, kvloom::plain_logits>) {
        return [](double const score, std::int64_t, std::int64_t, int) { return score; };
    } else if constexpr (kvloom::is_same_v<Logits, kvloom::soft_cap>) {
        double const limit = s.options.cap;
        return [limit](double const score, std::int64_t, std::int64_t, int) {
            return limit * std::tanh(score / limit);
        };
    } else if constexpr (kvloom::is_same_v<Logits, kvloom::alibi>) {
        return [&s](double const score, std::int64_t const query, std::int64_t const key, int const head) {
            double const slope = scalar_model::read(scalar_model::dtype::fp32, s.slopes.bytes.data(), head);
            return score + slope * static_cast<double>(key - query);
        };
    } else {
        return &Logits::exact;
    }
}

/// The exact result of a scene, and how far an implementation may be from it: rows [query tokens][heads].
using decode_expectation = std::vector<oracle::attention_row>;

namespace detail {

/// Numbers of all codes of a format of 8 or 16 bits.
inline std::vector<float> const& numbers_of_codes(scalar_model::dtype const type)
{
    static std::vector<float> tables[5];
    auto& table = tables[static_cast<int>(type)];
    if (table.empty()) {
        for (unsigned code = 0; code < 1U << 8 * scalar_model::size_of(type); ++code) {
            table.push_back(static_cast<float>(scalar_model::decode(type, code)));
        }
    }
    return table;
}

/// What one head of a sequence holds, read from the caches through its table.
inline oracle::context gather(decode_scene const& s, int const sequence, int const head)
{
    oracle::context c;
    c.key_dim         = s.keys.dim;
    c.value_dim       = s.values.dim;
    auto const& ids   = s.ids[static_cast<std::size_t>(sequence)];
    auto const& table = numbers_of_codes(s.keys.type);
    auto const copy   = [&](page_model::cache const& cache, block const& from, std::int64_t const id,
                          int const slot, std::vector<float>& to) {
        for (int d = 0; d < cache.dim; ++d) {
            auto const at = page_model::offset(cache, id, head, slot, d) * scalar_model::size_of(cache.type);
            to.push_back(
                  id < 0
                      ? 0.0F
                      : table[scalar_model::read_code(cache.type, &from.bytes[static_cast<std::size_t>(at)])]);
        }
    };
    for (std::int64_t token = 0; token < s.lengths[static_cast<std::size_t>(sequence)]; ++token) {
        auto const page       = static_cast<std::size_t>(token / s.keys.page_size);
        auto const slot       = static_cast<int>(token % s.keys.page_size);
        std::int64_t const id = page < ids.size() && is_page(s, ids[page]) ? ids[page] : -1;
        c.present.push_back(id >= 0 ? 1 : 0);
        copy(s.keys, s.key_block, id, slot, c.keys);
        copy(s.values, s.value_block, id, slot, c.values);
        auto const scale = [&](page_model::scales const& by, block const& from) {
            page_model::scales here = by;
            here.data               = reinterpret_cast<float*>(const_cast<unsigned char*>(from.bytes.data()));
            return id < 0 || by.kind == scale_kind::none ? 1.0 : static_cast<double>(here.at(id, head, slot));
        };
        c.key_scales.push_back(scale(s.key_by, s.key_scales));
        c.value_scales.push_back(scale(s.value_by, s.value_scales));
    }
    return c;
}

inline oracle::attention_rounding rounding_of(decode_scene const& s, bool const changed)
{
    using scalar_model::dtype;
    oracle::attention_rounding r;
    bool const half  = s.shape.operand == dtype::fp16;
    bool const eight = scalar_model::size_of(s.shape.operand) == 1;
    r.probability    = std::ldexp(1.0, half ? -11 : eight ? -4 : -8);
    r.least          = half ? std::ldexp(1.0, -25) : eight ? std::ldexp(1.0, -17) : 0.0;
    r.query = eight ? std::ldexp(1.0, -4) : s.shape.query == dtype::fp16 && !half ? std::ldexp(1.0, -8) : 0.0;
    r.least_query = eight                                  ? std::ldexp(1.0, -16)
                    : s.shape.query == dtype::bf16 && half ? std::ldexp(1.0, -39)
                                                           : 0.0;
    r.logit       = changed ? 1e-5 : 0.0;
    return r;
}

inline double number_in(scalar_model::dtype const type, std::vector<unsigned char> const& bytes,
                        std::int64_t const at)
{
    auto const* const from = &bytes[static_cast<std::size_t>(at * scalar_model::size_of(type))];
    return scalar_model::decode(type, scalar_model::read_code(type, from));
}

} // namespace detail

/// `changed` says that the logits are not plain scores; `held_by(sequence, head)` is what a head of K and V holds.
template <class HeldBy>
decode_expectation expect(decode_scene const& s, logit_rule const& logit, bool const changed,
                          HeldBy const& held_by)
{
    auto const rounding = detail::rounding_of(s, changed);
    decode_expectation want(static_cast<std::size_t>(s.first_row.back() * s.options.heads));
    std::vector<double> query(static_cast<std::size_t>(s.keys.dim));
    for (int i = 0; i < s.sequences(); ++i) {
        std::int64_t const length = s.lengths[static_cast<std::size_t>(i)];
        int const tokens          = s.tokens[static_cast<std::size_t>(i)];
        oracle::context context;
        for (int head = 0; head < s.options.heads; ++head) {
            if (head % s.group() == 0) {
                context = held_by(i, head / s.group());
            }
            for (int token = 0; token < tokens; ++token) {
                std::int64_t const row      = s.first_row[static_cast<std::size_t>(i)] + token;
                std::int64_t const position = length - tokens + token;
                oracle::attention_rule rule;
                rule.scale    = static_cast<double>(s.options.scale);
                rule.last     = position + 1;
                rule.first    = s.shape.window && s.options.window > 0 ? position + 1 - s.options.window : 0;
                rule.has_sink = s.shape.sinks;
                rule.sink =
                    rule.has_sink ? detail::number_in(scalar_model::dtype::fp32, s.sinks.bytes, head) : 0.0;
                for (int d = 0; d < s.keys.dim; ++d) {
                    query[static_cast<std::size_t>(d)] =
                        detail::number_in(s.shape.query, s.query.bytes, s.query_rows.at(row, head) + d);
                }
                want[static_cast<std::size_t>(row * s.options.heads + head)] = oracle::attend(
                    context, query, rule, rounding, [&](double const score, std::int64_t const key) {
                        return logit(score, position, key, head);
                    });
            }
        }
    }
    return want;
}

/// The same of what the scene's caches hold.
inline decode_expectation expect(decode_scene const& s, logit_rule const& logit, bool const changed)
{
    return expect(s, logit, changed,
                  [&](int const sequence, int const head) { return detail::gather(s, sequence, head); });
}

/// How far results are from the exact ones, as parts of these, over all rows that see a token.
struct decode_error
{
    std::string wrong;     // the first result that is too far off
    int rows        = 0;   // that see a token
    double total    = 0.0; // root of the sum of squares
    double rounded  = 0.0; // the same of exact results rounded to the output type
    double of_rows  = 0.0; // root of the mean square of the rows' own relative errors
    double expected = 0.0; // the same of exact results rounded once, from probabilities rounded before
};

namespace detail {

struct number_range
{
    double low;
    double high;
};

inline number_range range_of(double const exact, double const slack, scalar_model::dtype const type)
{
    // rounding keeps order: what lies between two numbers is rounded to what lies between these rounded
    return {scalar_model::decode(type, scalar_model::encode(type, exact - slack)),
            scalar_model::decode(type, scalar_model::encode(type, exact + slack))};
}

/// Compares the dims of one row and adds up squares: of the exact results, of errors, of errors of rounding, and of
/// errors of both roundings.
inline void compare_row(decode_scene const& s, oracle::attention_row const& want,
                        std::vector<unsigned char> const& out, std::int64_t const first, double (&squares)[4],
                        std::string& wrong)
{
    for (int d = 0; d < s.out_rows.dim; ++d) {
        auto const at        = static_cast<std::size_t>(d);
        double const exact   = want.out[at];
        double const got     = number_in(s.shape.out, out, first + d);
        auto const range     = range_of(exact, want.slack[at], s.shape.out);
        bool const fits      = want.empty ? got == 0.0 : got >= range.low && got <= range.high;
        double const nearest = scalar_model::decode(s.shape.out, scalar_model::encode(s.shape.out, exact));
        if (!fits && wrong.empty()) {
            wrong = "dim " + std::to_string(d) + " is " + std::to_string(got) + ", not "
                    + std::to_string(exact) + " within " + std::to_string(want.slack[at]);
        }
        squares[0] += exact * exact;
        squares[1] += (got - exact) * (got - exact);
        squares[2] += (nearest - exact) * (nearest - exact);
        squares[3] += (nearest - exact) * (nearest - exact) + want.variance[at];
    }
}

inline std::string compare_lse(decode_scene const& s, oracle::attention_row const& want, double const got)
{
    double const unit = s.shape.natural ? 1.0 : 1.0 / std::log(2.0);
    bool const fits =
        want.empty ? std::isinf(got) && got < 0.0 : std::fabs(got - want.lse * unit) <= want.lse_slack * unit;
    return fits ? "" : "lse is " + std::to_string(got) + ", not " + std::to_string(want.lse * unit);
}

/// Whether what lies between the rows is as it was.
inline std::string compare_gaps(decode_rows const& rows, scalar_model::dtype const type, block const& before,
                                std::vector<unsigned char> const& after)
{
    auto const size                 = static_cast<std::size_t>(scalar_model::size_of(type));
    std::vector<unsigned char> kept = before.bytes;
    for (std::int64_t token = 0; token < rows.tokens; ++token) {
        for (int head = 0; head < rows.heads; ++head) {
            auto const at = static_cast<std::size_t>(rows.at(token, head)) * size;
            std::copy_n(&after[at], static_cast<std::size_t>(rows.dim) * size, &kept[at]);
        }
    }
    return kept == after ? "" : "elements between rows were written";
}

} // namespace detail

inline decode_error compare(decode_scene const& s, decode_expectation const& want,
                            std::vector<unsigned char> const& out, std::vector<unsigned char> const& lse)
{
    decode_error e;
    double sums[4] = {};
    for (std::int64_t token = 0; token < s.out_rows.tokens; ++token) {
        for (int head = 0; head < s.options.heads; ++head) {
            auto const& row   = want[static_cast<std::size_t>(token * s.options.heads + head)];
            double squares[4] = {};
            std::string wrong;
            detail::compare_row(s, row, out, s.out_rows.at(token, head), squares, wrong);
            if (s.shape.lse && wrong.empty()) {
                double const got =
                    detail::number_in(scalar_model::dtype::fp32, lse, token * s.lse_stride + head);
                wrong = detail::compare_lse(s, row, got);
            }
            if (!wrong.empty() && e.wrong.empty()) {
                e.wrong =
                    "query token " + std::to_string(token) + ", head " + std::to_string(head) + ": " + wrong;
            }
            for (int i = 0; i < 4; ++i) {
                sums[i] += squares[i];
            }
            if (squares[0] > 0.0) {
                ++e.rows;
                e.of_rows += squares[1] / squares[0];
                e.expected += squares[3] / squares[0];
            }
        }
    }
    e.total    = std::sqrt(sums[1] / std::max(sums[0], 1e-300));
    e.rounded  = std::sqrt(sums[2] / std::max(sums[0], 1e-300));
    e.of_rows  = std::sqrt(e.of_rows / std::max(e.rows, 1));
    e.expected = std::sqrt(e.expected / std::max(e.rows, 1));
    e.wrong += detail::compare_gaps(s.out_rows, s.shape.out, s.out, out);
    decode_rows const logarithms{1, s.shape.lse ? s.options.heads : 0, s.out_rows.tokens, s.lse_stride, 1, 0};
    e.wrong += detail::compare_gaps(logarithms, scalar_model::dtype::fp32, s.lse, lse);
    return e;
}

/// Compares what a call has written with what it should have.
template <class Problem>
decode_error check_call(decode_call<Problem> const& call, decode_scene const& s,
                        decode_expectation const& want)
{
    decode_error const e = compare(s, want, call.out(), call.lse());
    CHECK(e.wrong == "");
    CHECK(call.trespasses() == "");
    auto const rounding = detail::rounding_of(s, false);
    bool const bf16 =
        s.shape.operand == scalar_model::dtype::bf16 || s.shape.out == scalar_model::dtype::bf16;
    if (rounding.query == 0.0) {
        CHECK(e.total <= (bf16 ? 4e-3 : 5e-4));
    }
    if (rounding.query == 0.0 && e.rows >= 8) {
        CHECK(e.of_rows <= 1.15 * e.expected); // both roundings and nothing else
    }
    return e;
}

struct every_machine
{
    template <class Body>
    static void each(Body&& body)
    {
        on_every_machine(body);
    }
};

/// Runs a scene on every machine, or those of `Machines`.
template <class Problem, class Machines = every_machine>
void check_decode(decode_options const& options)
{
    using logits         = typename Problem::logits;
    decode_scene const s = scene_for<Problem>(options);
    auto const want      = expect(s, logit_of<logits>(s), logits::changes);
    auto const check     = [&](char const* machine, auto const& stream) {
        CAPTURE(machine, options.lengths, options.heads, options.kv_heads, options.count, options.blocks,
                    options.seed);
        decode_call<Problem> call(stream, s);
        call.run(stream);
        check_call(call, s, want);
    };
    Machines::each(check);
}

/// The bytes of a scene's results on one machine.
template <class Problem, class Stream>
std::vector<unsigned char> bytes_of(Stream const& stream, decode_scene const& s)
{
    decode_call<Problem> call(stream, s);
    call.run(stream);
    CHECK(call.trespasses() == "");
    auto bytes     = call.out();
    auto const lse = call.lse();
    bytes.insert(bytes.end(), lse.begin(), lse.end());
    return bytes;
}

} // namespace kvloom_test
