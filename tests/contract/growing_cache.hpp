// SPDX-License-Identifier: MIT
// Sequences that grow step by step: the fused insert writes K, V and the queries of new tokens, paged decode attends over
// them right after, and dense attention in double says what comes of it.
//
// The oracle keeps K and V of each sequence densely, token after token, as the scalar model of the insert rounds them: it
// knows nothing of pages, slots and layouts. Beyond that rounding, results may be off by what decode itself may round.
#pragma once

#include "contract/decode_check.hpp"
#include "contract/growth.hpp"
#include "contract/scalar_model.hpp"

namespace kvloom_test {

namespace detail {

/// One head of a stored row: numbers as stored and their dequant scale.
struct stored_row
{
    std::vector<float> numbers;
    double scale = 1.0;
};

/// What a sequence holds: [token][head].
struct dense_sequence
{
    std::vector<std::vector<stored_row>> keys, values;
};

/// What a step passes to the insert, and what must come of it.
struct expected_step
{
    int tokens = 0;
    block rows; // [tokens][q | k | v][head_dim]
    std::vector<std::int64_t> slots, positions, lengths;
    decode_scene view; // outputs and queries of the step
    decode_expectation want;
};

/// The scalar model's problem of an insert with one of AITER's contracts.
template <class Insert>
scalar_model::problem model_of()
{
    using types = kvloom::insert_types<Insert>;
    using scalar_model::norm_kind;
    scalar_model::problem p;
    p.activation = p.angle = dtype_of<typename types::activation>();
    p.cache                = dtype_of<typename types::element>();
    bool const plain       = kvloom::is_same_v<typename types::k_norm, kvloom::no_norm>;
    p.q_norm = p.k_norm = plain ? norm_kind::none : norm_kind::unit_offset;
    p.head_dim          = types::dim;
    p.rotary_dim        = types::rotary;
    bool const scaled   = types::given_scales || types::found_scales;
    p.scale             = scaled                          ? scalar_model::scale_mode::divide
                          : scalar_model::is_fp8(p.cache) ? scalar_model::scale_mode::unit
                                                          : scalar_model::scale_mode::none;
    p.rule.found        = types::found_scales;
    p.head_scales       = types::head_scales;
    return p;
}

} // namespace detail

/// Sequences, their dense model, and the steps that follow from a growth.
template <class Insert>
class growing_batch
{
public:
    using problem = decode_after<Insert>;
    using types   = kvloom::insert_types<Insert>;

    static constexpr int dim       = types::dim;
    static constexpr int positions = 2048;
    static constexpr float eps     = 1e-6F;

    explicit growing_batch(growth const& of)
        : growth_(of), model_(detail::model_of<Insert>()), random_(of.seed)
    {
        decode_options o;
        o.lengths  = of.capacities();
        o.count    = 4;
        o.heads    = of.heads;
        o.kv_heads = of.kv_heads;
        o.caches   = of.caches;
        o.blocks   = of.blocks;
        o.seed     = of.seed;
        scene_     = scene_for<problem>(o);
        poison(scene_.key_block);
        poison(scene_.value_block);
        if (types::found_scales) {
            poison(scene_.key_scales);
            poison(scene_.value_scales);
        }
        bool const weighted = model_.k_norm != scalar_model::norm_kind::none;
        int const weights   = weighted ? dim : 0;
        q_gain_             = row_of(random_gain(random_, weights, true));
        k_gain_             = row_of(random_gain(random_, weights, true));
        angles_             = row_of(cos_sin_table(types::turns ? positions : 0, types::rotary));
        held_.resize(of.steps[0].written.size());
        for (auto const& step : of.steps) {
            expected_.push_back(expect_step(step));
        }
    }

    std::vector<detail::expected_step> const& steps() const { return expected_; }

    /// Runs every step on one machine.
    template <class Stream>
    void run(Stream const& stream) const
    {
        decode_call<problem> call(stream, scene_);
        block both = scene_.key_block;
        both.bytes.resize(2 * both.bytes.size(), 0xFF);
        guarded_buffer const storage(both), q_gain(q_gain_), k_gain(k_gain_), angles(angles_);
        if (growth_.side_by_side) {
            lay_side_by_side(call.args, storage);
        }
        auto args   = make_insert(call.args);
        args.q_gain = reinterpret_cast<decltype(args.q_gain)>(q_gain.data());
        args.k_gain = reinterpret_cast<decltype(args.k_gain)>(k_gain.data());
        args.angles = {reinterpret_cast<decltype(args.angles.data)>(angles.data()), positions, types::rotary};
        for (std::size_t i = 0; i < expected_.size(); ++i) {
            CAPTURE(i, expected_[i].lengths);
            run_step(stream, call, args, expected_[i], growth_.steps[i].attended);
            CHECK(storage.trespass() == "");
        }
        CHECK(call.stray_writes() == "");
    }

private:
    using args_type = kvloom::insert_args<Insert>;

    static void poison(block& b)
    {
        std::fill(b.bytes.begin(), b.bytes.end(), static_cast<unsigned char>(0xFF));
    }

    block row_of(std::vector<double> const& numbers) const
    {
        block b = room_for(model_.activation, static_cast<std::int64_t>(numbers.size()));
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            scalar_model::write(model_.activation, b.bytes.data(), static_cast<std::int64_t>(i), numbers[i]);
        }
        return b;
    }

    // --- what must come of a step ---

    /// Of each head's rows: some are zeros, and some of V lie beyond the range of fp8.
    void fill_head(block& rows, std::int64_t const at, bool const value)
    {
        int const pick  = random_.below(24);
        auto const kind = pick == 0            ? row_kind::zero
                          : pick == 1 && value ? row_kind::loud
                                               : row_kind::ordinary;
        fill_row(model_.activation, rows.bytes.data(), at, dim, kind, random_);
    }

    std::vector<float> prepared(block const& rows, std::int64_t const at, scalar_model::norm_kind const norm,
                                block const& gain, std::int64_t const position) const
    {
        std::vector<float> x;
        for (int d = 0; d < dim; ++d) {
            x.push_back(scalar_model::read(model_.activation, rows.bytes.data(), at + d));
        }
        float const factor = scalar_model::inverse_rms(x, eps);
        scalar_model::normalise(model_, norm, x, factor, gain.bytes.data());
        if (position >= 0 && types::turns) {
            scalar_model::rotate(model_, x, angles_.bytes.data(), {position * types::rotary, 0, 0});
        }
        return x;
    }

    detail::stored_row stored(std::vector<float> const& x, block const& given, int const head) const
    {
        detail::stored_row row;
        float const scale = types::found_scales ? scalar_model::found_scale(model_, model_.cache, x)
                            : types::given_scales
                                ? scalar_model::read(scalar_model::dtype::fp32, given.bytes.data(),
                                                     types::head_scales ? head : 0)
                                : 1.0F;
        row.scale         = static_cast<double>(scale);
        for (float const exact : x) {
            float const number  = scalar_model::round_to(model_.activation, exact);
            unsigned const code = scalar_model::cache_code(model_.cache, model_.scale, number, scale);
            row.numbers.push_back(static_cast<float>(scalar_model::decode(model_.cache, code)));
        }
        return row;
    }

    std::int64_t slot_of(std::size_t const sequence, std::size_t const token) const
    {
        auto const size = static_cast<std::size_t>(scene_.keys.page_size);
        return scene_.ids[sequence][token / size] * scene_.keys.page_size
               + static_cast<std::int64_t>(token % size);
    }

    void expect_token(detail::expected_step& step, std::size_t const sequence)
    {
        auto& held             = held_[sequence];
        int const heads        = growth_.heads + 2 * growth_.kv_heads;
        auto const position    = static_cast<std::int64_t>(held.keys.size());
        std::int64_t const row = static_cast<std::int64_t>(step.positions.size()) * heads * dim;
        for (int head = 0; head < heads; ++head) {
            fill_head(step.rows, row + head * dim, head >= growth_.heads + growth_.kv_heads);
        }
        step.positions.push_back(position);
        step.slots.push_back(slot_of(sequence, held.keys.size()));
        for (int head = 0; head < growth_.heads; ++head) {
            auto const q  = prepared(step.rows, row + head * dim, model_.q_norm, q_gain_, position);
            auto const at = static_cast<std::int64_t>(step.positions.size() - 1);
            for (int d = 0; d < dim && at < step.view.query_rows.tokens; ++d) {
                scalar_model::write(model_.activation, step.view.query.bytes.data(),
                                    step.view.query_rows.at(at, head) + d,
                                    static_cast<double>(q[static_cast<std::size_t>(d)]));
            }
        }
        held.keys.emplace_back();
        held.values.emplace_back();
        for (int head = 0; head < growth_.kv_heads; ++head) {
            std::int64_t const k = row + (growth_.heads + head) * dim;
            std::int64_t const v = k + growth_.kv_heads * dim;
            held.keys.back().push_back(
                stored(prepared(step.rows, k, model_.k_norm, k_gain_, position), scene_.key_scales, head));
            held.values.back().push_back(
                stored(prepared(step.rows, v, scalar_model::norm_kind::none, k_gain_, -1),
                       scene_.value_scales, head));
        }
    }

    oracle::context context_of(std::size_t const sequence, int const head) const
    {
        auto const at         = static_cast<std::size_t>(head);
        auto const& held      = held_[sequence];
        std::size_t const all = held.keys.size();
        oracle::context c;
        c.key_dim = c.value_dim = dim;
        c.present.assign(all, 1);
        for (std::size_t token = 0; token < all; ++token) {
            auto const& key   = held.keys[token][at];
            auto const& value = held.values[token][at];
            c.keys.insert(c.keys.end(), key.numbers.begin(), key.numbers.end());
            c.values.insert(c.values.end(), value.numbers.begin(), value.numbers.end());
            c.key_scales.push_back(key.scale);
            c.value_scales.push_back(value.scale);
        }
        return c;
    }

    detail::expected_step expect_step(growth_step const& of)
    {
        detail::expected_step step;
        int const heads = growth_.heads + 2 * growth_.kv_heads;
        for (int const count : of.written) {
            step.tokens += count;
        }
        step.rows      = room_for(model_.activation, std::int64_t{step.tokens} * heads * dim);
        step.view      = scene_;
        auto& view     = step.view;
        view.key_block = view.value_block = block{};
        view.tokens                       = of.written;
        view.first_row                    = {0};
        for (std::size_t i = 0; i < held_.size(); ++i) {
            view.first_row.push_back(view.first_row.back() + of.written[i]);
            for (int token = 0; token < of.written[i]; ++token) {
                expect_token(step, i);
            }
            step.lengths.push_back(static_cast<std::int64_t>(held_[i].keys.size()));
        }
        view.lengths         = step.lengths;
        view.options.lengths = step.lengths;
        if (of.attended) {
            view.out_rows.tokens = view.first_row.back();
            step.want =
                expect(view, logit_of<kvloom::plain_logits>(view), false, [&](int const i, int const head) {
                    return context_of(static_cast<std::size_t>(i), head);
                });
        }
        for (std::size_t i = 0; i < held_.size(); ++i) {
            auto const kept = held_[i].keys.size() - static_cast<std::size_t>(of.rejected[i]);
            held_[i].keys.resize(kept);
            held_[i].values.resize(kept);
        }
        return step;
    }

    // --- its run ---

    void lay_side_by_side(kvloom::decode_args<problem>& args, guarded_buffer const& storage) const
    {
        auto const lay = [&](auto& view, int const first) {
            view.data         = reinterpret_cast<decltype(view.data)>(storage.data()) + first;
            view.head_stride  = dim;
            view.token_stride = 2 * growth_.kv_heads * dim;
            view.page_stride  = view.token_stride * problem::key_cache::page_size;
        };
        lay(args.keys, 0);
        lay(args.values, growth_.kv_heads * dim);
    }

    args_type make_insert(kvloom::decode_args<problem> const& from) const
    {
        using query = typename types::query;
        args_type a;
        a.eps    = eps;
        a.keys   = from.keys;
        a.values = from.values;
        a.q_out  = {const_cast<query*>(from.query.data), from.query.heads, from.query.token_stride};
        if constexpr (types::found_scales) {
            a.key_scales   = from.key_scale;
            a.value_scales = from.value_scale;
        } else if constexpr (types::given_scales) {
            a.key_scale   = from.key_scale.data;
            a.value_scale = from.value_scale.data;
        }
        return a;
    }

    template <class Stream>
    void run_step(Stream const& stream, decode_call<problem>& call, args_type args,
                  detail::expected_step const& step, bool const attended) const
    {
        using activation = typename types::activation;
        device_array<std::int64_t> const slots(step.slots), at(step.positions);
        guarded_buffer const rows(step.rows), out(step.view.out), lse(step.view.lse);
        // more rows of queries leave a prompt than the decode's array holds
        guarded_buffer const aside(
            room_for(model_.activation, std::int64_t{step.tokens} * growth_.heads * dim));
        args.tokens     = step.tokens;
        args.slot_count = step.tokens;
        args.slots      = slots.data();
        args.positions  = at.data();
        args.q_out.data = attended ? args.q_out.data : reinterpret_cast<typename types::query*>(aside.data());
        kvloom::packed_row<Insert>(args, reinterpret_cast<activation const*>(rows.data()),
                                   {growth_.heads, growth_.kv_heads, 0, 0});
        call.set_lengths(step.lengths);
        call.set_offsets(step.view.first_row);
        call.args.out.data = reinterpret_cast<decltype(call.args.out.data)>(out.data());
        call.args.lse.data = reinterpret_cast<float*>(lse.data());
        REQUIRE(text_of(kvloom::qk_norm_rope_insert<Insert>::launch(stream, args)) == "");
        if (!attended) {
            return;
        }
        call.run(stream);
        decode_error const e = compare(step.view, step.want, out.bytes(), lse.bytes());
        CHECK(e.wrong == "");
        CHECK(out.trespass() + lse.trespass() + rows.trespass() == "");
        CHECK(e.rows == step.view.first_row.back() * growth_.heads);
        CHECK(e.total <= 4e-3);
    }

    growth growth_;
    scalar_model::problem model_;
    random_source random_;
    decode_scene scene_;
    block q_gain_, k_gain_, angles_;
    std::vector<detail::dense_sequence> held_;
    std::vector<detail::expected_step> expected_;
};

/// Runs a growth on every machine. `lengths` are some that it must have met.
template <class Insert>
void check_growth(growth const& g, std::vector<std::int64_t> const& lengths)
{
    growing_batch<Insert> const batch(g);
    std::vector<std::int64_t> met;
    for (auto const& step : batch.steps()) {
        met.insert(met.end(), step.lengths.begin(), step.lengths.end());
    }
    for (std::int64_t const length : lengths) {
        CAPTURE(length);
        REQUIRE(std::find(met.begin(), met.end(), length) != met.end());
    }
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        batch.run(stream);
    });
}

} // namespace kvloom_test
