// SPDX-License-Identifier: MIT
// Reads the tokens of sequences back from a paged cache into dense rows, dequantised.
#pragma once

#include "kvloom/group/launch_bounds.hpp"
#include "kvloom/kernel/page_checks.hpp"
#include "kvloom/kernel/page_rows.hpp"
#include "kvloom/layout/page_table.hpp"

namespace kvloom {
inline namespace v0 {

/// Defaults of a problem. A user's problem derives from this and overrides what differs; a new member breaks
/// nobody.
struct read_back_problem
{
    using cache  = token_rows<bf16, 128>; ///< layout of a page, with its element type
    using output = bf16;                  ///< element of the dense rows: bf16, fp16 or float
    using id     = int;                   ///< of page ids: signed, 32 or 64 bits
    using scale  = no_scale;              ///< no_scale, cache_scale, head_scale or scale_view

    static constexpr int block_pages = 1; ///< pages of a block, as in paged_view
};

/// The types that follow from a problem.
template <class Problem>
struct read_back_types
{
    using layout  = typename Problem::cache;
    using element = typename layout::element;
    using output  = typename Problem::output;
    using id      = typename Problem::id;
    using scale   = typename Problem::scale;
    using view    = paged_view<layout, Problem::block_pages>;

    static constexpr int dim       = layout::dim;
    static constexpr int page_size = layout::page_size;

    /// Elements are copied as they are, bits of NaN too.
    static constexpr bool moves_bits = is_same_v<element, output> && is_same_v<scale, no_scale>;

    static_assert(is_page_dim_v<dim>, "read_back: the head size must be 64, 128, 256 or 512");
    static_assert(page_size <= 1024, "read_back: a page must have at most 1024 tokens");
    static_assert(is_cache_element_v<element>,
                  "read_back: caches hold bf16, fp16, fp8_e4m3 or fp8_e4m3_fnuz");
    static_assert(is_same_v<output, bf16> || is_same_v<output, fp16> || is_same_v<output, float>,
                  "read_back: rows hold bf16, fp16 or float");
    static_assert(is_index_v<id>, "read_back: page ids are signed integers of 32 or 64 bits");
    static_assert(is_page_scale_v<scale>,
                  "read_back: scales are no_scale, cache_scale, head_scale or scale_view");
};

/// Arguments. Strides are in elements; bases and strides of the cache and the rows are multiples of 16 bytes.
/// Pointers are to device memory; the rows must not overlap anything.
///
/// Token `first + t` of sequence `sequence + s` becomes row s * count + t, for each of `sequences` sequences
/// and `count` tokens: the stored numbers times their dequant scale, rounded to fp32 and then to the output
/// type. A token whose page id is negative or beyond the cache gives zeros, and its scale is not read.
template <class Problem>
struct read_back_args
{
    using types = read_back_types<Problem>;

    typename types::view cache;
    block_table<typename types::id> table;
    int sequence  = 0; ///< row of the table, the first of `sequences`
    int sequences = 1;
    i64 first     = 0; ///< position of the first token in its sequence
    int count     = 0; ///< tokens of each sequence
    head_rows<typename types::output, types::dim, strided_heads>
        rows; ///< [sequences * count][heads][head_dim]
    typename types::scale scale;
};

namespace detail {

/// Arguments of a launch: the user's and what the host derived from them.
template <class Problem>
struct read_back_work
{
    read_back_args<Problem> args;
    divider heads;
    divider groups; ///< groups of tokens of one sequence
    int items = 0;  ///< groups times heads times sequences
};

} // namespace detail

/// The kernel: a few tokens of a head a tile.
template <class Problem>
struct read_lines
{
    static constexpr launch_bounds bounds = {128, 1, 1, true};
    struct shared
    {};

    using problem = Problem;
    using types   = read_back_types<Problem>;

    static constexpr int page_size  = types::page_size;
    static constexpr bool by_rows   = types::layout::vector_axis == axis::dim;
    static constexpr int tokens     = by_rows ? 4 : chunk_size; ///< of a tile
    static constexpr int lanes      = detail::page_lanes<types::dim>;
    static constexpr int a_block    = bounds.threads / lanes; ///< groups of a block in one turn
    static constexpr bool has_scale = !is_same_v<typename types::scale, no_scale>;

    /// Groups of tokens that cover `count` tokens from `first` on: from layouts whose vectors run along slots
    /// whole vectors, so that the first group may begin before `first`.
    KVLOOM_FN static constexpr i64 groups(i64 first, i64 count)
    {
        i64 const lead = by_rows ? 0 : first % tokens;
        return (lead + count + tokens - 1) / tokens;
    }

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, detail::read_back_work<Problem> const& work) const
    {
        auto const tile = kvloom::tile<lanes>(block);
        tile.wave.release_dependents();
        tile.wave.dependency();
        i64 const step = i64(block.count()) * a_block;
        for (i64 at = i64(block.index()) * a_block + block.thread() / lanes; at < work.items; at += step) {
            int const group_and_sequence = quotient(int(at), work.heads);
            int const head               = int(at) - group_and_sequence * int(work.heads.divisor);
            int const sequence           = quotient(group_and_sequence, work.groups);
            read(tile, work.args, sequence, group_and_sequence - sequence * int(work.groups.divisor), head);
        }
    }

private:
    template <class Tile>
    KVLOOM_FN static void read(Tile tile, read_back_args<Problem> const& args, int sequence, int group,
                               int head)
    {
        i64 const lead  = by_rows ? 0 : args.first % tokens;
        i64 const begin = args.first - lead + i64(group) * tokens; // position of the group's first token
        int const row   = int(begin - args.first);                 // negative before the first token
        detail::token_places<tokens> places;
        KVLOOM_UNROLL
        for (int i = 0; i < tokens; ++i) {
            bool const wanted = row + i >= 0 && row + i < args.count;
            if (by_rows || i == 0) { // eight slots from a multiple of eight on share their page
                places.at[i] = find_place(tile.wave, args, sequence, begin + i, by_rows ? wanted : true);
            } else {
                places.at[i] = {places.at[0].page, places.at[0].slot + i, places.at[0].valid};
            }
        }
        auto const lines = detail::fetch_tokens<axis::dim>(tile, args.cache, places, head);
        if constexpr (types::moves_bits) {
            store(tile, args, sequence, row, head, lines);
        } else {
            auto const scales = detail::scales_at(tile.wave, args.scale, places, head);
            store(tile, args, sequence, row, head,
                  detail::convert_lines<typename types::output, saturate, axis::dim, has_scale, false>(
                      lines, scales, scales));
        }
    }

    /// Not valid where the page id is out of range, or `wanted` is false.
    template <class Wave>
    KVLOOM_FN static token_place find_place(Wave wave, read_back_args<Problem> const& args, int sequence,
                                            i64 position, bool wanted)
    {
        if (!wanted) {
            return {};
        }
        i64 const page = i64(u64(position) / page_size);
        auto const run = args.table.run(args.sequence + sequence);
        i64 const id   = detail::load_page_id(wave, run.ids + page);
        return {id, int(position - page * page_size), id >= 0 && id < args.cache.pages};
    }

    template <class Tile, class Lines>
    KVLOOM_FN static void store(Tile tile, read_back_args<Problem> const& args, int sequence, int row,
                                int head, Lines const& lines)
    {
        KVLOOM_UNROLL
        for (int i = 0; i < tokens; ++i) {
            if (row + i < 0 || row + i >= args.count) {
                continue;
            }
            auto const target = args.rows.row(sequence * args.count + row + i, head);
            KVLOOM_UNROLL
            for (int k = 0; k < lines.parts; ++k) {
                detail::store_words(tile.wave, target.data + tile.chunk(k) * chunk_size,
                                    lines.line[i].part[k]);
            }
        }
    }
};

#if !KVLOOM_RTC // host functions: run-time compilers take the functors alone

/// Reads tokens back from a paged cache: to look at it, to test a writer, or for a prefill over what is
/// cached.
template <class Problem>
struct read_back
{
    using types = read_back_types<Problem>;
    using args  = read_back_args<Problem>;

    /// The first argument that breaks a rule, or none; reads no device memory. No tokens are always fine.
    static status validate(args const& a)
    {
        detail::checks check;
        check.at_least("count", a.count, 0);
        check.at_least("sequences", a.sequences, 0);
        if (a.count <= 0 || a.sequences <= 0) {
            return check.first;
        }
        int const heads = a.cache.heads;
        check.at_least("cache.heads", heads, 1);
        detail::check_cache(check, a.cache, heads,
                            {"cache.data", "cache.pages", "cache.heads", "cache.page_stride",
                             "cache.head_stride", "cache.token_stride", "cache.block_stride"});
        check_table(check, a);
        if (!check.first.ok()) {
            return check.first;
        }
        i64 const items =
            i64(1) << 31; // each group of at most eight tokens of a head is one, and rows are fewer
        i64 const most = items / heads / a.sequences - 2 * chunk_size;
        check.below("count", a.count, most < 0 ? 0 : most);
        detail::check_target(check, a.rows, a.sequences * (check.first.ok() ? a.count : 0), heads,
                             {"rows.data", "rows.heads", "rows.token_stride", "rows.head_stride"});
        detail::check_page_scale(check, a.scale, a.cache.pages, heads, types::page_size,
                                 {"scale.data", "scale.page_stride", "scale.head_stride"});
        if (check.first.ok()) {
            bool const shared = detail::share_bytes(detail::bytes_of(a.rows, a.sequences * a.count),
                                                    detail::bytes_of(a.cache));
            check.report(shared, fault::overlapping, "rows.data", 0, 0);
        }
        return check.first;
    }

    /// Starts the kernel on a host, hip or cuda stream; no tokens succeed without a launch. Validates first,
    /// allocates nothing, does not synchronise, and may be captured in a graph. @cost reads and writes each
    /// byte once; from vectors along slots a lane takes eight tokens by eight dims, and the loads of
    /// neighbouring lanes do not adjoin
    template <class Stream>
    static status launch(Stream const& stream, args const& a)
    {
        status const valid = validate(a);
        if (!valid.ok() || a.count == 0 || a.sequences == 0) {
            return valid;
        }
        using kernel     = read_lines<Problem>;
        int const groups = int(kernel::groups(a.first, a.count));
        detail::read_back_work<Problem> const work{a, make_divider(u32(a.cache.heads)),
                                                   make_divider(u32(groups)),
                                                   groups * a.cache.heads * a.sequences};
        return detail::start_pages(stream, kernel{}, work, work.items, kernel::a_block);
    }

private:
    static void check_table(detail::checks& check, args const& a)
    {
        check.at_least("sequence", a.sequence, 0);
        check.at_least("table.sequences", a.table.sequences, i64(a.sequence) + a.sequences);
        check.pointer("table.ids", a.table.ids, sizeof(typename types::id));
        check.at_least("table.width", a.table.width, 0);
        check.report(a.table.sequences > 1 && a.table.stride < a.table.width, fault::wrong_stride,
                     "table.stride", a.table.stride, a.table.width);
        check.below("table.stride", a.table.stride, i64(1) << 36);
        check.at_least("first", a.first, 0);
        check.below("first", a.first, i64(1) << 42); // no width reaches further
        if (check.first.ok()) {
            i64 const pages = (a.first + a.count + types::page_size - 1) / types::page_size;
            check.at_least("table.width", a.table.width, pages);
        }
    }
};

#endif

} // namespace v0
} // namespace kvloom
