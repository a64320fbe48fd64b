// SPDX-License-Identifier: MIT
// How sequences grow step by step, and the decode that goes with an insert.
#pragma once

#include "contract/decode_scene.hpp"
#include "kvloom/kernel/paged_decode.hpp"
#include "kvloom/kernel/qk_norm_rope_insert.hpp"

namespace kvloom_test {

/// The decode of what an insert has written.
template <class Insert>
struct decode_after : kvloom::decode_problem
{
    using types       = kvloom::insert_types<Insert>;
    using query       = typename types::activation;
    using key_cache   = typename types::keys;
    using value_cache = typename types::values;
    using tokens      = kvloom::token_offsets<int>;
    using lse         = kvloom::natural_lse;

    using given_scale = kvloom::conditional_t<types::head_scales, kvloom::head_scale, kvloom::cache_scale>;
    using key_scale =
        kvloom::conditional_t<types::found_scales, kvloom::scale_view,
                              kvloom::conditional_t<types::given_scales, given_scale, kvloom::no_scale>>;
    using value_scale = key_scale;

    static constexpr int key_block_pages   = Insert::cache::block_pages;
    static constexpr int value_block_pages = Insert::cache::block_pages;
};

/// New tokens of each sequence, and how many of them the next step writes over.
struct growth_step
{
    std::vector<int> written;
    std::vector<int> rejected;
    bool attended = true; ///< by its own query tokens; else a prompt
};

struct growth
{
    std::vector<growth_step> steps;
    page_form caches   = page_form::dense; ///< outer: NHD, where the cache has token rows
    bool side_by_side  = false;            ///< K and V of a token in one row, where the cache has token rows
    int heads          = 8;
    int kv_heads       = 2;
    int blocks         = 5;
    std::uint64_t seed = 1;

    /// Tokens that a sequence has at most, a step's rejected ones included.
    std::vector<std::int64_t> capacities() const
    {
        std::vector<std::int64_t> most(steps[0].written.size(), 0), now = most;
        for (auto const& step : steps) {
            for (std::size_t i = 0; i < now.size(); ++i) {
                now[i] += step.written[i];
                most[i] = std::max(most[i], now[i]);
                now[i] -= step.rejected[i];
            }
        }
        return most;
    }
};

/// Prompts, single tokens across the ends of pages and of nodes, then speculative steps of four with one to four tokens
/// accepted, and a step in which some sequences rest.
inline growth usual_growth(std::vector<int> const& prompts)
{
    growth g;
    std::vector<int> const none(prompts.size(), 0);
    g.steps.push_back({prompts, none, false});
    auto const add = [&](int const count, int const phase) {
        growth_step step{none, none, true};
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            step.written[i]  = count;
            step.rejected[i] = count == 1 ? 0 : (static_cast<int>(i) + phase) % 4;
        }
        g.steps.push_back(step);
    };
    for (int const count : {1, 1, 1, 4, 4, 1, 4}) {
        add(count, static_cast<int>(g.steps.size()));
    }
    g.steps.back().written[0]  = 0;
    g.steps.back().rejected[0] = 0;
    add(1, 0);
    return g;
}

} // namespace kvloom_test
