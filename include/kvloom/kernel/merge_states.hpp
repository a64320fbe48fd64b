// SPDX-License-Identifier: MIT
// Merges states of attention over parts of a sequence: cascades with a shared prefix, sequences split over devices.
#pragma once

#include "kvloom/group/launch_bounds.hpp"
#include "kvloom/kernel/checks.hpp"
#include "kvloom/kernel/decode_rows.hpp"
#include "kvloom/kernel/overlap.hpp"

namespace kvloom {
inline namespace v0 {

/// Defaults of a problem. A user's problem derives from this and overrides what differs.
struct merge_problem
{
    using state  = float;       ///< element of the outputs to merge: bf16, fp16 or float
    using output = bf16;        ///< of the merged rows
    using lse    = natural_lse; ///< natural_lse, base2_lse: of what comes in and what goes out

    static constexpr int dim = 128; ///< of a row: 64, 128, 256 or 512
};

/// Arguments. State i of row t and head h is the row `states.row(i * rows + t, h)`, normalised, and the logarithm of its
/// sum of exponentials `state_lse.data[(i * rows + t) * state_lse.token_stride + h]`; -infinity: it has seen no key, and
/// its row is not looked at; any other number enters, to base 2 held within fp32's range. Strides are in elements; bases
/// and strides of rows are multiples of 16 bytes.
template <class Problem>
struct merge_args
{
    head_rows<typename Problem::state const, Problem::dim, strided_heads> states; ///< [count * rows][heads]
    typename Problem::lse state_lse;                                              ///< [count * rows][heads]
    int count = 0;                                                                ///< states to merge
    int rows  = 0;
    head_rows<typename Problem::output, Problem::dim, strided_heads> out; ///< [rows][heads]
    typename Problem::lse lse;                                            ///< [rows][heads]; null: not wanted
};

/// The kernel: a tile of lanes has a row, four dims a lane. States are merged from the first to the last.
template <class Problem>
struct state_merger
{
    static constexpr launch_bounds bounds = {128, 4, 2, true};
    struct shared
    {};

    static constexpr int lanes = Problem::dim / 4 < 32 ? Problem::dim / 4 : 32; ///< of a row

    static_assert(is_page_dim_v<Problem::dim>, "merge_states: the head size must be 64, 128, 256 or 512");
    static_assert(Problem::lse::present, "merge_states: states have logarithms");

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, merge_args<Problem> const& args) const
    {
        auto const wave = block.wave();
        wave.release_dependents();
        wave.dependency();
        int const tiles = bounds.threads / lanes;
        i64 const all   = i64(args.rows) * args.out.heads;
        i64 const step  = i64(block.count()) * tiles;
        for (i64 at = i64(block.index()) * tiles + block.thread() / lanes; at < all; at += step) {
            int const row = int(u64(at) / u32(args.out.heads));
            merge_row(wave, args, row, int(at - i64(row) * args.out.heads), block.thread() % lanes * 4);
        }
    }

private:
    template <class Wave>
    KVLOOM_FN static void merge_row(Wave wave, merge_args<Problem> const& args, int row, int head,
                                    int first_dim)
    {
        for (int dim = first_dim; dim < Problem::dim; dim += 4 * lanes) {
            softmax_partial<4> all;
            for (int i = 0; i < args.count; ++i) {
                all = merge(all, load_state(wave, args, i * args.rows + row, head, dim));
            }
            detail::store_four(wave, args.out.row(row, head).data + dim, normalise(all, 1.0F));
            if (dim == 0 && args.lse.data != nullptr) {
                wave.store(args.lse.data + i64(row) * args.lse.token_stride + head,
                           bit_cast<u32>(log_sum<Problem::lse::natural>(all)));
            }
        }
    }

    /// A state as a softmax at rest: its sum is 1, its reference the logarithm.
    template <class Wave>
    KVLOOM_FN static softmax_partial<4> load_state(Wave wave, merge_args<Problem> const& args, int row,
                                                   int head, int dim)
    {
        float const lse = bit_cast<float>(
            wave.template load<u32>(args.state_lse.data + i64(row) * args.state_lse.token_stride + head));
        softmax_partial<4> state;
        if (lse == -__builtin_huge_valf()) {
            return state;
        }
        using element             = typename Problem::state;
        float const base2         = Problem::lse::natural ? multiply(lse, log2_of_e) : lse;
        state.top                 = between(base2, no_maximum, -no_maximum);
        state.sum                 = 1.0F;
        element const* const from = args.states.row(row, head).data + dim;
        if constexpr (sizeof(element) == 4) {
            state.out = bit_cast<vec<float, 4>>(wave.template load<vec<u32, 4>>(from));
        } else {
            auto const words = wave.template load<vec<u32, 2>>(from);
            auto const low   = widen_pair<element>(words[0]);
            auto const high  = widen_pair<element>(words[1]);
            state.out        = {{low.low, low.high, high.low, high.high}};
        }
        return state;
    }
};

#if !KVLOOM_RTC // host functions: run-time compilers take the functors alone

/// Attention over all parts from attention over each. Merging is exact but for rounding: within a few roundings of fp32
/// of attention over the whole.
template <class Problem>
struct merge_states
{
    using args = merge_args<Problem>;

    /// The first argument that breaks a rule, or none; reads no device memory. No rows are always fine.
    static status validate(args const& a)
    {
        detail::checks check;
        check.at_least("rows", a.rows, 0);
        if (a.rows <= 0) {
            return check.first;
        }
        check.at_least("count", a.count, 1);
        check.at_least("out.heads", a.out.heads, 1);
        check.below("count * rows", i64(a.count) * a.rows, i64(1) << 30);
        detail::check_source(check, a.states, a.out.heads,
                             {"states.data", "states.heads", "states.token_stride", "states.head_stride"});
        detail::check_target(check, a.out, a.rows, a.out.heads,
                             {"out.data", "out.heads", "out.token_stride", "out.head_stride"});
        detail::check_logarithms(check, a.state_lse.data, a.state_lse.token_stride, a.out.heads,
                                 "state_lse.data", "state_lse.token_stride");
        if (a.lse.data != nullptr) {
            detail::check_logarithms(check, a.lse.data, a.lse.token_stride, a.out.heads, "lse.data",
                                     "lse.token_stride");
        }
        if (check.first.ok()) {
            check_overlap(check, a);
        }
        return check.first;
    }

    /// Starts the kernel on a host, hip or cuda stream; no rows succeed without a launch. @cost reads each state once
    template <class Stream>
    static status launch(Stream const& stream, args const& a)
    {
        status const valid = validate(a);
        if (!valid.ok() || a.rows == 0) {
            return valid;
        }
        using kernel      = state_merger<Problem>;
        i64 const a_block = kernel::bounds.threads / kernel::lanes;
        i64 const blocks  = (i64(a.rows) * a.out.heads + a_block - 1) / a_block;
        i64 const most    = i64(1) << 20;
        return detail::start_kernel(stream, kernel{}, a, blocks < most ? blocks : most);
    }

private:
    static detail::strided_bytes logarithms_of(typename Problem::lse const& lse, int rows, int heads)
    {
        return detail::bytes_of_logarithms(lse.data, rows, heads, lse.token_stride);
    }

    /// What is written may neither lie over what is read nor over each other.
    static void check_overlap(detail::checks& check, args const& a)
    {
        auto const states     = detail::bytes_of(a.states, a.count * a.rows);
        auto const logarithms = logarithms_of(a.state_lse, a.count * a.rows, a.out.heads);
        auto const out        = detail::bytes_of(a.out, a.rows);
        auto const lse        = logarithms_of(a.lse, a.rows, a.out.heads);
        check.report(detail::share_bytes(out, states) || detail::share_bytes(out, logarithms),
                     fault::overlapping, "out.data", 0, 0);
        check.report(detail::share_bytes(lse, states) || detail::share_bytes(lse, logarithms)
                         || detail::share_bytes(lse, out),
                     fault::overlapping, "lse.data", 0, 0);
    }
};

#endif

} // namespace v0
} // namespace kvloom
