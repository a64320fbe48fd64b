// SPDX-License-Identifier: MIT
// The main job on MiniMax-M3's shapes: a trace of requests (prefill, decode, a padded batch) goes through the
// fused insert into an fp8 cache, and every value written is compared with a double-precision oracle.
#include "../support/rows.hpp"
#include "kvloom/backend/message.hpp"
#include "kvloom/kernel/qk_norm_rope_insert.hpp"
#include "oracle/qk_norm_rope_insert.hpp"
#include "trace.hpp"

#include <chrono>
#include <cstdio>
#include <exception>

namespace {

using namespace kvloom;
using namespace kvloom_demo;

struct minimax_m3 : insert_problem
{
    using cache    = shuffled_cache<fp8_e4m3>;
    using index    = index_branch<bf16>;
    using numerics = contract::aiter_static;
};

constexpr int dim           = 128;
constexpr int half          = 32;
constexpr int page_size     = 16;
constexpr float key_scale   = 0.7F;
constexpr float value_scale = 1.3F;
constexpr row_sections sections{64, 4, 4, 1};
constexpr int row_heads = sections.q + 2 * sections.kv + sections.index_q + sections.index_k;

/// What one step wrote, and how it compares.
struct report
{
    long values    = 0; ///< compared
    long wrong     = 0;
    double seconds = 0;
};

void compare(report& r, oracle::value expected, double got)
{
    ++r.values;
    r.wrong += oracle::accepts(expected, got) ? 0 : 1;
}

/// The model's memory on the device: weights, angle table and caches, kept over the steps; and the host's
/// copies.
struct model
{
    explicit model(int pages)
        : pages(pages), gains(plain::random_values(4 * dim, 1, 0.5F)), angles(angle_table_of(4096, half)),
          keys(std::size_t(pages) * sections.kv * page_size * dim), values(keys.count),
          index_keys(std::size_t(pages) * page_size * dim), scales(std::vector<float>{key_scale, value_scale})
    {}

    int pages;
    array<bf16> gains;
    array<bf16> angles;
    array<fp8_e4m3> keys;
    array<fp8_e4m3> values;
    array<bf16> index_keys;
    array<float> scales;
};

insert_args<minimax_m3> arguments(model const& m, step const& s, array<bf16> const& rows,
                                  array<bf16> const& q, array<bf16> const& index_q,
                                  array<i64> const& positions, array<i64> const& slots)
{
    insert_args<minimax_m3> a;
    a.tokens = s.tokens();
    packed_row<minimax_m3>(a, rows.device(), sections);
    a.q_out            = {q.device(), sections.q, i64(sections.q) * dim};
    a.index_q_out      = {index_q.device(), sections.index_q, i64(sections.index_q) * dim};
    a.q_gain           = m.gains.device();
    a.k_gain           = m.gains.device() + dim;
    a.index_q_gain     = m.gains.device() + 2 * dim;
    a.index_k_gain     = m.gains.device() + 3 * dim;
    a.angles           = {m.angles.device(), i64(m.angles.count) / (2 * half), 2 * half};
    a.positions        = positions.device();
    a.slots            = slots.device();
    a.slot_count       = s.tokens();
    a.index_slots      = slots.device();
    a.index_slot_count = s.tokens();
    a.keys             = {m.keys.device(), m.pages, sections.kv, i64(sections.kv) * page_size * dim};
    a.values           = {m.values.device(), m.pages, sections.kv, i64(sections.kv) * page_size * dim};
    a.index_keys       = {m.index_keys.device(), m.pages, 1, page_size * dim};
    a.key_scale        = m.scales.device();
    a.value_scale      = m.scales.device() + 1;
    return a;
}

/// The oracle's row for head `head` of the packed row of `token`, with gain number `gain`.
std::vector<oracle::value> expected_row(model const& m, std::vector<bf16> const& rows, step const& s,
                                        int token, int head, int gain)
{
    std::vector<double> x(dim), w(dim), cosine(half), sine(half);
    for (int d = 0; d < dim; ++d) {
        x[d] = decode(rows[(std::size_t(token) * row_heads + head) * dim + d]);
        w[d] = decode(m.gains.host[std::size_t(gain) * dim + d]);
    }
    for (int i = 0; i < half; ++i) {
        std::size_t const line = std::size_t(s.positions[token]) * 2 * half;
        cosine[i]              = decode(m.angles.host[line + i]);
        sine[i]                = decode(m.angles.host[line + half + i]);
    }
    return oracle::prepared_row(x.data(), {dim, 2 * half, true, 1e-6F, w.data(), 1.0}, cosine.data(),
                                sine.data());
}

/// Compares everything that the step wrote; marks the cache elements that it owns.
void check(report& r, model const& m, step const& s, std::vector<bf16> const& rows, array<bf16> const& q,
           array<bf16> const& index_q, ownership& owned)
{
    using keys   = insert_types<minimax_m3>::keys;
    using values = insert_types<minimax_m3>::values;
    for (int t = 0; t < s.tokens(); ++t) {
        auto const dense = [&](array<bf16> const& out, int heads, int first, int gain) {
            for (int h = 0; h < heads; ++h) {
                auto const y = expected_row(m, rows, s, t, first + h, gain);
                for (int d = 0; d < dim; ++d) {
                    compare(r, oracle::rounded(y[d], oracle::bf16),
                            decode(out.host[(std::size_t(t) * heads + h) * dim + d]));
                }
            }
        };
        dense(q, sections.q, 0, 0);
        dense(index_q, sections.index_q, sections.q + 2 * sections.kv, 2);
        if (s.slots[t] < 0) {
            continue;
        }
        std::size_t const page = std::size_t(s.slots[t] / page_size);
        int const slot         = int(s.slots[t] % page_size);
        for (int h = 0; h < sections.kv; ++h) {
            std::size_t const span = (page * sections.kv + h) * page_size * dim;
            auto const y           = expected_row(m, rows, s, t, sections.q + h, 1);
            for (int d = 0; d < dim; ++d) {
                auto const k = oracle::scaled(oracle::rounded(y[d], oracle::bf16), key_scale, 1);
                double const x =
                    decode(rows[(std::size_t(t) * row_heads + sections.q + sections.kv + h) * dim + d]);
                auto const v        = oracle::scaled({x, 0.0}, value_scale, 1);
                std::size_t const a = span + keys::offset(slot, d);
                std::size_t const b = span + values::offset(slot, d);
                compare(r, oracle::rounded(k, oracle::fp8_e4m3), decode(m.keys.host[a]));
                compare(r, oracle::rounded(v, oracle::fp8_e4m3), decode(m.values.host[b]));
                owned.keys[a] = owned.values[b] = true;
            }
        }
        auto const y = expected_row(m, rows, s, t, row_heads - 1, 3);
        for (int d = 0; d < dim; ++d) {
            std::size_t const a = (page * page_size + slot) * dim + d;
            compare(r, oracle::rounded(y[d], oracle::bf16), decode(m.index_keys.host[a]));
            owned.index_keys[a] = true;
        }
    }
}

template <class Stream>
report run(Stream const& stream, model& m, step const& s, ownership& owned, unsigned seed)
{
    array<bf16> const rows(plain::random_values(std::size_t(s.tokens()) * row_heads * dim, seed, 4.0F));
    array<bf16> q(std::size_t(s.tokens()) * sections.q * dim);
    array<bf16> index_q(std::size_t(s.tokens()) * sections.index_q * dim);
    array<i64> const positions(s.positions);
    array<i64> const slots(s.slots);
    auto const args = arguments(m, s, rows, q, index_q, positions, slots);

    report r;
    auto const begin     = std::chrono::steady_clock::now();
    status const outcome = qk_norm_rope_insert<minimax_m3>::launch(stream, args);
    memory::finish();
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!outcome.ok()) {
        throw std::runtime_error(message(outcome));
    }
    q.download();
    index_q.download();
    m.keys.download();
    m.values.download();
    m.index_keys.download();
    check(r, m, s, rows.host, q, index_q, owned);
    return r;
}

template <class Stream>
bool demonstrate(Stream const& stream, char const* name, trace const& plan)
{
    model m(plan.pages);
    ownership owned{std::vector<bool>(m.keys.count), std::vector<bool>(m.values.count),
                    std::vector<bool>(m.index_keys.count)};
    std::printf("kvloom on %s: qk_norm_rope_insert, MiniMax-M3 (64 q, 4 kv, 4 index heads of 128, 64 turned; "
                "bf16 in,\n"
                "fp8 e4m3 K and V with scales %.1f and %.1f, SHUFFLE pages of 16, bf16 index cache)\n\n",
                name, double(key_scale), double(value_scale));
    std::printf("%-26s %6s %6s  %-24s %9s %7s %9s\n", "step", "rows", "slots", "pages written", "compared",
                "wrong", "time");
    long wrong = 0;
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        step const& s  = plan.steps[i];
        report const r = run(stream, m, s, owned, unsigned(100 + i));
        wrong += r.wrong;
        std::printf("%-26s %6d %6d  %-24s %9ld %7ld %7.2fms\n", s.name.c_str(), s.tokens(), s.stored(),
                    s.pages().c_str(), r.values, r.wrong, r.seconds * 1e3);
    }
    long const touched = untouched_but_changed(m.keys, owned.keys)
                         + untouched_but_changed(m.values, owned.values)
                         + untouched_but_changed(m.index_keys, owned.index_keys);
    std::printf("\n%s: every value lies within its rounding bound of the double-precision oracle: %s;\n"
                "cache elements changed that no token owns: %ld.\n\n",
                name, wrong == 0 ? "yes" : "NO", touched);
    return wrong == 0 && touched == 0;
}

} // namespace

int main(int argc, char** argv)
{
    int const prompt = argc > 1 ? std::atoi(argv[1]) : default_prompt;
    if (prompt < 1 || prompt > 4000) {
        std::fprintf(stderr, "usage: %s [TOKENS]: the first prompt's length, 1 to 4000, but it is %s\n",
                     argv[0], argv[1]);
        return 2;
    }
    try {
        trace const plan = make_trace(prompt);
        bool good        = true;
        for_each_stream(
            [&](auto const& stream, char const* name) { good = demonstrate(stream, name, plan) && good; });
        return good ? 0 : 1;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "kvloom_demo: %s\n", error.what());
        return 1;
    }
}
