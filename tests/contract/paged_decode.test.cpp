// SPDX-License-Identifier: MIT
// Paged decode of bf16 caches against attention in double, and what must not change a byte of its results.
#include "contract/decode_check.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

struct plain : decode_problem
{
    using lse = natural_lse;
};

struct on_three_chiplets : plain
{
    using placement = placing::by_chiplet<3>;
};

struct last_on_eight_chiplets : plain
{
    using placement      = placing::by_chiplet<8>;
    using merge_strategy = merging::last_arriver;
};

/// No permutation: block 1 takes block 0's share over again, and nobody its own.
struct one_twice : plain
{
    struct placement
    {
        template <arch_id>
        KVLOOM_FN static constexpr int share(int block, int)
        {
            return block == 1 ? 0 : block;
        }
    };
};

/// No tokens, fewer than a page, around the tokens of a node, and many.
std::vector<std::int64_t> contexts()
{
    std::vector<std::int64_t> lengths{0, 1, 15, 16, 17, 1000, 4097};
    for (int length = 241; length <= 257; ++length) {
        lengths.push_back(length);
    }
    return lengths;
}

/// Scenes in which every kind of cut occurs: of one head among blocks, of a block among heads and sequences.
std::vector<decode_options> uneven_scenes()
{
    return {options_of({700, 0, 1500, 3, 129}, 8, 1, 1), options_of({40, 1030, 600}, 6, 2, 2),
            options_of({2100, 17}, 24, 1, 1), options_of({520, 900}, 15, 3, 16)};
}

/// Checks that both scenes give the same bytes on every machine.
void check_same(decode_options const& one, decode_options const& other)
{
    auto const a = scene_for<plain>(one);
    auto const b = scene_for<plain>(other);
    on_every_machine([&](char const* machine, auto const& stream) {
        CAPTURE(machine, one.heads, one.count, one.blocks, other.blocks);
        CHECK((bytes_of<plain>(stream, a) == bytes_of<plain>(stream, b)));
    });
}

} // namespace

TEST_CASE("paged_decode: blocks of 8, 16, 32 and 64 query rows, full and not", "[contract][decode]")
{
    for (int const count : {1, 2, 3, 7}) {
        check_decode<plain>(options_of({0, 33, 530}, 8, 1, count));
    }
}

TEST_CASE("paged_decode: contexts of none to thousands of tokens", "[contract][decode][large]")
{
    check_decode<plain>(options_of(contexts(), 8, 1, 1));
    auto o  = options_of({0, 1, 33, 400}, 8, 2, 1);
    o.scale = 0.0117F;
    check_decode<plain>(o);
    o.scale    = 0.7F; // a few tokens outweigh all others, and the largest score moves often
    o.loudness = 5.0;
    o.seed     = 2;
    check_decode<plain>(o);
}

TEST_CASE("paged_decode: one to sixteen query tokens", "[contract][decode][large]")
{
    for (int const count : {2, 4, 8, 16}) {
        check_decode<plain>(options_of({0, 1, 15, 16, 17, 241, 250, 256, 257, 700}, 6, 2, count));
    }
    check_decode<plain>(options_of(contexts(), 8, 1, 4));
}

TEST_CASE("paged_decode: query heads to a head of K and V", "[contract][decode][large]")
{
    for (int const group : {1, 3, 5, 8, 16, 24, 71}) {
        check_decode<plain>(options_of({1, 17, 243, 700}, 2 * group, 2, 1));
    }
    check_decode<plain>(options_of({17, 530}, 71, 1, 2));
    check_decode<plain>(options_of({300, 64, 5}, 11, 11, 1));
}

TEST_CASE("paged_decode: gaps between rows, heads and pages, heads outside tokens", "[contract][decode]")
{
    for (page_form const form : {page_form::apart, page_form::outer}) {
        auto o   = options_of({0, 5, 300}, 6, 3, 2);
        o.rows   = form;
        o.caches = form;
        check_decode<plain>(o);
    }
}

TEST_CASE("paged_decode: no cut of the work changes a byte", "[contract][decode][law][large]")
{
    for (auto const& o : uneven_scenes()) {
        auto s = scene_for<plain>(o);
        on_every_machine([&](char const* machine, auto const& stream) {
            s.options.blocks = 1;
            auto const whole = bytes_of<plain>(stream, s);
            for (int const blocks : {2, 3, 7, 20, 64}) { // of the last ones, more than there is work
                CAPTURE(machine, o.lengths, o.heads, o.count, blocks);
                s.options.blocks = blocks;
                CHECK((bytes_of<plain>(stream, s) == whole));
            }
        });
    }
}

TEST_CASE("paged_decode: shares smaller than a node change no byte", "[contract][decode][law][large]")
{
    auto s =
        scene_for<plain>(options_of({4100, 300}, 8, 8, 1)); // nodes of 1024 and of 256 tokens, 56 of them
    on_every_machine([&](char const* machine, auto const& stream) {
        s.options.blocks = 1;
        auto const whole = bytes_of<plain>(stream, s);
        for (int const blocks : {41, 55}) { // some blocks have none
            CAPTURE(machine, blocks);
            s.options.blocks = blocks;
            CHECK((bytes_of<plain>(stream, s) == whole));
            CHECK((bytes_of<last_on_eight_chiplets>(stream, s) == whole));
        }
    });
}

TEST_CASE("paged_decode: no placement of the blocks changes a byte", "[contract][decode][law][large]")
{
    for (auto const& o : uneven_scenes()) {
        auto s = scene_for<plain>(o);
        on_every_machine([&](char const* machine, auto const& stream) {
            for (int const blocks : {1, 3, 7, 20}) {
                CAPTURE(machine, o.lengths, o.heads, o.count, blocks);
                s.options.blocks  = blocks;
                auto const placed = bytes_of<plain>(stream, s);
                CHECK((bytes_of<on_three_chiplets>(stream, s) == placed));
                CHECK((bytes_of<last_on_eight_chiplets>(stream, s) == placed));
                if (blocks == 3) { // fewer than there are units: the placement is asked
                    CHECK((bytes_of<one_twice>(stream, s) != placed));
                }
            }
        });
    }
}

TEST_CASE("paged_decode: every cut is right", "[contract][decode][large]")
{
    for (auto o : uneven_scenes()) {
        for (int const blocks : {1, 5}) {
            o.blocks = blocks;
            check_decode<plain>(o);
        }
    }
}

TEST_CASE("paged_decode: a sequence in a batch gives the bytes that it gives alone",
          "[contract][decode][law][large]")
{
    for (auto const& o : uneven_scenes()) {
        auto const batch = scene_for<plain>(o);
        for (int i = 0; i < batch.sequences(); ++i) {
            auto one           = o;
            one.lengths        = {o.lengths[static_cast<std::size_t>(i)]};
            one.first_sequence = i;
            one.blocks         = o.blocks + i;
            auto const alone   = scene_for<plain>(one);
            on_every_machine([&](char const* machine, auto const& stream) {
                CAPTURE(machine, o.heads, i);
                decode_call<plain> of_all(stream, batch);
                decode_call<plain> of_one(stream, alone);
                of_all.run(stream);
                of_one.run(stream);
                auto const all  = of_all.out();
                auto const part = of_one.out();
                CHECK(std::equal(part.begin(), part.end(),
                                 all.begin() + i * static_cast<std::ptrdiff_t>(part.size())));
            });
        }
    }
}

TEST_CASE("paged_decode: the order of the pages changes no byte", "[contract][decode][law][large]")
{
    for (auto const& o : uneven_scenes()) {
        auto other   = o;
        other.order  = 23;
        other.caches = page_form::apart;
        check_same(o, other);
    }
}

TEST_CASE("paged_decode: no byte behind a sequence changes a byte", "[contract][decode][law][large]")
{
    for (auto const& o : uneven_scenes()) {
        auto const nans = scene_for<plain>(o);
        on_every_machine([&](char const* machine, auto const& stream) {
            auto const want = bytes_of<plain>(stream, nans);
            for (int const code : {0x0000, 0x7F80, 0xFF80, 0x447A}) { // 0, infinities, 1000
                CAPTURE(machine, o.lengths, o.heads, o.count, code);
                auto other  = o;
                other.stale = code;
                CHECK((bytes_of<plain>(stream, scene_for<plain>(other)) == want));
            }
        });
    }
}

TEST_CASE("paged_decode: tokens whose page id is out of range are not seen", "[contract][decode][large]")
{
    for (auto o : uneven_scenes()) {
        o.faulty = true;
        check_decode<plain>(o);
    }
    auto o =
        options_of({16, 32, 48}, 8, 1, 1); // sequence 1 has its only page out of range for two query tokens
    o.count  = 2;
    o.faulty = true;
    check_decode<plain>(o);
}

TEST_CASE("paged_decode: negative lengths are none, lengths beyond the table end with it",
          "[contract][decode]")
{
    auto o  = options_of({-1, 50, std::numeric_limits<std::int32_t>::min(), 49, 1000}, 8, 2, 2);
    o.width = 3;
    check_decode<plain>(o);
    o.lengths = {std::numeric_limits<std::int32_t>::max(), 7};
    check_decode<plain>(o);
    o.width = 0; // a table that holds nothing
    check_decode<plain>(o);
}

TEST_CASE("paged_decode: more query tokens than tokens", "[contract][decode]")
{
    check_decode<plain>(options_of({0, 1, 3, 7, 8}, 8, 2, 8)); // the first ones see nothing
}

TEST_CASE("paged_decode: a workspace serves step after step", "[contract][decode]")
{
    auto const o = options_of({700, 900, 1500}, 8, 1, 2);
    auto const s = scene_for<plain>(o);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        decode_call<plain> steps(stream, s);
        std::vector<std::vector<std::int64_t>> const lengths{
            {700, 900, 1500}, {1, 0, 300}, {690, 513, -4}, {512, 512, 512}};
        for (auto const& now : lengths) {
            decode_call<plain> fresh(stream, s);
            steps.set_lengths(now);
            fresh.set_lengths(now);
            steps.run(stream);
            fresh.run(stream);
            CHECK((steps.out() == fresh.out()));
            CHECK((steps.lse() == fresh.lse()));
            auto const once = steps.out();
            REQUIRE(text_of(paged_decode<plain>::launch(stream, steps.args))
                    == ""); // another layer of the step
            backend_memory::finish();
            CHECK((steps.out() == once));
        }
        CHECK(steps.trespasses() == "");
    });
}

TEST_CASE("paged_decode: the size of the workspace does not depend on lengths", "[contract][decode]")
{
    auto a           = options_of({700, 900}, 8, 1, 2);
    a.width          = 80;
    auto b           = a;
    b.lengths        = {3, 0};
    auto const one   = scene_for<plain>(a);
    auto const other = scene_for<plain>(b);
    on_every_machine([&](char const* machine, auto const& stream) {
        INFO(machine);
        decode_call<plain> const of_one(stream, one);
        decode_call<plain> const of_other(stream, other);
        CHECK(of_one.args.workspace.bytes == of_other.args.workspace.bytes);
    });
}
