// SPDX-License-Identifier: MIT
// Page ids past 65535, slots past 2^31, offsets past 2^31 elements and many rows: the bytes of small numbers.
//
// A view's base is moved back by so many pages, and the slots are moved on by as many: what is touched stays
// where it was, and nothing else needs memory.
#include "contract/check_problem.hpp"

#include "kvloom/kernel/unfused.hpp"

#if KVLOOM_TEST_BACKEND_HOST
#include <sys/mman.h>
#endif

using namespace kvloom_test;

namespace {

/// `pointer` less `elements`, which nothing looks at as such.
template <class T>
T* moved_back(T* const pointer, std::int64_t const elements)
{
    auto const bytes = static_cast<std::uintptr_t>(elements) * sizeof(T);
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(pointer) - bytes);
}

template <class View>
void move_pages(View& view, std::int64_t const pages)
{
    std::int64_t const blocks = pages / View::block_pages;
    view.data =
        moved_back(view.data, blocks * (View::block_pages > 1 ? view.block_stride : view.page_stride));
    view.pages += static_cast<int>(pages);
}

void move_scales(scale_view& view, std::int64_t const pages)
{
    view.data = moved_back(view.data, pages * view.page_stride);
}

/// Slots that many pages on; those without a place stay as they are.
std::vector<std::int64_t> moved_slots(std::vector<std::int64_t> slots, int const pages, int const page_size,
                                      std::int64_t const by)
{
    for (std::int64_t& slot : slots) {
        bool const inside = slot >= 0 && slot < std::int64_t{pages} * page_size;
        slot += inside || slot == std::int64_t{pages} * page_size ? by * page_size : 0;
    }
    return slots;
}

/// The scene's call with every page `pages` (a multiple of 8) further on, and positions by as many rows.
template <class Problem>
void check_moved(scene const& s, std::int64_t const pages)
{
    image const want = expected_image(s);
    scene far        = s;
    far.slots        = moved_slots(s.slots, s.values.pages, s.problem.page_size, pages);
    far.index_slots  = moved_slots(s.index_slots, s.index_keys.pages, s.problem.index_page_size, pages);
    for (std::int64_t& position : far.positions) {
        position += pages;
    }
    write_indices(far);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine << ": " << s.name() << ", " << pages << " pages on");
        image const near = run_and_compare<Problem>(stream, s, want);
        scene_memory const memory(far);
        auto args = make_args<Problem>(far, memory);
        move_pages(args.keys, pages);
        move_pages(args.values, pages);
        move_scales(args.key_scales, pages);
        move_scales(args.value_scales, pages);
        move_pages(args.index_keys, pages);
        args.angles.data = moved_back(args.angles.data, pages * args.angles.stride);
        args.angles.rows += pages;
        // Not launch(): by what these views say of themselves they lie over each other.
        REQUIRE(text_of(kvloom::detail::start_planned(stream, args)) == "");
        image const got = memory.after();
        for (block_id const id : {block_q_out, block_index_q_out, block_keys, block_values, block_index_keys,
                                  block_key_scales, block_value_scales, block_k_out, block_index_k_out}) {
            INFO(name_of(id));
            CHECK((near[id] == got[id]));
        }
        CHECK(memory.trespasses() == "");
    });
}

/// One row a tile and several; page ids past 16 bits, offsets past 31, 32 and 33 bits, slots past 31 and 32.
template <class Problem>
void check_far()
{
    for (int const q_heads : {3, 96}) {
        auto o   = call_of(50, {q_heads, 2, 1}, slot_pattern::runs, slot_pattern::paged, cache_form::apart);
        scene s  = scene_of<Problem>(o);
        auto& at = s.slots;
        at[7]    = -1;
        at[11]   = std::int64_t{s.values.pages} * s.problem.page_size; // just beyond the last page
        write_indices(s);
        for (std::int64_t const pages : {600000, 70000, 1200000}) {
            if (!sanitized || pages == 600000) {
                check_moved<Problem>(s, pages);
            }
        }
        if (!sanitized && s.wide_slots && s.wide_positions) {
            check_moved<Problem>(s, 1 << 28);
        }
    }
}

} // namespace

TEST_CASE("far pages hold what near pages hold: SHUFFLE pages and index rows", "[contract][cases]") // B05
{
    check_far<m3_bf16>();
    check_far<m3_static>();
}

TEST_CASE("far pages hold what near pages hold: pages of one token", "[contract][cases]") // B05
{
    check_far<rows_page_1>();
}

TEST_CASE("far pages hold what near pages hold: scales that are written", "[contract][cases]") // B05
{
    check_far<token_scales>();
    check_far<token_scales_rows>();
}

TEST_CASE("far pages hold what near pages hold: packed blocks", "[contract][cases]") // B05
{
    check_far<packed_bf16>();
}

TEST_CASE("tokens of a row view may lie more than 2^31 elements apart", "[contract][cases]") // B05, B22
{
    scene s = scene_of<m3_bf16>(call_of(3, {5, 2, 2}, slot_pattern::from_five, slot_pattern::scattered));
    image const want          = expected_image(s);
    std::int64_t const stride = (std::int64_t{1} << 31) + 64; // two of them pass 2^32 elements
    std::size_t const row     = static_cast<std::size_t>(s.q.token_stride) * 2;
    std::size_t const out     = 5 * 128 * 2;
    std::size_t const bytes   = static_cast<std::size_t>(2 * stride) * 2 + row + out;
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
#if KVLOOM_TEST_BACKEND_HOST
        void* const storage =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        REQUIRE(storage != MAP_FAILED);
#else
        void* const storage = backend_memory::allocate(bytes);
#endif
        auto* const base = static_cast<unsigned char*>(storage);
        auto const at    = [&](std::size_t token) {
            return base + token * static_cast<std::size_t>(stride) * 2;
        };
        for (std::size_t token = 0; token < 3; ++token) { // a row of sources, then its queries
            backend_memory::upload(at(token), &s.blocks[block_rows].bytes[token * row], row);
            backend_memory::upload(at(token) + row, &s.blocks[block_q_out].bytes[token * out], out);
        }
        scene_memory const memory(s);
        auto args       = make_args<m3_bf16>(s, memory);
        auto const move = [&](auto& view, std::int64_t const first) {
            view.data         = reinterpret_cast<decltype(view.data)>(storage) + first;
            view.token_stride = stride;
        };
        move(args.q, s.q.first);
        move(args.k, s.k.first);
        move(args.v, s.v.first);
        move(args.index_q, s.index_q.first);
        move(args.index_k, s.index_k.first);
        move(args.q_out, s.q.token_stride);
        REQUIRE(text_of(qk_norm_rope_insert<m3_bf16>::launch(stream, args)) == "");
        image got = memory.after();
        for (std::size_t token = 0; token < 3; ++token) {
            backend_memory::download(&got[block_q_out][token * out], at(token) + row, out);
        }
        CHECK(difference(s, want, got) == "");
#if KVLOOM_TEST_BACKEND_HOST
        munmap(storage, bytes);
#else
        backend_memory::release(storage);
#endif
    });
}

TEST_CASE("65600 tokens in one call: the last one's rows are in the caches",
          "[contract][cases][large]") // B08
{
    constexpr int tokens = 65600;
    scene_options o      = call_of(tokens, {1, 1, 0}, slot_pattern::reversed, slot_pattern::consecutive);
    scene const s        = scene_of<narrow_heads>(o);
    image const want     = expected_image(s);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        image const got = run_and_compare<narrow_heads>(stream, s, want);
        CHECK(number_at(s, got, block_values, 0) == number_at(s, want, block_values, 0)); // the last token's
        CHECK((got[block_index_keys] != s.initial()[block_index_keys]));
    });
}

TEST_CASE("65600 rows of 64 in one call of the writer alone", "[contract][cases][large]") // B08
{
    constexpr int tokens = 65600;
    using writer         = reshape_and_cache<narrow_heads>;
    device_array<bf16> const rows(std::size_t{tokens} * 64, encode<bf16>(1.5f));
    device_array<float> const scale(1, 1.0f);
    std::vector<i64> order;
    for (int token = 0; token < tokens; ++token) {
        order.push_back((i64{token} * 48271) % tokens); // no divisor in common: each slot once
    }
    device_array<i64> const slots(order);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        device_array<fp8_e4m3> const keys(std::size_t{tokens} * 64, fp8_e4m3{0x11});
        device_array<fp8_e4m3> const values(std::size_t{tokens} * 64, fp8_e4m3{0x11});
        writer::args args;
        args.tokens = tokens;
        args.k = args.v = {rows.data(), 1, 64};
        args.slots      = slots.data();
        args.slot_count = tokens;
        args.keys       = {keys.data(), tokens / 16, 1, 16 * 64};
        args.values     = {values.data(), tokens / 16, 1, 16 * 64};
        args.key_scale = args.value_scale = scale.data();
        REQUIRE(text_of(writer::launch(stream, args)) == "");
        std::vector<fp8_e4m3> const all(std::size_t{tokens} * 64, encode<fp8_e4m3>(1.5f));
        CHECK((keys.values() == all));
        CHECK((values.values() == all));
    });
}
