// SPDX-License-Identifier: MIT
// Runs a scene through the library on every machine of the backend under test.
#pragma once

#include "contract/describe.hpp"
#include "support/machines.hpp"
#include "support/make_scene.hpp"

#include "kvloom/kernel/qk_norm_rope_insert.hpp"
#if KVLOOM_TEST_PLAIN
#include "amd/insert_loops.hpp"
#endif

#include <string>
#include <type_traits>

namespace kvloom_test {

/// The arguments of a scene whose blocks lie where `at(id)` says.
template <class Problem, class At>
insert_args<Problem> make_args(scene const& s, At const& at)
{
    insert_args<Problem> args;
    auto const set_rows = [&](auto& view, rows_at const& from) {
        view.data         = reinterpret_cast<decltype(view.data)>(at(from.block)) + from.first;
        view.heads        = from.heads;
        view.token_stride = from.token_stride;
        view.head_stride  = from.head_stride;
    };
    auto const set_cache = [&](auto& view, cache_at const& from) {
        view.data         = reinterpret_cast<decltype(view.data)>(at(from.block)) + from.first;
        view.pages        = from.pages;
        view.heads        = from.heads;
        view.page_stride  = from.page_stride;
        view.head_stride  = from.head_stride;
        view.token_stride = from.token_stride;
        view.block_stride = from.block_stride;
    };
    auto const set_scales = [&](scale_view& view, scales_at const& from) {
        view = {reinterpret_cast<float*>(at(from.block)), from.page_stride, from.head_stride};
    };
    auto const set_pointer = [&](auto& pointer, block_id const id) {
        pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(at(id));
    };
    args.tokens = s.options.tokens;
    args.eps    = s.options.eps;
    set_rows(args.q, s.q);
    set_rows(args.k, s.k);
    set_rows(args.v, s.v);
    set_rows(args.q_out, s.q_out);
    set_cache(args.keys, s.keys);
    set_cache(args.values, s.values);
    set_pointer(args.q_gain, block_q_gain);
    set_pointer(args.k_gain, block_k_gain);
    set_pointer(args.angles.data, block_angles);
    args.angles.rows   = s.angle_rows;
    args.angles.stride = s.problem.rotary_dim + s.options.angle_gap;
    set_pointer(args.positions, block_positions);
    set_pointer(args.slots, block_slots);
    args.slot_count = static_cast<int>(s.slots.size());
    set_pointer(args.key_scale, block_key_scale);
    set_pointer(args.value_scale, block_value_scale);
    set_pointer(args.query_scale, block_query_scale);
    set_pointer(args.v_gain, block_v_gain);
    set_scales(args.key_scales, s.key_scales);
    set_scales(args.value_scales, s.value_scales);
    set_pointer(args.faults, block_faults);
    args.position_stride = s.options.tokens;
    if (s.problem.keys_out) {
        set_rows(args.k_out, s.k_out);
    }
    if (s.problem.has_index) {
        set_rows(args.index_q, s.index_q);
        set_rows(args.index_k, s.index_k);
        set_rows(args.index_q_out, s.index_q_out);
        set_cache(args.index_keys, s.index_keys);
        set_pointer(args.index_q_gain, block_index_q_gain);
        set_pointer(args.index_k_gain, block_index_k_gain);
        set_pointer(args.index_slots, block_index_slots);
        args.index_slot_count = static_cast<int>(s.index_slots.size());
        if (s.problem.keys_out) {
            set_rows(args.index_k_out, s.index_k_out);
        }
    }
    return args;
}

/// The same in the backend's memory.
template <class Problem>
insert_args<Problem> make_args(scene const& s, scene_memory const& memory)
{
    return make_args<Problem>(s, [&](block_id const id) { return memory.data(id); });
}

} // namespace kvloom_test
