// SPDX-License-Identifier: MIT
// Copies pages of a paged cache into another one, of any layout, element type and kind of scale.
#pragma once

#include "kvloom/group/launch_bounds.hpp"
#include "kvloom/kernel/copy_pages_problem.hpp"
#include "kvloom/kernel/page_checks.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// Arguments of a launch: the user's and what the host derived from them.
template <class Problem>
struct copy_pages_work
{
    copy_pages_args<Problem> args;
    divider heads;
    int spans = 0; ///< pairs times heads
};

/// A head of a pair of pages.
struct span_pair
{
    i64 source = 0;
    i64 target = 0;
    int head   = 0;
    bool valid = false;
};

/// Span number `span` of both caches, of which the heads of a pair follow each other. Not valid: nothing to
/// do.
template <class Wave, class Problem>
KVLOOM_FN span_pair find_spans(Wave wave, copy_pages_work<Problem> const& work, int span, bool live)
{
    span_pair found;
    if (live) {
        auto const& args = work.args;
        int const pair   = quotient(span, work.heads);
        found.head       = span - pair * int(work.heads.divisor);
        found.source     = load_page_id(wave, args.source_ids + pair);
        found.target     = load_page_id(wave, args.target_ids + pair);
        found.valid      = found.source >= 0 && found.source < args.source.pages && found.target >= 0
                      && found.target < args.target.pages;
    }
    return found;
}

} // namespace detail

/// The kernel for bits that keep their places in 16-byte vectors: a vector a lane, four in flight.
template <class Problem>
struct copy_vectors
{
    static constexpr launch_bounds bounds = {128, 1, 1, true};
    struct shared
    {};

    using problem = Problem;
    using types   = copy_pages_types<Problem>;

    static constexpr int flight  = 4;                                 ///< vectors of a lane in flight
    static constexpr int x       = vector_size<typename types::from>; ///< elements of a vector
    static constexpr int vectors = types::source::elements / x;       ///< of a span
    static constexpr int a_block = bounds.threads * flight;           ///< vectors of a block in one turn

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, detail::copy_pages_work<Problem> const& work) const
    {
        auto const wave = block.wave();
        wave.release_dependents();
        wave.dependency();
        i64 const count = i64(work.spans) * vectors;
        i64 const step  = i64(block.count()) * a_block;
        for (i64 first = i64(block.index()) * a_block + block.thread(); first < count; first += step) {
            copy(wave, work, first, count);
        }
    }

private:
    template <class Wave>
    KVLOOM_FN static void copy(Wave wave, detail::copy_pages_work<Problem> const& work, i64 first, i64 count)
    {
        using unit = vec<u32, 4>;
        detail::span_pair pair[flight];
        int vector[flight];
        unit bits[flight] = {};
        KVLOOM_UNROLL
        for (int i = 0; i < flight; ++i) {
            i64 const at = first + i * bounds.threads;
            i64 const to = i64(u64(at) / vectors);
            vector[i]    = int(at - to * vectors);
            pair[i]      = detail::find_spans(wave, work, int(to), at < count);
        }
        KVLOOM_UNROLL
        for (int i = 0; i < flight; ++i) {
            if (pair[i].valid) {
                auto const* const from = address(work.args.source, pair[i].source, pair[i].head, vector[i]);
                bits[i]                = wave.template load<unit>(from);
            }
        }
        KVLOOM_UNROLL
        for (int i = 0; i < flight; ++i) {
            if (pair[i].valid) {
                wave.store(address(work.args.target, pair[i].target, pair[i].head, vector[i]), bits[i]);
            }
        }
        if constexpr (types::moves_scales) {
            KVLOOM_UNROLL
            for (int i = 0; i < flight; ++i) {
                if (pair[i].valid && vector[i] < types::page_size) {
                    token_place const from = {pair[i].source, vector[i], true};
                    token_place const to   = {pair[i].target, vector[i], true};
                    u32 const scale =
                        wave.template load<u32>(work.args.source_scale.address(from, pair[i].head));
                    wave.store(work.args.target_scale.address(to, pair[i].head), scale);
                }
            }
        }
    }

    /// Vector number `vector` of a span, counted as the target lays them out.
    template <class View>
    KVLOOM_FN static auto* address(View const& view, i64 page, int head, int vector)
    {
        if constexpr (View::layout::contiguous_span
                      && is_same_v<typename types::source, typename types::target>) {
            return view.span(page, head) + vector * x;
        } else {
            span_coord const at = types::target::coord(vector * x);
            return view.address({page, at.slot, true}, head, at.dim);
        }
    }
};

/// The kernel for everything else: a few tokens of a head a tile.
template <class Problem>
struct copy_lines
{
    static constexpr launch_bounds bounds = {128, 1, 1, true};
    struct shared
    {};

    using problem = Problem;
    using types   = copy_pages_types<Problem>;

    static constexpr axis from        = types::source::vector_axis;
    static constexpr axis to          = types::target::vector_axis;
    static constexpr int page_size    = types::page_size;
    static constexpr bool rows        = from == axis::dim && to == axis::dim;
    static constexpr int tokens       = rows ? (page_size < 4 ? page_size : 4) : chunk_size; ///< of a tile
    static constexpr int groups       = (page_size + tokens - 1) / tokens;                   ///< of a page
    static constexpr int lanes        = detail::page_lanes<types::dim>;
    static constexpr int a_block      = bounds.threads / lanes; ///< groups of a block in one turn
    static constexpr bool has_scale   = !is_same_v<typename types::source_scale, no_scale>;
    static constexpr bool has_divisor = !is_same_v<typename types::target_scale, no_scale>;

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, detail::copy_pages_work<Problem> const& work) const
    {
        auto const tile = kvloom::tile<lanes>(block);
        tile.wave.release_dependents();
        tile.wave.dependency();
        constexpr int per_wave = decltype(tile)::per_wave;
        i64 const count        = i64(work.spans) * groups;
        i64 const wave         = i64(block.index()) * Block::waves + block.wave_index();
        i64 const step         = i64(block.count()) * Block::waves * per_wave;
        for (i64 first = wave * per_wave; first < count; first += step) { // all tiles of a wave take part
            i64 const at    = first + tile.index();
            i64 const span  = i64(u64(at) / groups);
            auto const pair = detail::find_spans(tile.wave, work, int(span), at < count);
            copy(tile, work.args, pair, int(at - span * groups) * tokens);
        }
    }

private:
    template <class Tile>
    KVLOOM_FN static void copy(Tile tile, copy_pages_args<Problem> const& args, detail::span_pair const& pair,
                               int first_slot, site here = site::here())
    {
        constexpr bool whole = page_size % tokens == 0;
        detail::token_places<tokens> source;
        detail::token_places<tokens> target;
        KVLOOM_UNROLL
        for (int i = 0; i < tokens; ++i) {
            int const slot = first_slot + i;
            source.at[i]   = {pair.source, slot, pair.valid && (whole || slot < page_size)};
            target.at[i]   = {pair.target, slot, source.at[i].valid};
        }
        auto const lines = detail::fetch_tokens<to>(tile, args.source, source, pair.head);
        if constexpr (types::moves_bits) {
            if constexpr (types::moves_scales) {
                store_scales(tile, args, target, pair.head,
                             detail::scales_at(tile.wave, args.source_scale, source, pair.head));
            }
            store(tile, args, target, pair.head, lines);
        } else {
            auto const scales = detail::scales_at(tile.wave, args.source_scale, source, pair.head);
            detail::token_numbers<tokens> divisors;
            if constexpr (types::finds_scales) {
                divisors = detail::find_scales<typename types::to, to, has_scale>(tile, lines, scales, here);
                store_scales(tile, args, target, pair.head, divisors);
            } else {
                divisors = detail::scales_at(tile.wave, args.target_scale, target, pair.head);
                KVLOOM_UNROLL
                for (int i = 0; i < tokens; ++i) {
                    divisors[i] = detail::page_divisor(divisors[i]);
                }
            }
            store(tile, args, target, pair.head,
                  detail::convert_lines<typename types::to, typename Problem::overflow, to, has_scale,
                                        has_divisor>(lines, scales, divisors));
        }
    }

    /// One lane a token, all in one store.
    template <class Tile>
    KVLOOM_FN static void store_scales(Tile tile, copy_pages_args<Problem> const& args,
                                       detail::token_places<tokens> const& target, int head,
                                       detail::token_numbers<tokens> const& scales)
    {
        float mine = scales[0];
        bool valid = target.at[0].valid && tile.rank() < tokens;
        KVLOOM_UNROLL
        for (int i = 1; i < tokens; ++i) {
            mine  = tile.rank() == i ? scales[i] : mine;
            valid = tile.rank() == i ? target.at[i].valid : valid;
        }
        if (valid) {
            token_place const where = {target.at[0].page, target.at[0].slot + tile.rank(), true};
            tile.wave.store(args.target_scale.address(where, head), bit_cast<u32>(mine));
        }
    }

    template <class Tile, class Lines>
    KVLOOM_FN static void store(Tile tile, copy_pages_args<Problem> const& args,
                                detail::token_places<tokens> const& target, int head, Lines const& lines)
    {
        if constexpr (to == axis::slot) {
            store_lines<detail::order_between<from, to>>(tile, args.target, target.at[0], head, lines);
        } else {
            KVLOOM_UNROLL
            for (int i = 0; i < tokens; ++i) {
                KVLOOM_UNROLL
                for (int k = 0; k < lines.parts; ++k) {
                    if (target.at[i].valid) {
                        auto* const at =
                            args.target.span(target.at[i].page, head)
                            + args.target.within_span(target.at[i].slot, tile.chunk(k) * chunk_size);
                        detail::store_words(tile.wave, at, lines.line[i].part[k]);
                    }
                }
            }
        }
    }
};

#if !KVLOOM_RTC // host functions: run-time compilers take the functors alone

/// Copies pages between caches: of one engine's layout to another's, or of one element type to another.
template <class Problem>
struct copy_pages
{
    using types = copy_pages_types<Problem>;
    using args  = copy_pages_args<Problem>;

    /// The first argument that breaks a rule, or none; reads no device memory. No pairs are always fine.
    static status validate(args const& a)
    {
        detail::checks check;
        check.at_least("count", a.count, 0);
        if (a.count <= 0) {
            return check.first;
        }
        int const heads = a.source.heads;
        check.at_least("source.heads", heads, 1);
        detail::check_cache(check, a.source, heads,
                            {"source.data", "source.pages", "source.heads", "source.page_stride",
                             "source.head_stride", "source.token_stride", "source.block_stride"});
        detail::check_cache(check, a.target, heads,
                            {"target.data", "target.pages", "target.heads", "target.page_stride",
                             "target.head_stride", "target.token_stride", "target.block_stride"});
        detail::check_list(check, "source_ids", a.source_ids, "count", a.count);
        detail::check_list(check, "target_ids", a.target_ids, "count", a.count);
        if (check.first.ok()) {
            i64 const spans = i64(1) << 31;
            check.below("count", a.count, (spans + heads - 1) / heads);
        }
        detail::check_page_scale(
            check, a.source_scale, a.source.pages, heads, types::page_size,
            {"source_scale.data", "source_scale.page_stride", "source_scale.head_stride"});
        detail::check_page_scale(
            check, a.target_scale, a.target.pages, heads, types::page_size,
            {"target_scale.data", "target_scale.page_stride", "target_scale.head_stride"});
        if (check.first.ok()) {
            bool const shared = detail::share_bytes(detail::bytes_of(a.source), detail::bytes_of(a.target));
            check.report(shared, fault::overlapping, "target.data", 0, 0);
        }
        return check.first;
    }

    /// Starts the kernel on a host, hip or cuda stream; no pairs succeed without a launch. Validates first,
    /// allocates nothing, does not synchronise, and may be captured in a graph. @cost reads and writes each
    /// byte once; between vectors along dims and along slots a lane moves eight tokens by eight dims, and on
    /// the side of the slots the accesses of neighbouring lanes do not adjoin
    template <class Stream>
    static status launch(Stream const& stream, args const& a)
    {
        status const valid = validate(a);
        if (!valid.ok() || a.count == 0) {
            return valid;
        }
        detail::copy_pages_work<Problem> const work{a, make_divider(u32(a.source.heads)),
                                                    a.count * a.source.heads};
        if constexpr (types::moves_vectors) {
            using kernel = copy_vectors<Problem>;
            return detail::start_pages(stream, kernel{}, work, i64(work.spans) * kernel::vectors,
                                       kernel::a_block);
        } else {
            using kernel = copy_lines<Problem>;
            return detail::start_pages(stream, kernel{}, work, i64(work.spans) * kernel::groups,
                                       kernel::a_block);
        }
    }
};

#endif

} // namespace v0
} // namespace kvloom
