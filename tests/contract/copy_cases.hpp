// SPDX-License-Identifier: MIT
// One test of copy_pages: a problem and sizes, on every machine, byte for byte as the scalar model says.
#pragma once

#include "contract/page_scenes.hpp"
#include "kvloom/kernel/copy_pages.hpp"
#if KVLOOM_TEST_PLAIN
#include "amd/page_loops.hpp"
#endif
#include "support/catch.hpp"

#include <algorithm>
#include <vector>

namespace kvloom_test {

using kvloom::copy_pages_problem;
using kvloom::no_scale;

/// A problem from its layouts and scales.
template <class Source, class Target, class SourceScale = no_scale, class TargetScale = no_scale,
          int SourceBlock = 1, int TargetBlock = 1>
struct copy_problem : copy_pages_problem
{
    using source       = Source;
    using target       = Target;
    using source_scale = SourceScale;
    using target_scale = TargetScale;

    static constexpr int source_block_pages = SourceBlock;
    static constexpr int target_block_pages = TargetBlock;
};

struct copy_case
{
    page_options source;
    page_options target;
    int count   = 4;
    bool faulty = false;

    /// A case of `heads` heads in two forms.
    static copy_case of(int const heads, page_form const from, page_form const to)
    {
        copy_case c;
        c.source.heads = c.target.heads = heads;
        c.source.form                   = from;
        c.target.form                   = to;
        c.target.pages                  = 6;
        return c;
    }
};

/// What a case is made of in ordinary memory, and what it must become.
struct copy_scene
{
    page_model::cache source, target;
    page_model::scales by, over;
    block source_block, target_block, by_block, over_block, source_ids, target_ids;
    std::vector<unsigned char> wanted_target, wanted_over;
    bool bits = false;
};

inline void finish_copy_scene(copy_scene& s, copy_case const& c, bool const wide,
                              scalar_model::overflow const policy)
{
    s.source_block = make_cache(s.source, c.source, true);
    s.target_block = make_cache(s.target, c.target, false);
    s.by_block     = make_scales(s.by, s.source, c.source);
    auto options   = c.target;
    options.seed += 5;
    s.over_block = make_scales(s.over, s.target, options);
    if (s.over.kind == scale_kind::row) {
        fill_with_marks(s.over_block);
    }
    random_source random(c.source.seed * 31 + 7);
    auto const from = make_page_ids(random, s.source.pages, c.count, c.faulty, wide, 0);
    auto const to   = make_page_ids(random, s.target.pages, c.count, c.faulty, wide, 1);
    s.source_ids    = make_ids(from, wide);
    s.target_ids    = make_ids(to, wide);

    s.bits          = page_model::keeps_bits(s.source, s.by, s.target, s.over);
    s.wanted_target = s.target_block.bytes;
    s.wanted_over   = s.over_block.bytes;
    s.source.data   = s.source_block.bytes.data();
    s.target.data   = s.wanted_target.data();
    s.by.data       = reinterpret_cast<float*>(s.by_block.bytes.data());
    s.over.data     = reinterpret_cast<float*>(s.wanted_over.data());
    std::vector<page_model::pair> pairs;
    for (std::size_t i = 0; i < from.size(); ++i) {
        pairs.push_back({from[i], to[i]});
    }
    page_model::copy(s.source, s.by, s.target, s.over, pairs, policy);
}

template <class Problem>
copy_scene make_copy_scene(copy_case const& c)
{
    copy_scene s;
    s.source        = describe_cache<typename Problem::source, Problem::source_block_pages>(c.source);
    s.target        = describe_cache<typename Problem::target, Problem::target_block_pages>(c.target);
    s.by.kind       = kind_of<typename Problem::source_scale>();
    s.over.kind     = kind_of<typename Problem::target_scale>();
    bool const wide = sizeof(typename Problem::id) == 8;
    finish_copy_scene(s, c, wide,
                      kvloom::is_same_v<typename Problem::overflow, kvloom::to_nan>
                          ? scalar_model::overflow::to_nan
                          : scalar_model::overflow::saturate);
    return s;
}

/// The scene in the memory of the backend under test.
struct copy_memory
{
    guarded_buffer source, target, by, over, source_ids, target_ids;

    explicit copy_memory(copy_scene const& s)
        : source(s.source_block), target(s.target_block), by(s.by_block), over(s.over_block),
          source_ids(s.source_ids), target_ids(s.target_ids)
    {}

    void compare(copy_scene const& s) const
    {
        backend_memory::finish();
        CHECK(first_difference(s.target.type, s.wanted_target, target.bytes(), s.bits) == "");
        CHECK(first_difference(scalar_model::dtype::fp32, s.wanted_over, over.bytes(), true) == "");
        CHECK((source.bytes() == s.source_block.bytes && by.bytes() == s.by_block.bytes));
        for (guarded_buffer const* const buffer : {&source, &target, &by, &over, &source_ids, &target_ids}) {
            CHECK(buffer->trespass() == "");
        }
    }
};

template <class Problem>
kvloom::copy_pages_args<Problem> copy_args(copy_scene const& s, copy_memory const& memory, int const count)
{
    kvloom::copy_pages_args<Problem> args;
    set_view(args.source, s.source, memory.source);
    set_view(args.target, s.target, memory.target);
    set_scale(args.source_scale, s.by, memory.by);
    set_scale(args.target_scale, s.over, memory.over);
    args.source_ids = reinterpret_cast<typename Problem::id const*>(memory.source_ids.data());
    args.target_ids = reinterpret_cast<typename Problem::id const*>(memory.target_ids.data());
    args.count      = count;
    return args;
}

/// Runs a case on every machine; `start(stream, args)` gives a status.
template <class Problem, class Start>
void check_copy_with(copy_case const& c, Start const& start)
{
    copy_scene const s = make_copy_scene<Problem>(c);
    on_every_machine([&](char const* machine, auto const& stream) {
        CAPTURE(machine, c.source.heads, c.count, c.faulty, s.source.order, s.target.order, s.source.type,
                s.target.type, s.by.kind, s.over.kind, s.source.page_size, s.source.dim);
        copy_memory const memory(s);
        REQUIRE(text_of(start(stream, copy_args<Problem>(s, memory, c.count))) == "");
        memory.compare(s);
    });
}

template <class Problem>
void check_copy(copy_case const& c)
{
    check_copy_with<Problem>(c, [](auto const& stream, auto const& args) {
        return kvloom::copy_pages<Problem>::launch(stream, args);
    });
}

/// The usual cases: dense, with gaps and faulty ids, with the heads outside.
template <class Problem>
void check_copies()
{
    copy_case c = copy_case::of(2, page_form::dense, page_form::dense);
    check_copy<Problem>(c);
    c        = copy_case::of(3, page_form::apart, page_form::outer);
    c.count  = 5;
    c.faulty = true;
    check_copy<Problem>(c);
    c                 = copy_case::of(1, page_form::outer, page_form::apart);
    c.source.any_bits = true;
    c.source.seed     = 3;
    check_copy<Problem>(c);
}

template <class Source, class Between>
void from_scale(Between const& between)
{
    between(Source{}, kvloom::no_scale{});
    between(Source{}, kvloom::cache_scale{});
    between(Source{}, kvloom::head_scale{});
    between(Source{}, kvloom::scale_view{});
}

/// Calls `between(source, target)` with every two kinds of scales.
template <class Between>
void between_all_scales(Between const& between)
{
    from_scale<kvloom::no_scale>(between);
    from_scale<kvloom::cache_scale>(between);
    from_scale<kvloom::head_scale>(between);
    from_scale<kvloom::scale_view>(between);
}

} // namespace kvloom_test
