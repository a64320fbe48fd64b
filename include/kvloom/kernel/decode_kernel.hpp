// SPDX-License-Identifier: MIT
// The kernels of paged decode: blocks walk through their segments, waves through the pages of these.
#pragma once

#include "kvloom/group/launch_bounds.hpp"
#include "kvloom/kernel/decode_segment.hpp"
#include "kvloom/kernel/segment_queue.hpp"
#include "kvloom/op/register_pages.hpp"
#include "kvloom/op/ring_pages.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// The shape of a block: the waves that compute, `row_tiles` of them side by side over query rows, the others over the
/// tokens of a node. `Kilobytes`: how much of what they have of a node they may hand over at once. `ChainTurns`: the place of
/// the fold's chain in shared memory, if it has one.
template <class Problem, int Rows, int Waves, int Lanes, int Kilobytes, int ChainTurns = 0>
struct decode_shape
{
    static constexpr int waves       = Waves;
    static constexpr int threads     = waves * Lanes;
    static constexpr int tile_rows   = Rows < 16 ? Rows : 16;
    static constexpr int row_tiles   = Rows / tile_rows;
    static constexpr int token_waves = waves / row_tiles;
    static constexpr int value_dim   = decode_types<Problem>::value_dim;
    static constexpr int most_dims   = Kilobytes * 256 / (waves * tile_rows);
    static constexpr int part_dims   = value_dim < most_dims ? value_dim : most_dims; ///< handed over at once
    static constexpr int parts       = value_dim / part_dims;

    using scratch = fold_scratch<waves, tile_rows, part_dims, ChainTurns>;

    template <class Team>
    using fold = node_fold<Team, Problem, scratch, waves, row_tiles, tile_rows>;
    template <class Wave>
    using tile = attention_tile<matrix_unit_t<Wave, typename decode_types<Problem>::operand>, tile_rows>;
    template <class Wave>
    using rows = wave_rows<Problem, tile<Wave>, Wave>;

    /// Calls `body(part)` for each part of what waves hand over.
    template <class Body>
    KVLOOM_FN static void for_parts(Body body)
    {
        KVLOOM_UNROLL
        for (int part = 0; part < parts; ++part) {
            body(part);
        }
    }
};

/// Where a segment's pages are; `run`: those of its sequence.
template <class Problem, class Run>
KVLOOM_FN typename decode_types<Problem>::source source_of(decode_work<Problem> const& work,
                                                           decode_segment const& segment, Run const& run)
{
    return {work.args.keys, work.args.values, run, segment.head, segment.extent.length};
}

} // namespace detail

/// The kernel for machines whose loads are operands as they arrive: all waves compute, and fold together. It is empty
/// where it is never started, since one program may hold code for several machines: where waves have another number of
/// lanes, and where rings carry the pages.
template <class Problem, int Rows, int Lanes>
struct decode_through_registers
{
    using shape = detail::decode_shape<Problem, Rows, 4, Lanes, 16>;

    static constexpr launch_bounds bounds = {shape::threads, 2, 2, true};

    struct shared
    {
        typename shape::scratch scratch;
        u32 ticket;
    };

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, detail::decode_work<Problem> const& work) const
    {
        if constexpr (is_started<typename Block::wave_type>) {
            attend_segments(block, work);
        }
    }

private:
    template <class Wave>
    static constexpr bool is_started =
        Wave::size == Lanes && !(copies_in_bulk(Wave::arch) && decode_types<Problem>::fits_rings);

    template <class Block>
    KVLOOM_FN static void attend_segments(Block const& block, detail::decode_work<Problem> const& work)
    {
        using team_type = detail::block_team<Block>;
        auto const wave = block.wave();
        wave.release_dependents();
        wave.dependency();
        team_type const team(block);
        auto& memory = block.template shared<shared>();
        detail::segment_walk<typename Block::wave_type, Problem> walk(wave, work, block.index());
        typename shape::template fold<team_type> fold(team, work, memory.scratch);
        while (!walk.done()) {
            auto const segment = walk.take();
            fold.begin(segment);
            attend_segment(team, work, segment, fold, memory);
            if constexpr (Problem::merge_strategy::by_last) {
                if (!segment.whole() && detail::arrives_last(team, work, segment, walk.cut, memory.ticket)) {
                    fold.merge_pair(segment, walk.cut);
                }
            }
        }
    }

    template <class Team, class Fold>
    KVLOOM_FN static void attend_segment(Team const& team, detail::decode_work<Problem> const& work,
                                         detail::decode_segment const& segment, Fold& fold, shared& memory)
    {
        using types     = decode_types<Problem>;
        using wave_type = typename Team::wave_type;
        using rows_type = typename shape::template rows<wave_type>;
        using order     = vector_order<typename types::stored, types::key_dim, rows_type::tile::per_lane>;
        using stream    = register_pages<typename rows_type::tile, wave_type, step_path<order::tokens>,
                                      typename types::source>;

        auto const wave  = team.wave();
        int const number = team.wave_index();
        auto const path =
            detail::path_of<order::tokens>(segment, number / shape::row_tiles, shape::token_waves);
        rows_type const rows(wave, work, segment, number % shape::row_tiles);
        auto const query = rows.template load<order>();
        auto const run   = find_run(wave, work.args.table, segment.sequence);
        stream pages(wave, path, detail::source_of(work, segment, run));
        pages.begin();
        detail::attend_nodes<order>(wave, work, segment, rows, query, path, pages,
                                    [&](int node, auto const& softmax) {
                                        shape::for_parts([&](int part) {
                                            detail::hand_over(wave, number, part, softmax, memory.scratch);
                                            team.barrier();
                                            fold.take(segment, node, part);
                                        });
                                    });
    }
};

/// The kernel for machines that copy whole spans to shared memory (NVIDIA from compute capability 9.0 on) and SHUFFLE
/// pages of 16 tokens: some waves compute, one walks through the segments and copies pages for them, and one folds what
/// they hand over while they go on.
template <class Problem, int Rows>
struct decode_through_rings
{
    static constexpr int lanes = 32;

    using types = decode_types<Problem>;

    /// That compute. Few rows of 16 bits leave two of them idle enough; to widen fp8, and for more rows, it takes four.
    static constexpr int waves = sizeof(typename types::stored) == 2 && Rows <= 16 ? 2 : 4;

    using order = matrix_order<typename types::stored, types::key_dim,
                               detail::depth_of_lane<mma_16x8<typename types::operand>>>;
    using queue = detail::segment_queue<2, waves + 1>;

    static constexpr int key_bytes   = order::tokens * types::key_dim * int(sizeof(typename types::stored));
    static constexpr int value_bytes = order::tokens * types::value_dim * int(sizeof(typename types::stored));
    static constexpr int stage_bytes =
        key_bytes + value_bytes + 4 * int(sizeof(u64)) + (order::pages + 1) * int(sizeof(int));

    /// Waves hand over all they have of a node at once, so that they need not wait for the fold. Its chain lies in
    /// registers, if they are enough; else in shared memory, if that leaves two stages; else in the workspace.
    static constexpr int kept        = waves == 2 ? 16 : 8; ///< registers of fewer threads are more for each
    static constexpr int chain_turns = Rows * types::value_dim / (4 * lanes);
    template <int ChainTurns>
    using shape_with = detail::decode_shape<Problem, Rows, waves, lanes, 32, ChainTurns>;

    /// As many stages as two blocks of a multiprocessor, each with half its shared memory, have room for.
    template <class Shape>
    static constexpr int stages_of = (115712 - int(sizeof(typename Shape::scratch)) - int(sizeof(queue)) - 32)
                                     / (Shape::token_waves * stage_bytes);
    static constexpr bool in_registers = chain_turns <= kept || !Problem::folding::by_nodes;
    static constexpr bool in_shared    = !in_registers && (stages_of<shape_with<chain_turns>>) >= 2;

    using shape = shape_with<in_shared ? chain_turns : 0>;

    static constexpr int stages = stages_of<shape>;
    static_assert(stages >= 2, "decode_through_rings: the head sizes leave no room for two stages");

    static constexpr launch_bounds bounds = {shape::threads + 2 * lanes, 2, 1, true};

    using rings = page_rings<shape::token_waves, stages, order::pages, key_bytes, value_bytes>;

    struct shared
    {
        rings ring;
        typename shape::scratch scratch;
        queue segments;
        u64 handed; ///< all waves have put their part into the scratch
        u64 taken;  ///< the fold is through with it
    };

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, detail::decode_work<Problem> const& work) const
    {
        auto const wave  = block.wave();
        auto& memory     = block.template shared<shared>();
        int const number = block.wave_index();
        wave.release_dependents();
        prepare(block, memory);
        wave.dependency();
        if (number < waves) {
            compute_segments(wave, number, work, memory);
        } else if (number == waves) {
            copy_segments(wave, work, block.index(), memory);
        } else {
            fold_segments(block, work, memory);
        }
    }

private:
    template <class Block>
    KVLOOM_FN static void prepare(Block const& block, shared& memory)
    {
        using copies = typename Block::wave_type::copies;
        auto& ring   = memory.ring;
        if (block.thread() < 2 * rings::streams * rings::stages) {
            int const kind   = block.thread() % 2;
            int const stage  = block.thread() / 2 % rings::stages;
            int const stream = block.thread() / 2 / rings::stages;
            copies::prepare(&ring.full[stream][stage][kind], 1);
            copies::prepare(&ring.empty[stream][stage][kind], shape::row_tiles);
        }
        if (block.thread() < queue::slots) {
            memory.segments.template prepare<copies>(block.thread());
        }
        if (block.thread() == 0) {
            copies::prepare(&memory.handed, waves);
            copies::prepare(&memory.taken, 1);
        }
        copies::publish();
        block.barrier();
    }

    template <class Wave>
    using reader = detail::segment_reader<Wave, queue>;

    template <class Wave>
    KVLOOM_FN static void copy_segments(Wave wave, detail::decode_work<Problem> const& work, int block,
                                        shared& memory)
    {
        detail::segment_walk<Wave, Problem> walk(wave, work, block);
        detail::segment_writer<Wave, queue> segments(wave, memory.segments);
        ring_writer<Wave, rings, step_path<order::tokens>, typename types::source, order> writer(wave,
                                                                                                 memory.ring);
        int sequence = walk.done() ? 0 : walk.next_sequence();
        auto run     = find_run(wave, work.args.table, sequence); // read together with the sequence's length
        while (!walk.done()) {
            auto const segment = walk.take();
            segments.put(segment);
            if (segment.sequence != sequence) {
                sequence = segment.sequence;
                run      = find_run(wave, work.args.table, sequence);
            }
            writer.copy(detail::source_of(work, segment, run), [&](int stream) {
                return detail::path_of<order::tokens>(segment, stream, shape::token_waves);
            });
        }
        segments.end();
    }

    template <class Wave>
    KVLOOM_FN static void compute_segments(Wave wave, int number, detail::decode_work<Problem> const& work,
                                           shared& memory)
    {
        using copies          = typename Wave::copies;
        using rows_type       = typename shape::template rows<Wave>;
        constexpr bool places = is_same_v<typename Problem::key_scale,
                                          scale_view> || is_same_v<typename Problem::value_scale, scale_view>;
        using stream = ring_pages<typename rows_type::tile, Wave, rings, order, typename types::key_layout,
                                  typename types::value_layout, places>;

        stream pages(wave, memory.ring, number / shape::row_tiles);
        u32 turn = 1; // the scratch begins free
        for (reader<Wave> segments(wave, memory.segments); segments.wait(); segments.release()) {
            auto const& segment = segments.segment();
            auto const path =
                detail::path_of<order::tokens>(segment, number / shape::row_tiles, shape::token_waves);
            rows_type const rows(wave, work, segment, number % shape::row_tiles);
            auto const query = rows.template load<order>();
            detail::attend_nodes<order>(
                wave, work, segment, rows, query, path, pages, [&](int, auto const& softmax) {
                    shape::for_parts([&](int part) {
                        copies::wait(wave, &memory.taken, turn);
                        turn ^= 1;
                        detail::hand_over(wave, number, part, softmax, memory.scratch);
                        wave.meet();
                        if (wave.lane() == 0) {
                            copies::arrive(&memory.handed);
                        }
                    });
                });
        }
    }

    template <class Block>
    KVLOOM_FN static void fold_segments(Block const& block, detail::decode_work<Problem> const& work,
                                        shared& memory)
    {
        using wave_type = typename Block::wave_type;
        using copies    = typename wave_type::copies;
        using team_type = detail::wave_team<Block, kept>;
        auto const wave = block.wave();
        team_type const team(block);
        typename shape::template fold<team_type> fold(team, work, memory.scratch);
        auto const cut = detail::read_cut(wave, work);
        u32 turn       = 0;
        for (reader<wave_type> segments(wave, memory.segments); segments.wait(); segments.release()) {
            auto const segment = segments.segment();
            fold.begin(segment);
            int const first = Problem::folding::by_nodes ? segment.first : segment.last - 1;
            for (int node = first; node < segment.last; ++node) {
                shape::for_parts([&](int part) {
                    copies::wait(wave, &memory.handed, turn);
                    turn ^= 1;
                    fold.take(segment, node, part);
                    if (team.thread() == 0) {
                        copies::arrive(&memory.taken);
                    }
                });
            }
            if constexpr (Problem::merge_strategy::by_last) {
                u32 ticket = 0;
                if (!segment.whole() && detail::arrives_last(team, work, segment, cut, ticket)) {
                    fold.merge_pair(segment, cut);
                }
            }
        }
    }
};

} // namespace v0
} // namespace kvloom
