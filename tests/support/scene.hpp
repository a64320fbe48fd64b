// SPDX-License-Identifier: MIT
// A scene: every input and output of one call of the fused insert as named blocks of bytes, with nothing of the library in it.
#pragma once

#include "contract/scalar_model.hpp"
#include "support/data.hpp"

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace kvloom_test {

enum block_id {
    block_rows, // the packed projection rows
    block_q_out,
    block_index_q_out,
    block_keys,
    block_values,
    block_index_keys,
    block_q_gain,
    block_k_gain,
    block_index_q_gain,
    block_index_k_gain,
    block_angles,
    block_positions,
    block_slots,
    block_index_slots,
    block_key_scale,
    block_value_scale,
    block_query_scale,
    block_v_gain,
    block_k_out,
    block_index_k_out,
    block_key_scales,
    block_value_scales,
    block_faults,
    block_count
};

inline char const* name_of(block_id const id)
{
    char const* const names[] = {"rows",        "q_out",        "index_q_out", "keys",         "values",
                                 "index_keys",  "q_gain",       "k_gain",      "index_q_gain", "index_k_gain",
                                 "angles",      "positions",    "slots",       "index_slots",  "key_scale",
                                 "value_scale", "query_scale",  "v_gain",      "k_out",        "index_k_out",
                                 "key_scales",  "value_scales", "faults"};
    return names[id];
}

/// Bytes of one array, and how its surroundings are filled: with what would show, were it read or written.
struct block
{
    scalar_model::dtype type = scalar_model::dtype::fp32; // for NaN comparison; integers count as fp32 bits
    bool integers            = false;
    std::vector<unsigned char> bytes;
    std::size_t guard        = 256;
    unsigned char guard_byte = 0xFF; // NaN in every float format but fnuz, -1 in integers
};

using image = std::vector<std::vector<unsigned char>>; // the bytes of every block

struct rows_at
{
    block_id block            = block_rows;
    std::int64_t first        = 0; // in elements, as are the strides
    int heads                 = 0;
    std::int64_t token_stride = 0;
    std::int64_t head_stride  = 0;
};

struct cache_at
{
    block_id block            = block_keys;
    std::int64_t first        = 0;
    int pages                 = 0;
    int heads                 = 0;
    std::int64_t page_stride  = 0;
    std::int64_t head_stride  = 0;
    std::int64_t token_stride = 0;
    std::int64_t block_stride = 0;
};

/// Scales that are written out.
struct scales_at
{
    block_id block           = block_key_scales;
    std::int64_t page_stride = 0;
    std::int64_t head_stride = 0;
};

/// How the pages of K and V lie.
enum class cache_form {
    dense,
    apart,       // gaps between the pages, between the heads, and between the tokens of an index page
    interleaved, // one storage: a page of K, then a page of V
};

struct scene_options
{
    int tokens               = 7;
    int q_heads              = 5;
    int kv_heads             = 2;
    int index_heads          = 1;
    slot_pattern slots       = slot_pattern::consecutive;
    slot_pattern index_slots = slot_pattern::consecutive;
    cache_form caches        = cache_form::dense;
    int row_gap              = 0; // elements between packed rows, filled with NaN
    int head_gap             = 0; // elements between the heads of all rows and outputs, in the sources NaN
    int angle_gap            = 0; // elements between the rows of the table, NaN too
    int angle_rows           = 300;
    int missing_value_pages  = 0;     // by which V has fewer pages than K
    bool in_place            = false; // q_out is q
    bool faulty_positions    = false;
    bool index_in_place      = false; // index_q_out is index_q
    bool keys_in_place       = false; // k_out is k, and index_k_out is index_k
    bool scales_by_head      = false; // scales written as [head][slot], not as [page][head][slot]
    bool special_values      = false;
    float eps                = 1e-6f;
    float key_scale          = 1.0f;
    float value_scale        = 1.0f;
    float query_scale        = 0.37f;
    std::uint64_t seed       = 1;
};

struct scene
{
    scalar_model::problem problem;
    scene_options options;
    bool wide_slots     = true;
    bool wide_positions = true;
    std::vector<block> blocks{block_count};
    rows_at q, k, v, index_q, index_k, q_out, index_q_out, k_out, index_k_out;
    cache_at keys, values, index_keys;
    scales_at key_scales, value_scales;
    std::vector<std::int64_t> slots, index_slots;
    std::vector<std::int64_t> positions; // [sections][tokens]
    std::int64_t angle_rows = 0;

    std::string name() const
    {
        std::ostringstream text;
        scene_options const& o = options;
        text << o.tokens << " tokens, heads " << o.q_heads << '/' << o.kv_heads << '/' << o.index_heads
             << ", slots " << name_of(o.slots) << ", index slots " << name_of(o.index_slots) << ", caches "
             << static_cast<int>(o.caches) << ", row gap " << o.row_gap << ", head gap " << o.head_gap
             << (o.in_place ? ", in place" : "") << (o.faulty_positions ? ", faulty positions" : "")
             << (o.special_values ? ", special values" : "") << ", seed " << o.seed;
        return text.str();
    }

    image initial() const
    {
        image bytes;
        for (block const& b : blocks) {
            bytes.push_back(b.bytes);
        }
        return bytes;
    }
};

/// What outputs hold before the call. Never NaN in any format, and another byte than its neighbours.
inline unsigned char poison(std::size_t const at)
{
    return static_cast<unsigned char>(0x21 + at * 7 % 61);
}

/// A block's element as a number.
inline double number_at(scene const& s, image const& bytes, block_id const id, std::int64_t const element)
{
    scalar_model::dtype const type = s.blocks[id].type;
    auto const at                  = static_cast<std::size_t>(element * scalar_model::size_of(type));
    return scalar_model::decode(type, scalar_model::read_code(type, &bytes[id][at]));
}

/// Sets the elements of one head of one token.
inline void set_row(scene& s, rows_at const& at, int const token, int const head,
                    std::vector<double> const& numbers)
{
    for (std::size_t d = 0; d < numbers.size(); ++d) {
        std::int64_t const element =
            at.first + token * at.token_stride + head * at.head_stride + static_cast<std::int64_t>(d);
        scalar_model::write(s.blocks[at.block].type, s.blocks[at.block].bytes.data(), element, numbers[d]);
    }
}

} // namespace kvloom_test
