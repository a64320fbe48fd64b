// SPDX-License-Identifier: MIT
// Calls of the fused insert whose results can be worked out by hand: no norm, chosen angles, chosen rows.
#pragma once

#include "contract/check_problem.hpp"

#include <cstdint>
#include <vector>

namespace kvloom_test {

/// No norm, and a table in bf16.
struct bare_bf16 : insert_problem
{
    using norm = no_norm;
};

/// The same with narrow slots and positions.
struct bare_narrow : bare_bf16
{
    using slot     = i32;
    using position = i32;
};

/// No norm, and divided scales.
struct bare_fn : insert_problem
{
    using cache    = shuffled_cache<fp8_e4m3>;
    using norm     = no_norm;
    using numerics = contract::aiter_static;
};

struct bare_fnuz : bare_fn
{
    using cache = shuffled_cache<fp8_e4m3_fnuz>;
};

/// The table's row for every position is cosine and sine throughout.
inline void set_angles(scene& s, double const cosine, double const sine)
{
    int const half             = s.problem.rotary_dim / 2;
    std::int64_t const numbers = s.angle_rows * (2 * half + s.options.angle_gap);
    for (std::int64_t i = 0; half > 0 && i < numbers; ++i) {
        bool const first = i % (2 * half + s.options.angle_gap) < half;
        scalar_model::write(s.problem.angle, s.blocks[block_angles].bytes.data(), i, first ? cosine : sine);
    }
}

/// A call of one head each, whose slots are those given, and whose angles turn nothing.
template <class Problem>
scene one_head(std::vector<std::int64_t> const& slots, scene_options o = {})
{
    o.tokens   = static_cast<int>(slots.size());
    o.q_heads  = 1;
    o.kv_heads = 1;
    scene s    = scene_of<Problem>(o);
    s.slots    = slots;
    write_indices(s);
    set_angles(s, 1.0, 0.0);
    return s;
}

/// Gives K and V, in storages of their own, so many pages.
inline void set_pages(scene& s, int const pages)
{
    for (cache_at* const c : {&s.keys, &s.values}) {
        c->pages = pages;
        s.blocks[c->block].bytes.resize(
            static_cast<std::size_t>(pages * c->page_stride * scalar_model::size_of(s.problem.cache)));
        kvloom_test::detail::fill_poison(s.blocks[c->block]);
    }
}

/// A row of one number.
inline std::vector<double> filled(scene const& s, double const number)
{
    return std::vector<double>(static_cast<std::size_t>(s.problem.head_dim), number);
}

/// K and V of a token: one number throughout.
inline void set_keys_and_values(scene& s, int const token, double const number)
{
    for (int head = 0; head < s.k.heads; ++head) {
        set_row(s, s.k, token, head, filled(s, number));
        set_row(s, s.v, token, head, filled(s, number));
    }
}

/// Every weight of a norm is the same.
inline void set_gain(scene& s, block_id const id, double const weight)
{
    for (int d = 0; d < s.problem.head_dim; ++d) {
        scalar_model::write(s.problem.activation, s.blocks[id].bytes.data(), d, weight);
    }
}

/// Runs the scene on every machine, compares with the model, and hands each image to `look`.
template <class Problem, class Look>
void run_by_hand(scene const& s, Look&& look)
{
    image const want = expected_image(s);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine << ": " << s.name());
        look(run_and_compare<Problem>(stream, s, want));
    });
}

/// The code of element `dim` of a slot's head 0.
inline unsigned code_at(scene const& s, image const& after, cache_at const& c,
                        scalar_model::layout const order, std::int64_t const slot, int const dim = 0)
{
    scalar_model::dtype const type = s.blocks[c.block].type;
    scalar_model::cache const strides{nullptr,       c.pages,        c.heads,       c.page_stride,
                                      c.head_stride, c.token_stride, c.block_stride};
    auto const at = c.first
                    + scalar_model::offset_in_cache(strides, order, type, s.problem.page_size,
                                                    s.problem.head_dim, slot, 0, dim, s.problem.block_pages);
    return scalar_model::read_code(type, &after[c.block][static_cast<std::size_t>(at * size_of(type))]);
}
inline unsigned key_code(scene const& s, image const& after, std::int64_t const slot, int const dim = 0)
{
    return code_at(s, after, s.keys, s.problem.key_order, slot, dim);
}
inline unsigned value_code(scene const& s, image const& after, std::int64_t const slot, int const dim = 0)
{
    return code_at(s, after, s.values, s.problem.value_order, slot, dim);
}

} // namespace kvloom_test
