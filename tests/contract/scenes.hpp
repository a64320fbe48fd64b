// SPDX-License-Identifier: MIT
// The calls with which every problem of the fused insert is tested: many heads with few tokens, every slot pattern.
#pragma once

#include "support/scene.hpp"

#include <cstdint>
#include <vector>

namespace kvloom_test {

struct head_counts
{
    int q, kv, index;
};

inline scene_options call_of(int const tokens, head_counts const heads, slot_pattern const slots,
                             slot_pattern const index_slots, cache_form const caches = cache_form::dense)
{
    scene_options o;
    o.tokens      = tokens;
    o.q_heads     = heads.q;
    o.kv_heads    = heads.kv;
    o.index_heads = heads.index;
    o.slots       = slots;
    o.index_slots = index_slots;
    o.caches      = caches;
    return o;
}

/// Scales are 0.7 and 1.3, and 7 and 28, where dividing and multiplying by the reciprocal give other bytes for some values.
inline std::vector<scene_options> finished(std::vector<scene_options> scenes, std::uint64_t const seed)
{
    for (std::size_t i = 0; i < scenes.size(); ++i) {
        scenes[i].eps            = i % 2 == 0 ? 1e-6f : 1e-5f;
        scenes[i].key_scale      = i % 2 == 0 ? 7.0f : 0.7f;
        scenes[i].value_scale    = i % 2 == 0 ? 28.0f : 1.3f;
        scenes[i].angle_gap      = i % 3 == 1 ? 8 : 0;
        scenes[i].scales_by_head = i % 2 == 1;
        scenes[i].keys_in_place  = i % 3 == 2;
        scenes[i].seed           = seed * 100 + i;
    }
    return scenes;
}

/// A cover of sizes, slot patterns, cache forms, strides and faults, small enough for one row a tile.
inline std::vector<scene_options> standard_scenes(std::uint64_t const seed)
{
    using p = slot_pattern;
    using c = cache_form;
    std::vector<scene_options> scenes;
    scenes.push_back(call_of(0, {64, 4, 4}, p::consecutive, p::consecutive));
    scenes.push_back(call_of(1, {64, 8, 4}, p::from_five, p::scattered));

    scenes.push_back(call_of(7, {64, 4, 4}, p::gaps, p::out_of_range, c::apart));
    scenes.back().row_gap        = 24;
    scenes.back().special_values = true;

    scenes.push_back(call_of(3, {71, 1, 3}, p::reversed, p::few, c::interleaved));
    scenes.back().head_gap         = 8;
    scenes.back().faulty_positions = true;

    scenes.push_back(call_of(33, {16, 3, 2}, p::scattered, p::consecutive, c::interleaved));
    scenes.back().row_gap  = 8;
    scenes.back().in_place = true;

    scenes.push_back(call_of(64, {8, 1, 1}, p::consecutive, p::gaps));
    scenes.push_back(call_of(64, {5, 2, 1}, p::few, p::paged, c::apart));
    scenes.back().row_gap          = 24;
    scenes.back().head_gap         = 16;
    scenes.back().faulty_positions = true;

    scenes.push_back(call_of(75, {8, 1, 1}, p::striped, p::striped, c::interleaved));
    scenes.back().in_place       = true;
    scenes.back().special_values = true;

    scenes.push_back(call_of(75, {5, 2, 1}, p::out_of_range, p::none));
    scenes.back().row_gap = 16;

    scenes.push_back(call_of(130, {5, 2, 0}, p::from_five, p::from_five, c::apart));
    scenes.push_back(call_of(130, {8, 1, 1}, p::paged, p::reversed));
    scenes.back().missing_value_pages = 2;
    scenes.back().row_gap             = 8;
    scenes.back().in_place            = true;
    scenes.back().faulty_positions    = true;

    scenes.push_back(call_of(130, {5, 2, 1}, p::runs, p::few, c::interleaved));
    scenes.back().head_gap = 8;
    return finished(scenes, seed);
}

/// What the plain AMD test programs call: 1 to 64 tokens, every slot pattern, as few rows as decide, one a tile.
inline std::vector<scene_options> small_scenes(std::uint64_t const seed)
{
    using p = slot_pattern;
    using c = cache_form;
    std::vector<scene_options> scenes;
    scenes.push_back(call_of(1, {64, 8, 4}, p::from_five, p::scattered));

    scenes.push_back(call_of(7, {5, 2, 3}, p::out_of_range, p::few, c::apart));
    scenes.back().row_gap          = 24;
    scenes.back().head_gap         = 8;
    scenes.back().special_values   = true;
    scenes.back().faulty_positions = true;

    scenes.push_back(call_of(33, {3, 1, 1}, p::scattered, p::consecutive, c::interleaved));
    scenes.back().row_gap  = 8;
    scenes.back().in_place = true;

    scenes.push_back(call_of(64, {2, 1, 0}, p::runs, p::paged));
    scenes.back().missing_value_pages = 1;
    return finished(scenes, seed);
}

/// The same with more than 4096 query rows, several a tile.
inline std::vector<scene_options> long_small_scenes(std::uint64_t const seed)
{
    using p = slot_pattern;
    std::vector<scene_options> scenes;
    scenes.push_back(call_of(64, {71, 1, 3}, seed % 2 == 0 ? p::runs : p::from_five,
                             seed % 2 == 0 ? p::few : p::out_of_range, cache_form::apart));
    scenes.back().special_values   = seed % 2 == 0;
    scenes.back().faulty_positions = seed % 2 == 1;
    return finished(scenes, seed);
}

/// Calls with so many rows that each tile takes several: tokens x query heads is above 4096. Every other one has whole runs of slots.
inline std::vector<scene_options> long_scenes(std::uint64_t const seed)
{
    using p = slot_pattern;
    using c = cache_form;
    std::vector<scene_options> scenes;
    scenes.push_back(call_of(130, {64, 4, 4}, p::runs, p::out_of_range, c::apart));
    scenes.back().special_values = true;

    scenes.push_back(call_of(75, {71, 1, 3}, p::paged, p::few));
    scenes.back().row_gap             = 24;
    scenes.back().head_gap            = 8;
    scenes.back().missing_value_pages = 3;

    scenes.push_back(call_of(523, {8, 1, 1}, p::runs, p::from_five, c::interleaved));
    scenes.back().in_place = true;

    scenes.push_back(call_of(140, {37, 3, 2}, p::gaps, p::striped));
    scenes.back().faulty_positions = true;

    scenes.push_back(call_of(300, {15, 5, 6}, p::runs, p::few, c::apart));

    scenes.push_back(call_of(97, {64, 8, 0}, p::out_of_range, p::gaps, c::interleaved));
    scenes.back().in_place         = true;
    scenes.back().faulty_positions = true;
    return finished(scenes, seed);
}

} // namespace kvloom_test
