// SPDX-License-Identifier: MIT
// The fused insert with the values of reported faults: slots, index types, layouts, strides, tables.
#include "contract/hand_cases.hpp"

#include <limits>
#include <set>

using namespace kvloom_test;

namespace {

/// K and V share a storage, a page of one after a page of the other; both as dense inside a page.
void interleave_pages(scene& s)
{
    std::int64_t const page = s.keys.page_stride;
    s.keys.page_stride      = 2 * page;
    s.values                = s.keys;
    s.values.first          = page;
    auto& storage           = s.blocks[block_keys];
    storage.bytes.resize(2 * storage.bytes.size());
    kvloom_test::detail::fill_poison(storage);
    s.blocks[block_values].bytes.clear();
}

/// A token in page 1 of pages that lie two pages apart, in a problem whose caches hold `one` for 1.0.
template <class Problem>
void check_interleaved(unsigned const one)
{
    int const heads       = 3;
    scene_options o       = call_of(2, {1, heads, 0}, slot_pattern::none, slot_pattern::none);
    scene dense           = scene_of<Problem>(o);
    std::int64_t const at = 16 + 3; // slot 3 of page 1
    dense.slots           = {at, 2 * 16};
    for (int head = 0; head < heads; ++head) {
        set_row(dense, dense.v, 0, head, filled(dense, 0.0));
    }
    set_row(dense, dense.v, 0, 1, {0.0, 0.0, 0.0, 0.0, 0.0, 1.0}); // dim 5 of head 1
    write_indices(dense);
    scene mixed = dense;
    interleave_pages(mixed);

    scalar_model::dtype const type = dense.problem.cache;
    std::int64_t const page        = 16 * 128 * heads;
    std::int64_t const inside =
        dense.values.head_stride
        + (dense.problem.value_order == scalar_model::layout::rows
               ? 3 * dense.values.token_stride + 5
               : scalar_model::offset_in_page(scalar_model::layout::values, type, 16, 128, 3, 5));
    image const want_dense = expected_image(dense);
    image const want_mixed = expected_image(mixed);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        image const a   = run_and_compare<Problem>(stream, dense, want_dense);
        image const b   = run_and_compare<Problem>(stream, mixed, want_mixed);
        auto const code = [&](image const& from, block_id const id, std::int64_t const element) {
            return scalar_model::read_code(
                type, &from[id][static_cast<std::size_t>(element * scalar_model::size_of(type))]);
        };
        CHECK(code(b, block_keys, 2 * page + page + inside) == one);
        CHECK(code(a, block_values, page + inside) == one);
        int unequal = 0, touched = 0;
        for (std::int64_t i = 0; i < 3 * page; ++i) {
            std::int64_t const apart = i / page * 2 * page + i % page;
            for (int part = 0; part < 2; ++part) { // K, V
                block_id const id = part == 0 ? block_keys : block_values;
                bool const set    = code(a, id, i) != code(dense.initial(), id, i);
                bool const moved  = code(b, block_keys, apart + part * page)
                                   != code(mixed.initial(), block_keys, apart + part * page);
                touched += set ? 1 : 0;
                unequal += set && code(a, id, i) != code(b, block_keys, apart + part * page) ? 1 : 0;
                unequal += moved && code(a, id, i) != code(b, block_keys, apart + part * page) ? 1 : 0;
            }
        }
        CHECK(unequal == 0);
        CHECK(touched > 2 * 2 * heads * 100); // both tokens, K and V, but for bytes that were so before
    });
}

/// Slots, positions and everything else of `from`, in the integer types of `Problem`.
template <class Problem>
scene retyped(scene const& from)
{
    scene s          = from;
    s.wide_slots     = sizeof(typename Problem::slot) == 8;
    s.wide_positions = sizeof(typename Problem::position) == 8;
    write_indices(s);
    return s;
}

} // namespace

TEST_CASE("padded rows leave slot 0, the last slot and the bytes before the caches alone",
          "[contract][cases]") // B01
{
    for (int const q_heads : {1, 2100}) { // one row a tile; several
        scene_options const o =
            call_of(4, {q_heads, 1, 0}, slot_pattern::consecutive, slot_pattern::consecutive);
        scene s = scene_of<bare_bf16>(o);
        set_pages(s, 4);
        s.slots = {5, -1, -1, 6};
        write_indices(s);
        run_by_hand<bare_bf16>(s, [&](image const& after) {
            image const before = s.initial();
            for (std::int64_t slot = 0; slot < 64; ++slot) {
                bool keys = false, values = false;
                for (int d = 0; d < 128; ++d) {
                    keys   = keys || key_code(s, after, slot, d) != key_code(s, before, slot, d);
                    values = values || value_code(s, after, slot, d) != value_code(s, before, slot, d);
                }
                CAPTURE(slot);
                CHECK(keys == (slot == 5 || slot == 6));
                CHECK(values == (slot == 5 || slot == 6));
            }
        });
    }
}

TEST_CASE("slots and positions of 32 and of 64 bits name the same places", "[contract][cases]") // B04
{
    for (int const q_heads : {3, 103}) { // one row a tile; several
        auto o             = call_of(40, {q_heads, 2, 0}, slot_pattern::runs, slot_pattern::none);
        o.faulty_positions = true;
        scene narrow       = scene_of<bare_narrow>(o);
        narrow.slots[3]    = std::numeric_limits<std::int32_t>::max();
        narrow.slots[9]    = std::numeric_limits<std::int32_t>::min();
        narrow.slots[17]   = -1;
        write_indices(narrow);
        scene const wide      = retyped<bare_bf16>(narrow);
        image const want      = expected_image(narrow);
        image const want_wide = expected_image(wide);
        on_every_machine([&](char const* machine, auto const& stream) {
            INFO(machine);
            image const a = run_and_compare<bare_narrow>(stream, narrow, want);
            image const b = run_and_compare<bare_bf16>(stream, wide, want_wide);
            for (block_id const id : {block_q_out, block_keys, block_values}) {
                CHECK((a[id] == b[id]));
            }
        });
    }
}

TEST_CASE("every element of a page lies where the layouts say", "[contract][cases]") // B16
{
    std::vector<std::int64_t> slots;
    for (int i = 0; i < 16; ++i) {
        slots.push_back((i * 7 + 3) % 16);
    }
    scene s         = one_head<bare_bf16>(slots);
    auto const mark = [](std::int64_t const slot, int const dim) { // a finite number for each element
        return static_cast<unsigned>(0x3F80 + slot * 128 + dim);
    };
    for (int token = 0; token < 16; ++token) {
        std::vector<double> row;
        for (int d = 0; d < 128; ++d) {
            row.push_back(scalar_model::decode(scalar_model::dtype::bf16,
                                               mark(slots[static_cast<std::size_t>(token)], d)));
        }
        set_row(s, s.k, token, 0, row);
        set_row(s, s.v, token, 0, row);
    }
    run_by_hand<bare_bf16>(s, [&](image const& after) {
        auto const code = [&](block_id const id, int const element) {
            return scalar_model::read_code(scalar_model::dtype::bf16,
                                           &after[id][static_cast<std::size_t>(element) * 2]);
        };
        CHECK(code(block_keys, 153) == mark(3, 9));
        CHECK(code(block_values, 1049) == mark(9, 3));
        CHECK(code(block_values, 75) == mark(3, 9));
        std::set<unsigned> keys, values;
        int wrong = 0;
        for (int slot = 0; slot < 16; ++slot) {
            for (int d = 0; d < 128; ++d) {
                wrong += code(block_keys, (d / 8 * 16 + slot) * 8 + d % 8) != mark(slot, d);
                wrong += code(block_values, (slot / 8 * 128 + d) * 8 + slot % 8) != mark(slot, d);
                keys.insert(code(block_keys, slot * 128 + d));
                values.insert(code(block_values, slot * 128 + d));
            }
        }
        CHECK(wrong == 0);
        CHECK((keys.size() == 16 * 128 && values.size() == 16 * 128));
    });
}

TEST_CASE("pages that lie two pages apart hold what dense pages hold", "[contract][cases]") // B17
{
    check_interleaved<bare_bf16>(0x3F80);
    check_interleaved<trtllm_rounded>(0x38);
}

TEST_CASE("a bf16 table loses the difference of near angles altogether", "[contract][cases]") // B30
{
    scene s = one_head<bare_bf16>({0});
    set_angles(s, 0.70766, 0.70655);
    set_row(s, s.q, 0, 0, filled(s, 1.0));
    run_by_hand<bare_bf16>(s, [&](image const& after) {
        CHECK(number_at(s, after, block_q_out, 0) == 0.0);
        CHECK(number_at(s, after, block_q_out, 31) == 0.0);
        CHECK(number_at(s, after, block_q_out, 32) > 1.41);
        CHECK(number_at(s, after, block_q_out, 64) == 1.0);
    });
}
