// SPDX-License-Identifier: MIT
// The bytes of a scene after its call by the scalar model, and how two such images differ.
#pragma once

#include "contract/scalar_model.hpp"
#include "support/make_scene.hpp"

#include <cstddef>
#include <sstream>
#include <string>

namespace kvloom_test {

/// The scene's bytes after the call, by the scalar model.
inline image expected_image(scene const& s)
{
    image bytes      = s.initial();
    auto const start = [&](block_id const id, std::int64_t const first) -> void* {
        return bytes[id].data() + first * scalar_model::size_of(s.blocks[id].type);
    };
    auto const rows = [&](rows_at const& at) {
        return scalar_model::rows{start(at.block, at.first), at.heads, at.token_stride, at.head_stride};
    };
    auto const cache = [&](cache_at const& at) {
        return scalar_model::cache{
            start(at.block, at.first), at.pages,       at.heads, at.page_stride, at.head_stride,
            at.token_stride,           at.block_stride};
    };
    auto const scales = [&](scales_at const& at) {
        return scalar_model::scales{static_cast<float*>(start(at.block, 0)), at.page_stride, at.head_stride};
    };
    scalar_model::call a;
    a.tokens       = s.options.tokens;
    a.eps          = s.options.eps;
    a.q            = rows(s.q);
    a.k            = rows(s.k);
    a.v            = rows(s.v);
    a.index_q      = rows(s.index_q);
    a.index_k      = rows(s.index_k);
    a.q_out        = rows(s.q_out);
    a.index_q_out  = rows(s.index_q_out);
    a.k_out        = rows(s.k_out);
    a.index_k_out  = rows(s.index_k_out);
    a.v_gain       = start(block_v_gain, 0);
    a.q_gain       = start(block_q_gain, 0);
    a.k_gain       = start(block_k_gain, 0);
    a.index_q_gain = start(block_index_q_gain, 0);
    a.index_k_gain = start(block_index_k_gain, 0);
    a.angles       = start(block_angles, 0);
    a.angle_rows   = s.angle_rows;
    a.angle_stride = s.problem.rotary_dim + s.options.angle_gap;
    a.positions    = s.positions.data();
    a.slots        = {s.slots.data(), static_cast<int>(s.slots.size())};
    a.index_slots  = {s.index_slots.data(), static_cast<int>(s.index_slots.size())};
    a.keys         = cache(s.keys);
    a.values       = cache(s.values);
    a.index_keys   = cache(s.index_keys);
    a.key_scale    = static_cast<float const*>(start(block_key_scale, 0));
    a.value_scale  = static_cast<float const*>(start(block_value_scale, 0));
    a.query_scale  = static_cast<float const*>(start(block_query_scale, 0));
    a.key_scales   = scales(s.key_scales);
    a.value_scales = scales(s.value_scales);
    a.faults       = static_cast<std::uint32_t*>(start(block_faults, 0));
    scalar_model::run(s.problem, a);
    return bytes;
}

/// Empty where both images hold the same bits, any NaN counting as any other; else where they first differ and how often.
inline std::string difference(scene const& s, image const& want, image const& got)
{
    std::ostringstream text;
    for (int id = 0; id < block_count; ++id) {
        block const& b         = s.blocks[static_cast<std::size_t>(id)];
        auto const& ours       = want[static_cast<std::size_t>(id)];
        auto const& theirs     = got[static_cast<std::size_t>(id)];
        std::size_t const size = static_cast<std::size_t>(scalar_model::size_of(b.type));
        std::size_t count      = 0;
        for (std::size_t at = 0; at + size <= ours.size(); at += size) {
            unsigned const a = scalar_model::read_code(b.type, &ours[at]);
            unsigned const c = scalar_model::read_code(b.type, &theirs[at]);
            bool const nans =
                !b.integers && scalar_model::is_nan_code(b.type, a) && scalar_model::is_nan_code(b.type, c);
            if (a != c && !nans && count++ == 0) {
                text << name_of(static_cast<block_id>(id)) << '[' << at / size << "]: want 0x" << std::hex
                     << a << ", got 0x" << c << std::dec;
            }
        }
        if (count != 0) {
            text << " (" << count << " of " << ours.size() / size << " differ); ";
        }
    }
    return text.str();
}

} // namespace kvloom_test
