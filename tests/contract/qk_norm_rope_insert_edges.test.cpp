// SPDX-License-Identifier: MIT
// The fused insert at its edges, with the values that others got wrong: each case can be checked by hand.
#include "contract/hand_cases.hpp"

#include <algorithm>
#include <cmath>

using namespace kvloom_test;
using scalar_model::dtype;

namespace {

/// No norm, an fp32 table and divided scales: what leaves is what the rotation or the scale made of it.
struct by_hand : insert_problem
{
    using cache    = shuffled_cache<fp8_e4m3>;
    using norm     = no_norm;
    using angle    = float;
    using numerics = contract::aiter_static;
};

scene_options small_call(int const tokens, slot_pattern const slots = slot_pattern::consecutive)
{
    return call_of(tokens, {1, 1, 1}, slots, slots);
}

/// Slots of which any byte of K or of V has changed, in order.
std::vector<int> changed_slots(scene const& s, image const& after, cache_at const& c,
                               scalar_model::layout const order)
{
    scalar_model::problem const& p = s.problem;
    scalar_model::cache const strides{nullptr,       c.pages,       c.heads,
                                      c.page_stride, c.head_stride, c.token_stride};
    image const before = s.initial();
    std::vector<int> slots;
    for (int slot = 0; slot < c.pages * p.page_size; ++slot) {
        bool changed = false;
        for (int i = 0; i < c.heads * p.head_dim; ++i) {
            auto const at = c.first
                            + scalar_model::offset_in_cache(strides, order, p.cache, p.page_size, p.head_dim,
                                                            slot, i / p.head_dim, i % p.head_dim);
            changed |= number_at(s, after, c.block, at) != number_at(s, before, c.block, at);
        }
        if (changed) {
            slots.push_back(slot);
        }
    }
    return slots;
}

/// Slots in runs of every length around whole vectors, from five places of a vector on, in random order.
std::vector<std::int64_t> runs_of_every_kind(std::uint64_t const seed)
{
    int const lengths[] = {1, 2, 6, 7, 8, 9, 14, 15, 16, 17, 22, 23, 24, 31, 32, 33};
    int const offsets[] = {0, 1, 7, 8, 15};
    random_source random(seed);
    std::vector<std::int64_t> slots;
    std::int64_t next = 0;
    for (int const kind : permutation(random, 16 * 5)) {
        next = (next + 16) / 16 * 16 + offsets[kind % 5]; // not adjacent to the run before
        for (int i = 0; i < lengths[kind / 5]; ++i) {
            slots.push_back(next++);
        }
    }
    return slots;
}

/// Calls of so many tokens that V leaves in whole vectors, with such slots.
template <class Problem>
void check_runs()
{
    for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 3); ++seed) {
        auto const slots  = runs_of_every_kind(seed);
        auto const tokens = static_cast<int>(slots.size());
        REQUIRE(tokens * 4 > 4096);
        scene s = scene_of<Problem>(call_of(tokens, {4, 1, 0}, slot_pattern::none, slot_pattern::none));
        s.slots = slots;
        write_indices(s);
        auto const pages = slots.back() / s.problem.page_size + 2; // more than were made: the runs leave gaps
        set_pages(s, static_cast<int>(pages));
        check_scene<Problem>(s, 17);
    }
}

} // namespace

TEST_CASE("negative slots store nothing", "[contract][kernel]") // B01
{
    scene s       = scene_of<m3_bf16>(small_call(4));
    s.slots       = {5, -1, -1, 6};
    s.index_slots = {-1, 3, -16, -17};
    write_indices(s);
    run_by_hand<m3_bf16>(s, [&](image const& after) {
        CHECK(changed_slots(s, after, s.keys, scalar_model::layout::keys) == std::vector<int>{5, 6});
        CHECK(changed_slots(s, after, s.values, scalar_model::layout::values) == std::vector<int>{5, 6});
        CHECK((after[block_q_out] != s.initial()[block_q_out]));
    });
}

TEST_CASE("a slot beyond the last page is never another page's", "[contract][kernel]") // B03
{
    scene s       = scene_of<m3_bf16>(small_call(2));
    s.slots       = {99 * 16 + 4, std::int64_t{s.keys.pages} * 16};
    s.index_slots = {std::int64_t{1} << 32, std::int64_t{s.index_keys.pages} * 16};
    write_indices(s);
    run_by_hand<m3_bf16>(s, [&](image const& after) {
        CHECK((after[block_keys] == s.initial()[block_keys]));
        CHECK((after[block_values] == s.initial()[block_values]));
        CHECK((after[block_index_keys] == s.initial()[block_index_keys]));
    });
}

TEST_CASE("K and V take a token together or not at all", "[contract][kernel]")
{
    for (int const q_heads : {1, 2100}) { // one row a tile; several
        scene_options o       = call_of(2, {q_heads, 1, 0}, slot_pattern::none, slot_pattern::none);
        o.missing_value_pages = 1;
        scene s               = scene_of<m3_bf16>(o);
        std::int64_t const n  = std::int64_t{s.values.pages} * 16; // the first slot that K alone has
        s.slots               = {n - 1, n};
        write_indices(s);
        run_by_hand<m3_bf16>(s, [&](image const& after) {
            std::vector<int> const last{static_cast<int>(n - 1)};
            CHECK(changed_slots(s, after, s.keys, scalar_model::layout::keys) == last);
            CHECK(changed_slots(s, after, s.values, scalar_model::layout::values) == last);
        });
    }
}

TEST_CASE("scales divide, each cache by its own", "[contract][kernel]") // B14
{
    scene_options o = small_call(2);
    o.key_scale     = 0.5f;
    o.value_scale   = 2.0f;
    scene s         = scene_of<by_hand>(o);
    set_angles(s, 1.0, 0.0);
    set_row(s, s.k, 0, 0, std::vector<double>(128, 3.0));
    set_row(s, s.v, 0, 0, std::vector<double>(128, 3.0));
    set_row(s, s.k, 1, 0, std::vector<double>(128, 0.0));
    set_row(s, s.v, 1, 0, std::vector<double>(128, 0.0));
    run_by_hand<by_hand>(s, [&](image const& after) {
        CHECK(after[block_keys][0] == 0x4C);
        CHECK(after[block_values][0] == 0x3C);
        CHECK(after[block_keys][16] == 0x00); // slot 1, dim 0
        CHECK(after[block_values][1] == 0x00);
    });
}

TEST_CASE("elements lie where the layouts say", "[contract][kernel]") // B16
{
    scene bf = scene_of<m3_bf16>(small_call(16));
    run_by_hand<m3_bf16>(bf, [&](image const& after) {
        CHECK(number_at(bf, after, block_values, 1049)
              == number_at(bf, after, block_rows, 9 * bf.v.token_stride + bf.v.first + 3));
        CHECK(number_at(bf, after, block_values, 75)
              == number_at(bf, after, block_rows, 3 * bf.v.token_stride + bf.v.first + 9));
    });
    scene_options o = small_call(16);
    o.key_scale     = 1.0f;
    scene fp8       = scene_of<by_hand>(o);
    set_angles(fp8, 1.0, 0.0);
    set_row(fp8, fp8.k, 3, 0, std::vector<double>(128, 0.0));
    set_row(fp8, fp8.v, 9, 0, std::vector<double>(128, 0.0));
    std::vector<double> mark(18, 0.0);
    mark[17] = 1.0;
    set_row(fp8, fp8.k, 3, 0, mark);
    set_row(fp8, fp8.v, 9, 0, {0.0, 0.0, 0.0, 1.0});
    run_by_hand<by_hand>(fp8, [&](image const& after) {
        CHECK(after[block_keys][305] == 0x38);
        CHECK(after[block_values][57] == 0x38);
    });
}

TEST_CASE("interleaved pages hold what dense pages hold", "[contract][kernel]") // B17
{
    auto o        = call_of(40, {2, 2, 1}, slot_pattern::paged, slot_pattern::paged);
    scene const a = scene_of<m3_bf16>(o);
    o.caches      = cache_form::interleaved;
    scene const b = scene_of<m3_bf16>(o);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        image const dense = run_and_compare<m3_bf16>(stream, a, expected_image(a));
        image const mixed = run_and_compare<m3_bf16>(stream, b, expected_image(b));
        auto const page   = static_cast<std::ptrdiff_t>(2 * 128 * 16 * 2);
        int unequal       = 0;
        for (std::int64_t const slot :
             a.slots) { // both were filled whole: 40 tokens from slot 5 on touch three pages
            auto const at = static_cast<std::ptrdiff_t>(slot / 16) * page;
            for (std::ptrdiff_t i = 0; i < page; ++i) {
                auto const is_set = [&](image const& img, block_id id, std::ptrdiff_t k) {
                    return img[id][static_cast<std::size_t>(k)];
                };
                unequal += is_set(dense, block_keys, at + i) != is_set(mixed, block_keys, 2 * at + i)
                           && is_set(dense, block_keys, at + i) != poison(static_cast<std::size_t>(at + i));
                unequal += is_set(dense, block_values, at + i) != is_set(mixed, block_keys, 2 * at + page + i)
                           && is_set(dense, block_values, at + i) != poison(static_cast<std::size_t>(at + i));
            }
        }
        CHECK(unequal == 0);
    });
}

TEST_CASE("a row stride beyond the row changes nothing", "[contract][kernel]") // B22
{
    auto o        = call_of(7, {4, 2, 2}, slot_pattern::from_five, slot_pattern::from_five);
    scene const a = scene_of<m3_bf16>(o);
    o.row_gap     = 24;
    scene b       = scene_of<m3_bf16>(o);
    b.q_out       = a.q_out; // the outputs without a gap, to be compared whole
    b.index_q_out = a.index_q_out;
    for (block_id const id : {block_q_out, block_index_q_out}) {
        b.blocks[id] = a.blocks[id];
    }
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        image const dense  = run_and_compare<m3_bf16>(stream, a, expected_image(a));
        image const spaced = run_and_compare<m3_bf16>(stream, b, expected_image(b));
        for (block_id const id :
             {block_q_out, block_index_q_out, block_keys, block_values, block_index_keys}) {
            CHECK((dense[id] == spaced[id]));
        }
    });
}

TEST_CASE("one is added to a weight in fp32", "[contract][kernel]") // B25
{
    scene_options o = small_call(1);
    o.eps           = 1.0f - 2.25f / 128.0f; // the mean square and eps make one
    for (double const weight : {0.00390625, 15.8125}) {
        scene s = scene_of<m3_bf16>(o);
        set_angles(s, 1.0, 0.0);
        std::vector<double> row(128, 0.0);
        row[0] = 1.5;
        set_row(s, s.q, 0, 0, row);
        for (int d = 0; d < 128; ++d) {
            scalar_model::write(dtype::bf16, s.blocks[block_q_gain].bytes.data(), d, weight);
        }
        run_by_hand<m3_bf16>(s, [&](image const& after) {
            CHECK(number_at(s, after, block_q_out, 0)
                  == scalar_model::round_to(dtype::bf16, 1.5f * static_cast<float>(1.0 + weight)));
        });
    }
}

TEST_CASE("eps decides small rows, zeros stay zeros, and rows beyond fp32's squares become zeros",
          "[contract][kernel]") // B27
{
    scene s = scene_of<m3_bf16>(small_call(4));
    set_angles(s, 1.0, 0.0);
    double const contents[] = {1e-3, 0.0, std::ldexp(1.0, 66), std::ldexp(1.0, 60)};
    for (int token = 0; token < 4; ++token) {
        set_row(s, s.q, token, 0, std::vector<double>(128, contents[token]));
    }
    for (int d = 0; d < 128; ++d) {
        scalar_model::write(dtype::bf16, s.blocks[block_q_gain].bytes.data(), d, 0.0);
    }
    run_by_hand<m3_bf16>(s, [&](image const& after) {
        CHECK(std::fabs(number_at(s, after, block_q_out, 5) - 0.70711) < 0.002); // half a bf16 step
        CHECK(number_at(s, after, block_q_out, 128 + 5) == 0.0);
        CHECK(number_at(s, after, block_q_out, 256 + 5) == 0.0);
        CHECK(number_at(s, after, block_q_out, 384 + 5) == 1.0);
    });
}

TEST_CASE("dims turn with the dim half the rotary size on", "[contract][kernel]") // B28
{
    scene s = scene_of<by_hand>(small_call(1));
    set_angles(s, 0.0, 1.0);
    std::vector<double> n(128);
    for (int d = 0; d < 128; ++d) {
        n[static_cast<std::size_t>(d)] = d + 1;
    }
    set_row(s, s.q, 0, 0, n);
    run_by_hand<by_hand>(s, [&](image const& after) {
        int wrong = 0;
        for (int d = 0; d < 128; ++d) {
            double const want = d < 32 ? -(d + 33) : d < 64 ? d - 31 : d + 1;
            wrong += number_at(s, after, block_q_out, d) != want;
        }
        CHECK(wrong == 0);
    });
}

TEST_CASE("an fp32 table keeps what a 16-bit one loses", "[contract][kernel]") // B30
{
    scene s = scene_of<by_hand>(small_call(1));
    set_angles(s, 0.70766, 0.70655);
    set_row(s, s.q, 0, 0, std::vector<double>(128, 1.0));
    run_by_hand<by_hand>(s, [&](image const& after) {
        CHECK(number_at(s, after, block_q_out, 0)
              == scalar_model::round_to(dtype::bf16, 0.70766f - 0.70655f));
    });
    scene narrow = scene_of<m3_bf16>(small_call(1));
    set_angles(narrow, 0.70766, 0.70655);
    set_row(narrow, narrow.q, 0, 0, std::vector<double>(128, 1.0));
    for (int d = 0; d < 128; ++d) {
        scalar_model::write(dtype::bf16, narrow.blocks[block_q_gain].bytes.data(), d, 0.0);
    }
    run_by_hand<m3_bf16>(narrow, [&](image const& after) {
        double const left = number_at(narrow, after, block_q_out, 0);
        CHECK(std::fabs(left) < 1e-6); // eps in the norm and the one rounded product leave some 2^-26
    });
}

TEST_CASE("a position outside the table gives zero queries and stores nothing", "[contract][kernel]") // B32
{
    scene_options o = small_call(6);
    o.angle_rows    = 32; // NaN before and after
    scene s         = scene_of<m3_bf16>(o);
    s.positions     = {31, 32, -1, std::int64_t{1} << 40, (std::int64_t{1} << 32) + 3, 0};
    write_indices(s);
    run_by_hand<m3_bf16>(s, [&](image const& after) {
        CHECK(changed_slots(s, after, s.keys, scalar_model::layout::keys) == std::vector<int>{0, 5});
        CHECK(changed_slots(s, after, s.values, scalar_model::layout::values) == std::vector<int>{0, 5});
        auto const first = after[block_q_out].begin() + 256;
        CHECK(std::all_of(first, first + 4 * 256, [](unsigned char const byte) { return byte == 0; }));
        CHECK(std::all_of(after[block_index_q_out].begin() + 256, after[block_index_q_out].begin() + 5 * 256,
                          [](unsigned char const byte) { return byte == 0; }));
    });
}

TEST_CASE("runs of slots of every length, from every place of a vector on", "[contract][kernel]")
{
    check_runs<m3_bf16>();
    check_runs<by_hand>();
}

TEST_CASE("queries in place are the queries out of place, every time", "[contract][kernel]") // B33
{
    auto o                  = call_of(8, {64, 8, 4}, slot_pattern::runs, slot_pattern::scattered);
    scene const apart       = scene_of<m3_bf16>(o);
    o.in_place              = true;
    o.index_in_place        = true;
    scene const in_place    = scene_of<m3_bf16>(o);
    image const want        = expected_image(in_place);
    image const want_apart  = expected_image(apart);
    std::size_t const bytes = 64 * 128 * 2;
    CHECK(std::equal(want_apart[block_q_out].begin(), want_apart[block_q_out].begin() + bytes,
                     want[block_rows].begin()));
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        int unequal = 0;
        for (int repeat = 0; repeat < (sanitized ? 2 : KVLOOM_TEST_BACKEND_HOST ? 20 : 200); ++repeat) {
            scene_memory const memory(in_place);
            REQUIRE(qk_norm_rope_insert<m3_bf16>::launch(stream, make_args<m3_bf16>(in_place, memory)).ok());
            unequal += difference(in_place, want, memory.after()) != "";
        }
        CHECK(unequal == 0);
    });
}
