// SPDX-License-Identifier: MIT
// Which memory the fused insert touches: nothing of padded tokens, and pages however far apart.
#include "contract/check_problem.hpp"

#include <algorithm>
#include <cstring>

#if KVLOOM_TEST_BACKEND_HOST
#include <sys/mman.h>
#endif

using namespace kvloom_test;

#if KVLOOM_TEST_BACKEND_HOST

namespace {

/// Rows of which each token has pages of its own, so that single tokens can be closed to all access.
class closable_rows
{
public:
    static constexpr std::size_t token_bytes =
        4096; // a multiple of the machine's page wherever the tests run

    explicit closable_rows(int const tokens) : bytes_(token_bytes * static_cast<std::size_t>(tokens))
    {
        memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(memory_ != MAP_FAILED);
    }
    ~closable_rows() { munmap(memory_, bytes_); }
    closable_rows(closable_rows const&)            = delete;
    closable_rows& operator=(closable_rows const&) = delete;

    unsigned char* token(int const t) const
    {
        return static_cast<unsigned char*>(memory_) + token_bytes * static_cast<std::size_t>(t);
    }
    void close(int const t) const { REQUIRE(mprotect(token(t), token_bytes, PROT_NONE) == 0); }

private:
    std::size_t bytes_;
    void* memory_ = nullptr;
};

/// Copies a section's rows there, points `view` at them, and closes the tokens from `count` on.
template <class View>
void move_rows(closable_rows const& to, View& view, scene const& s, rows_at const& from, int const count)
{
    std::size_t const row = static_cast<std::size_t>(from.heads * s.problem.head_dim) * 2;
    for (int token = 0; token < s.options.tokens; ++token) {
        std::memcpy(
            to.token(token),
            &s.blocks[from.block].bytes[static_cast<std::size_t>(from.first + token * from.token_stride) * 2],
            row);
        if (token >= count) {
            to.close(token);
        }
    }
    view.data         = reinterpret_cast<decltype(view.data)>(to.token(0));
    view.token_stride = closable_rows::token_bytes / 2;
}

} // namespace

TEST_CASE("k, v and index keys of tokens beyond the slots are not even read", "[contract][kernel]")
{
    for (auto const heads : {head_counts{8, 2, 1}, head_counts{71, 3, 2}}) { // one row a tile; several
        scene const s    = scene_of<m3_bf16>(call_of(75, heads, slot_pattern::few, slot_pattern::few));
        image const want = expected_image(s);
        REQUIRE(s.slots.size() < 75);
        on_every_machine([&](char const* machine, auto const& stream) {
            INFO(machine << ": " << s.name());
            scene_memory const memory(s);
            closable_rows const k(75), v(75), index_k(75);
            auto args = make_args<m3_bf16>(s, memory);
            move_rows(k, args.k, s, s.k, args.slot_count);
            move_rows(v, args.v, s, s.v, args.slot_count);
            move_rows(index_k, args.index_k, s, s.index_k, args.index_slot_count);
            REQUIRE(text_of(qk_norm_rope_insert<m3_bf16>::launch(stream, args)) == "");
            CHECK(difference(s, want, memory.after()) == "");
        });
    }
}

#endif

TEST_CASE("pages may lie more than 2^32 bytes apart", "[contract][kernel]") // B05
{
    scene s = scene_of<m3_bf16>(call_of(33, {2, 2, 1}, slot_pattern::paged, slot_pattern::paged));

    // K, V and index pages p lie in one storage, far apart; everything between them is never touched, nor is there memory for it
    // on the host until it is.
    std::int64_t const far  = (std::int64_t{1} << 31) + 4096; // elements
    std::int64_t const span = s.keys.page_stride;
    int const pages         = s.keys.pages;
    image const want        = expected_image(s);
    std::size_t const bytes = static_cast<std::size_t>(far * (pages - 1) + 4 * span) * 2;

    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
#if KVLOOM_TEST_BACKEND_HOST
        void* const storage =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        REQUIRE(storage != MAP_FAILED);
#else
        void* const storage = backend_memory::allocate(bytes);
#endif
        auto* const base        = static_cast<unsigned char*>(storage);
        auto const at           = [&](int page, int part) { return base + (page * far + part * span) * 2; };
        block_id const blocks[] = {block_keys, block_values, block_index_keys};
        std::int64_t const strides[] = {s.keys.page_stride, s.values.page_stride, s.index_keys.page_stride};
        for (int page = 0; page < pages; ++page) {
            for (int part = 0; part < 3; ++part) {
                auto const stride = static_cast<std::size_t>(strides[part]) * 2;
                backend_memory::upload(at(page, part),
                                       &s.blocks[blocks[part]].bytes[static_cast<std::size_t>(page) * stride],
                                       stride);
            }
        }
        scene_memory const memory(s);
        auto args                   = make_args<m3_bf16>(s, memory);
        args.keys.data              = reinterpret_cast<bf16*>(at(0, 0));
        args.values.data            = reinterpret_cast<bf16*>(at(0, 1));
        args.index_keys.data        = reinterpret_cast<bf16*>(at(0, 2));
        args.keys.page_stride       = far;
        args.values.page_stride     = far;
        args.index_keys.page_stride = far;
        REQUIRE(text_of(qk_norm_rope_insert<m3_bf16>::launch(stream, args)) == "");

        image got = memory.after();
        for (int page = 0; page < pages; ++page) {
            for (int part = 0; part < 3; ++part) {
                auto const stride = static_cast<std::size_t>(strides[part]) * 2;
                backend_memory::download(&got[blocks[part]][static_cast<std::size_t>(page) * stride],
                                         at(page, part), stride);
            }
        }
        CHECK(difference(s, want, got) == "");
#if KVLOOM_TEST_BACKEND_HOST
        munmap(storage, bytes);
#else
        backend_memory::release(storage);
#endif
    });
}

TEST_CASE("heads of a cache may lie further apart than pages", "[contract][kernel]")
{
    // strides may come in any order: here all pages of head 0, then all pages of head 1
    scene s            = scene_of<m3_bf16>(call_of(40, {2, 2, 1}, slot_pattern::paged, slot_pattern::paged));
    std::int64_t span  = 16 * 128;
    s.keys.page_stride = span;
    s.keys.head_stride = span * s.keys.pages;
    s.values.page_stride = span;
    s.values.head_stride = span * s.values.pages;
    check_scene<m3_bf16>(s, 1);
}

TEST_CASE("rows may lie head by head", "[contract][kernel]")
{
    scene s           = scene_of<m3_strided>(call_of(20, {6, 2, 2}, slot_pattern::runs, slot_pattern::runs));
    std::int64_t size = 128;
    s.q_out.token_stride       = size;
    s.q_out.head_stride        = size * 20;
    s.index_q_out.token_stride = size;
    s.index_q_out.head_stride  = size * 20;
    check_scene<m3_strided>(s, 1);
}

TEST_CASE("queries may share their rows with a gate", "[contract][kernel]")
{
    for (int const tokens : {9, 70}) { // one row a tile; several
        auto o           = call_of(tokens, {64, 2, 1}, slot_pattern::runs, slot_pattern::gaps);
        o.head_gap       = 128;
        o.in_place       = true;
        o.index_in_place = true;
        check_scene<m3_strided>(scene_of<m3_strided>(o), 7);
    }
}

TEST_CASE("no slots at all: queries alone are written", "[contract][kernel]")
{
    scene s          = scene_of<m3_bf16>(call_of(9, {3, 1, 2}, slot_pattern::none, slot_pattern::none));
    image const want = expected_image(s);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        scene_memory const memory(s);
        auto args             = make_args<m3_bf16>(s, memory);
        args.slots            = nullptr;
        args.index_slots      = nullptr;
        args.keys.data        = nullptr; // and no pages
        args.keys.pages       = 0;
        args.values.data      = nullptr;
        args.values.pages     = 0;
        args.index_keys.data  = nullptr;
        args.index_keys.pages = 0;
        REQUIRE(text_of(qk_norm_rope_insert<m3_bf16>::launch(stream, args)) == "");
        CHECK(difference(s, want, memory.after()) == "");
    });
}
