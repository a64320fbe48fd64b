// SPDX-License-Identifier: MIT
// A scene of paged decode in the memory of the backend under test, and its run.
#pragma once

#include "contract/decode_scene.hpp"
#include "kvloom/kernel/paged_decode.hpp"
#if KVLOOM_TEST_PLAIN
#include "amd/decode_loops.hpp"
#endif
#include "support/catch.hpp"

namespace kvloom_test {

template <class Table>
struct table_traits;
template <class Id>
struct table_traits<kvloom::block_table<Id>>
{
    static constexpr bool contiguous = false, list = false, wide = sizeof(Id) == 8;
};
template <class Id>
struct table_traits<kvloom::page_list<Id>>
{
    static constexpr bool contiguous = false, list = true, wide = sizeof(Id) == 8;
};
template <>
struct table_traits<kvloom::contiguous>
{
    static constexpr bool contiguous = true, list = false, wide = false;
};

template <class Problem>
decode_shape shape_of()
{
    using types = kvloom::decode_types<Problem>;
    using table = table_traits<typename Problem::table>;
    decode_shape s;
    s.keys         = describe_cache<typename types::key_layout, Problem::key_block_pages>({});
    s.values       = describe_cache<typename types::value_layout, Problem::value_block_pages>({});
    s.query        = dtype_of<typename types::query>();
    s.out          = dtype_of<typename types::output>();
    s.operand      = dtype_of<typename types::operand>();
    s.key_by       = kind_of<typename Problem::key_scale>();
    s.value_by     = kind_of<typename Problem::value_scale>();
    s.contiguous   = table::contiguous;
    s.list         = table::list;
    s.wide_ids     = table::wide;
    s.wide_lengths = sizeof(typename Problem::length) == 8;
    s.offsets      = !kvloom::is_same_v<typename Problem::tokens, kvloom::uniform_tokens>;
    s.wide_offsets = kvloom::is_same_v<typename Problem::tokens, kvloom::token_offsets<kvloom::i64>>;
    s.window       = kvloom::is_same_v<typename Problem::window, kvloom::sliding_window>;
    s.sinks        = kvloom::is_same_v<typename Problem::sinks, kvloom::head_sinks>;
    s.lse          = Problem::lse::present;
    s.natural      = kvloom::is_same_v<typename Problem::lse, kvloom::natural_lse>;
    return s;
}

template <class Problem>
decode_scene scene_for(decode_options const& options)
{
    return make_decode_scene(shape_of<Problem>(), options);
}

/// A scene in the backend's memory, with a workspace of exactly the bytes asked for, and its arguments.
template <class Problem>
class decode_call
{
public:
    using decode = kvloom::paged_decode<Problem>;

    template <class Stream>
    decode_call(Stream const& stream, decode_scene const& of)
        : scene(of), query(of.query), results(of.out), logarithms(of.lse), keys(of.key_block),
          values(of.value_block), key_scales(of.key_scales), value_scales(of.value_scales), table(of.table),
          starts(of.starts), lengths(of.length_block), offsets(of.offsets), sinks(of.sinks),
          slopes(of.slopes), args(make_args(stream)), workspace(workspace_block(args.workspace.bytes))
    {
        args.workspace.data = workspace.data();
    }

    /// A step; the first one readies the workspace.
    template <class Stream>
    void run(Stream const& stream)
    {
        if (!ready) {
            REQUIRE(text_of(decode::prepare_workspace(stream, args)) == "");
            ready = true;
        }
        REQUIRE(text_of(decode::plan(stream, args)) == "");
        REQUIRE(text_of(decode::launch(stream, args)) == "");
        backend_memory::finish();
    }

    std::vector<unsigned char> out() const { return results.bytes(); }
    std::vector<unsigned char> lse() const { return logarithms.bytes(); }

    /// Other lengths, as a later step has them.
    void set_lengths(std::vector<std::int64_t> const& of) const
    {
        auto const bytes = make_ids(of, sizeof(typename Problem::length) == 8).bytes;
        backend_memory::upload(lengths.data(), bytes.data(), bytes.size());
    }

    /// Other numbers of query tokens, where the problem has offsets.
    void set_offsets(std::vector<std::int64_t> const& of) const
    {
        auto const bytes = make_ids(of, scene.shape.wide_offsets).bytes;
        backend_memory::upload(offsets.data(), bytes.data(), bytes.size());
    }

    /// What was written between and around the blocks of memory; empty where nothing was.
    std::string stray_writes() const
    {
        std::string text;
        for (auto const* buffer : {&query, &results, &logarithms, &keys, &values, &key_scales, &value_scales,
                                   &table, &starts, &lengths, &offsets, &sinks, &slopes, &workspace}) {
            text += buffer->trespass();
        }
        return text;
    }

    /// What was written that is no output; empty where nothing was.
    std::string trespasses() const
    {
        bool const kept = query.bytes() == scene.query.bytes && keys.bytes() == scene.key_block.bytes
                          && values.bytes() == scene.value_block.bytes && table.bytes() == scene.table.bytes;
        return stray_writes() + (kept ? "" : "an input was written");
    }

private:
    using args_type = typename decode::args;

    static block workspace_block(kvloom::i64 const bytes)
    {
        block b;
        b.bytes.assign(static_cast<std::size_t>(bytes), 0xFF);
        b.guard_byte = 0x5A;
        return b;
    }

    template <class T>
    static void point(T*& pointer, guarded_buffer const& buffer)
    {
        pointer = reinterpret_cast<T*>(buffer.data());
    }

    template <class View>
    static void set_rows(View& view, decode_rows const& rows, guarded_buffer const& buffer)
    {
        point(view.data, buffer);
        view.heads        = rows.heads;
        view.token_stride = rows.token_stride;
        view.head_stride  = rows.head_stride;
    }

    template <class Stream>
    args_type make_args(Stream const& stream) const
    {
        args_type a;
        set_rows(a.query, scene.query_rows, query);
        set_rows(a.out, scene.out_rows, results);
        set_view(a.keys, scene.keys, keys);
        set_view(a.values, scene.values, values);
        set_scale(a.key_scale, scene.key_by, key_scales);
        set_scale(a.value_scale, scene.value_by, value_scales);
        set_table(a.table);
        point(a.lengths, lengths);
        a.sequences     = scene.sequences();
        a.softmax_scale = scene.options.scale;
        set_tokens(a.tokens);
        set_options(a);
        a.workspace.blocks = scene.options.blocks;
        a.workspace.bytes  = decode::workspace_bytes(stream, a);
        return a;
    }

    template <class Id>
    void set_table(kvloom::block_table<Id>& to) const
    {
        point(to.ids, table);
        to.sequences = scene.sequences();
        to.width     = scene.most_pages;
        to.stride    = scene.table_stride;
    }
    template <class Id>
    void set_table(kvloom::page_list<Id>& to) const
    {
        point(to.ids, table);
        point(to.starts, starts);
        to.sequences = scene.sequences();
        to.most      = scene.most_pages;
    }
    void set_table(kvloom::contiguous& to) const
    {
        to.sequences = scene.sequences();
        to.pages     = scene.most_pages;
    }

    void set_tokens(kvloom::uniform_tokens& to) const { to.count = scene.most_tokens; }
    template <class Offset>
    void set_tokens(kvloom::token_offsets<Offset>& to) const
    {
        point(to.data, offsets);
        to.most = scene.most_tokens;
        to.rows = scene.out_rows.tokens;
    }

    void set_options(args_type& a) const
    {
        if constexpr (kvloom::is_same_v<typename Problem::window, kvloom::sliding_window>) {
            a.window.size = scene.options.window;
        }
        if constexpr (kvloom::is_same_v<typename Problem::sinks, kvloom::head_sinks>) {
            point(a.sinks.data, sinks);
        }
        if constexpr (Problem::lse::present) {
            point(a.lse.data, logarithms);
            a.lse.token_stride = scene.lse_stride;
        }
        if constexpr (kvloom::is_same_v<typename Problem::logits, kvloom::soft_cap>) {
            a.logits.limit = scene.options.cap;
        }
        if constexpr (kvloom::is_same_v<typename Problem::logits, kvloom::alibi>) {
            point(a.logits.slopes, slopes);
        }
    }

    decode_scene const& scene;
    guarded_buffer query, results, logarithms, keys, values, key_scales, value_scales, table, starts, lengths,
        offsets, sinks, slopes;

public:
    args_type args; ///< a test may change them before it runs

private:
    guarded_buffer workspace;
    bool ready = false;
};

} // namespace kvloom_test
