// SPDX-License-Identifier: MIT
// The unfused kernels in place of the fused insert: which blocks they leave otherwise.
#pragma once

#include "contract/check_problem.hpp"
#include "kvloom/kernel/unfused.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace kvloom_test {

/// A problem that also lets its keys out, so that its scenes have rows for the prepared keys.
template <class Problem>
struct with_keys : Problem
{
    static constexpr bool keys_out = true;
};

/// The arguments of one kernel with those of another that it shares.
template <class To, class From>
To shared_args(From const& from)
{
    To to;
    to.tokens           = from.tokens;
    to.eps              = from.eps;
    to.slot_count       = from.slot_count;
    to.index_slot_count = from.index_slot_count;
    to.positions        = from.positions;
    to.position_stride  = from.position_stride;
    to.angles           = from.angles;
    to.slots            = from.slots;
    to.index_slots      = from.index_slots;
    to.q = from.q, to.k = from.k, to.v = from.v, to.index_q = from.index_q, to.index_k = from.index_k;
    to.q_gain = from.q_gain, to.k_gain = from.k_gain, to.v_gain = from.v_gain;
    to.index_q_gain = from.index_q_gain, to.index_k_gain = from.index_k_gain;
    to.faults = from.faults;
    return to;
}

/// Norm and RoPE, then K and V, then the index key, on the same memory.
template <class Problem, class Stream, class Args>
void run_unfused(Stream const& stream, Args const& fused)
{
    auto norm  = shared_args<typename qk_norm_rope<Problem>::args>(fused);
    norm.k_out = fused.k_out;
    if constexpr (is_same_v<decltype(norm.q_out), decltype(fused.q_out)>) {
        norm.q_out = fused.q_out;
    } else {
        norm.q = {}; // leaves in another type
    }
    if constexpr (Problem::index::present) {
        norm.index_k_out = fused.index_k_out;
        if constexpr (is_same_v<decltype(norm.index_q_out), decltype(fused.index_q_out)>) {
            norm.index_q_out = fused.index_q_out;
        } else {
            norm.index_q = {};
        }
    }
    REQUIRE(text_of(qk_norm_rope<Problem>::launch(stream, norm)) == "");

    auto cache   = shared_args<typename reshape_and_cache<Problem>::args>(fused);
    cache.k      = {fused.k_out.data, fused.k_out.heads, fused.k_out.token_stride, fused.k_out.head_stride};
    cache.keys   = fused.keys;
    cache.values = fused.values;
    cache.key_scale = fused.key_scale, cache.value_scale = fused.value_scale;
    cache.key_scales = fused.key_scales, cache.value_scales = fused.value_scales;
    REQUIRE(text_of(reshape_and_cache<Problem>::launch(stream, cache)) == "");

    if constexpr (Problem::index::present) {
        auto index       = shared_args<typename index_insert<Problem>::args>(fused);
        auto const& from = fused.index_k_out;
        index.index_k    = {from.data, from.heads, from.token_stride, from.head_stride};
        index.index_keys = fused.index_keys;
        REQUIRE(text_of(index_insert<Problem>::launch(stream, index)) == "");
    }
}

/// Blocks that the unfused kernels leave otherwise than the fused insert, over several scenes on every machine, with
/// `longer` one of many rows among them.
template <class Problem>
std::vector<std::string> differing_blocks(int const number, bool const longer = true)
{
    using fused_problem = with_keys<Problem>;
    std::vector<std::string> found;
    auto const seed = static_cast<std::uint64_t>(number);
    auto scenes     = plain_program ? small_scenes(seed) : standard_scenes(seed);
    if (longer) {
        scenes.push_back(plain_program ? long_small_scenes(seed)[0] : long_scenes(seed)[2]);
        scenes.back().special_values = scenes.back().faulty_positions = false;
    }
    for (auto options : scenes) {
        if (options.special_values || options.faulty_positions) {
            continue; // the writers know nothing of positions
        }
        options.in_place = options.keys_in_place = false;
        auto const s                             = scene_of<fused_problem>(options);
        auto const want                          = expected_image(s);
        on_every_machine([&](char const* machine, auto const& stream) {
            INFO(machine << ": " << s.name());
            scene_memory const memory(s);
            run_unfused<Problem>(stream, make_args<fused_problem>(s, memory));
            image const got = memory.after();
            CHECK(memory.trespasses() == "");
            for (int id = 0; id < block_count; ++id) {
                auto const at   = static_cast<std::size_t>(id);
                auto const name = std::string(name_of(static_cast<block_id>(id)));
                if (want[at] != got[at] && std::find(found.begin(), found.end(), name) == found.end()) {
                    found.push_back(name);
                }
            }
        });
    }
    std::sort(found.begin(), found.end());
    return found;
}

using names = std::vector<std::string>;

} // namespace kvloom_test
