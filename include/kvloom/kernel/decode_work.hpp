// SPDX-License-Identifier: MIT
// How the work of paged decode is cut: nodes of tokens, segments of a block, and where partial results lie.
#pragma once

#include "kvloom/kernel/decode_problem.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// The number of bits of n.
KVLOOM_FN constexpr int bit_count(i64 n)
{
    int bits = 0;
    while (n > 0) {
        n >>= 1;
        ++bits;
    }
    return bits;
}

/// Sizes of a launch that follow from the shape of a block and from what the caller has room for; never from lengths.
struct decode_sizes
{
    int blocks    = 0; ///< of the grid
    int sequences = 0;
    int heads     = 0; ///< of K and V
    int tiles     = 0; ///< blocks of query rows of a sequence and head, at most
    int rows      = 0; ///< query rows of such a block
    int nodes     = 0; ///< of a sequence that fills its pages, at most
    int few_nodes = 0; ///< of a sequence of ordinary length, at most
    int dims      = 0; ///< of V

    /// Partial results of a block, at most: those of one segment node by node, and one of another.
    KVLOOM_FN int depth() const { return nodes + 1; }
    KVLOOM_FN i64 pairs() const { return i64(sequences) * heads * tiles; }
    KVLOOM_FN i64 partials() const { return i64(blocks) * depth() * rows; }
};

/// Tokens of the smallest node, as a power of two.
inline constexpr int least_node_shift = 8;

/// Nodes of a sequence, at most, a power of two: so many that one sequence alone can draw most of a large machine's
/// bandwidth, and so few that folding them costs little beside their keys and values.
KVLOOM_FN constexpr int most_nodes(int heads, int row_tiles)
{
    int nodes = 64;
    while (nodes > 8 && nodes * heads * row_tiles > 64) {
        nodes /= 2;
    }
    return nodes;
}

/// The same for a sequence of `length` tokens: longer ones have more, of about 8192 tokens each, as far as rows leave
/// room for partial results.
KVLOOM_FN constexpr int nodes_for(int length, int most, int rows)
{
    int nodes = most;
    while (nodes < 64 && 2 * nodes * rows <= 1024 && (length >> 13) > nodes) {
        nodes *= 2;
    }
    return nodes;
}

/// The size of a node follows from the length of its sequence alone: the smallest that leaves no more nodes than `most`.
KVLOOM_FN constexpr int node_shift_of(int length, int most)
{
    int shift = least_node_shift;
    while (((length - 1) >> shift) >= most) {
        ++shift;
    }
    return shift;
}

/// The reference and the sum of a row.
using row_mark = vec<float, 2>;

/// The workspace by its sections. `arrived` is zero between launches; the rest means something only within a step.
struct decode_sections
{
    u32* arrived        = nullptr; ///< [pairs]: partial results that are complete
    i64* before         = nullptr; ///< [sequences + 1]: units of the sequences before
    i64* cut            = nullptr; ///< [3]: of a decode_cut
    i64* first          = nullptr; ///< [blocks + 1]: the unit with which each block's first node begins
    int* first_sequence = nullptr; ///< [blocks]: one that has this unit, or lies before it
    u32* first_inside =
        nullptr; ///< [blocks]: this unit, counted from that sequence's: read at once, not after it
    row_mark* marks    = nullptr; ///< [blocks][depth][rows]
    vec<float, 4>* out = nullptr; ///< [blocks][depth][rows][dims / 4]
    i64 bytes          = 0;
};

KVLOOM_FN decode_sections cut_workspace(void* data, decode_sizes const& sizes)
{
    decode_sections sections;
    char* const base = static_cast<char*>(data);
    i64 used         = 0;
    auto const take  = [&](i64 bytes) {
        char* const at = base + used;
        used += (bytes + 255) / 256 * 256;
        return static_cast<void*>(at);
    };
    sections.arrived        = static_cast<u32*>(take(sizes.pairs() * i64(sizeof(u32))));
    sections.before         = static_cast<i64*>(take((i64(sizes.sequences) + 1) * i64(sizeof(i64))));
    sections.cut            = static_cast<i64*>(take(3 * i64(sizeof(i64))));
    sections.first          = static_cast<i64*>(take((i64(sizes.blocks) + 1) * i64(sizeof(i64))));
    sections.first_sequence = static_cast<int*>(take(i64(sizes.blocks) * i64(sizeof(int))));
    sections.first_inside   = static_cast<u32*>(take(i64(sizes.blocks) * i64(sizeof(u32))));
    sections.marks          = static_cast<row_mark*>(take(sizes.partials() * i64(sizeof(row_mark))));
    sections.out   = static_cast<vec<float, 4>*>(take(sizes.partials() * sizes.dims * i64(sizeof(float))));
    sections.bytes = used;
    return sections;
}

/// Arguments of a launch: the user's and what the host derived from them.
template <class Problem>
struct decode_work
{
    decode_args<Problem> args;
    decode_sizes sizes;
    decode_sections sections;
    divider group; ///< query heads to a head of K and V
    divider grid;  ///< blocks
    divider heads; ///< of K and V
    divider pairs; ///< of a sequence, at most
};

/// Query heads to a head of K and V.
template <class Problem>
KVLOOM_FN int group_of(decode_work<Problem> const& work)
{
    return int(work.group.divisor);
}

/// What the kernel knows of a sequence.
struct sequence_extent
{
    int length     = 0;
    int first_row  = 0; ///< the row of its first query token
    int tokens     = 0; ///< query tokens
    int tiles      = 0; ///< blocks of query rows
    int seen       = 0; ///< the first token that any query token sees
    int node_shift = 0; ///< a node has 2^node_shift tokens
    int first      = 0; ///< nodes [first, last); one that sees nothing where there are none
    int last       = 0;

    KVLOOM_FN int nodes() const { return last - first; }
};

/// An integer that nothing writes while the kernel runs, where `Uniform` the same for all lanes.
template <bool Uniform = true, class Wave, class Index>
KVLOOM_FN i64 load_count(Wave wave, Index const* from)
{
    using bits = conditional_t<sizeof(Index) == 8, u64, u32>;
    if constexpr (Uniform) {
        return bit_cast<Index>(wave.template load_uniform<bits>(from));
    } else {
        return bit_cast<Index>(wave.template load<bits>(from));
    }
}

/// The first of the last `size` keys of a query token at `position`.
KVLOOM_FN int window_begin(no_window, int)
{
    return 0;
}
KVLOOM_FN int window_begin(sliding_window window, int position)
{
    return window.size > 0 && window.size <= position ? position + 1 - window.size : 0;
}

/// Reads the extent of a sequence, where `Uniform` the same for all lanes. Negative counts are none.
template <class Wave, class Problem, bool Uniform = true>
KVLOOM_FN sequence_extent extent_of(Wave wave, decode_work<Problem> const& work, int sequence)
{
    auto const& args = work.args;
    sequence_extent extent;
    i64 const length = load_count<Uniform>(wave, args.lengths + sequence);
    i64 const most   = i64(args.table.most_pages()) * decode_types<Problem>::page_size;
    extent.length    = int(length < 0 ? 0 : length > most ? most : length);
    if constexpr (is_same_v<typename Problem::tokens, uniform_tokens>) {
        extent.first_row = sequence * args.tokens.count;
        extent.tokens    = args.tokens.count;
    } else {
        i64 const first  = load_count<Uniform>(wave, args.tokens.data + sequence);
        i64 const count  = load_count<Uniform>(wave, args.tokens.data + sequence + 1) - first;
        extent.first_row = int(first);
        extent.tokens    = count < 0 ? 0 : count > args.tokens.most ? args.tokens.most : int(count);
    }
    extent.tiles      = (extent.tokens * group_of(work) + work.sizes.rows - 1) / work.sizes.rows;
    extent.seen       = window_begin(args.window, extent.length - extent.tokens);
    int const allowed = nodes_for(extent.length, work.sizes.few_nodes, work.sizes.rows);
    extent.node_shift = node_shift_of(extent.length, allowed);
    int const nodes   = extent.length > 0 ? ((extent.length - 1) >> extent.node_shift) + 1 : 1;
    int const first   = extent.seen >> extent.node_shift;
    extent.first      = first < nodes ? first : nodes - 1;
    extent.last       = nodes;
    return extent;
}

/// What the cut counts: nodes where no block has more than one, else what they cost.
enum class unit_kind {
    node,
    tokens ///< 64 of them, so that nodes of long and of short sequences count for what they are
};

inline constexpr int unit_token_shift = 6;

/// How many units the nodes of a pair of sequence and head have.
struct node_units
{
    int shift = 0; ///< a node has 2^shift, the last one up to as many
    int pair  = 0; ///< of all nodes together

    KVLOOM_FN static node_units of(sequence_extent const& extent, unit_kind counted)
    {
        if (counted == unit_kind::node) {
            return {0, extent.nodes()};
        }
        u32 const tokens = u32(extent.length - (extent.first << extent.node_shift));
        int const units  = int((tokens + (1U << unit_token_shift) - 1) >> unit_token_shift);
        return {extent.node_shift - unit_token_shift, (units > 0 ? units : 1) + segment_units};
    }

    /// The pair that has unit `inside` of its sequence, which has fewer than 2^32.
    KVLOOM_FN int pair_of(u32 inside) const { return int(inside / u32(pair)); }

    /// What every pair costs beside its tokens: queries, the output, the way there. With none ragged batches took up to
    /// ten per cent longer on an H200.
    static constexpr int segment_units = 4;
};

/// Units of a sequence.
template <class Problem>
KVLOOM_FN i64 units_of(decode_work<Problem> const& work, sequence_extent const& extent, node_units units)
{
    return i64(units.pair) * work.sizes.heads * extent.tiles;
}

/// Equal shares of all units for the blocks of a grid; a node belongs to the share that has its first unit. Where units
/// are fewer than blocks, as many blocks have one, and the others none. The plan leaves its first numbers behind, since a
/// division of 64 bits is slow.
struct decode_cut
{
    i64 each          = 0; ///< units of a block,
    i64 rest          = 0; ///< and so many more for all blocks together
    unit_kind counted = unit_kind::node;
    divider grid;

    KVLOOM_FN static decode_cut of(i64 units, unit_kind counted, divider grid)
    {
        i64 const each = i64(u64(units) / grid.divisor);
        return {each, units - each * grid.divisor, counted, grid};
    }

    KVLOOM_FN i64 units() const { return each * grid.divisor + rest; }

    /// Blocks that have units.
    KVLOOM_FN int blocks() const { return each > 0 ? int(grid.divisor) : int(rest); }

    /// floor(units * block / blocks)
    KVLOOM_FN i64 first(int block) const
    {
        return each > 0 ? each * block + quotient(int(rest) * block, grid) : block;
    }

    /// The block that has a unit.
    KVLOOM_FN int block_of(i64 unit) const
    {
        u64 const scaled = u64(unit + 1) * grid.divisor - 1;
        u64 const all    = u64(units());
        if (each == 0) {
            return int(unit);
        }
        return (scaled | all) >> 32 == 0 ? int(u32(scaled) / u32(all)) : int(scaled / all);
    }
};

/// The cut that the plan has left.
template <class Wave, class Problem>
KVLOOM_FN decode_cut read_cut(Wave wave, decode_work<Problem> const& work)
{
    i64 const* const from = work.sections.cut;
    return {load_count(wave, from), load_count(wave, from + 1), unit_kind(load_count(wave, from + 2)),
            work.grid};
}

/// What a block does of one head of one block of query rows of a sequence: some of its nodes.
struct decode_segment
{
    sequence_extent extent;
    int share    = 0; ///< of the work that it belongs to
    int sequence = 0;
    int tile     = 0; ///< which block of query rows
    int head     = 0; ///< of K and V
    int first    = 0; ///< nodes [first, last), counted like the extent's
    int last     = 0;

    KVLOOM_FN bool whole() const { return first == extent.first && last == extent.last; }
    KVLOOM_FN int area() const { return first == extent.first ? 1 : 0; }
};

/// Makes a segment one of pair `pair` of its sequence.
template <class Problem>
KVLOOM_FN void set_pair(decode_work<Problem> const& work, decode_segment& segment, int pair)
{
    segment.tile = quotient(pair, work.heads);
    segment.head = pair - segment.tile * work.sizes.heads;
}

/// The query rows of a segment.
template <class Problem>
KVLOOM_FN int rows_of(decode_work<Problem> const& work, decode_segment const& segment)
{
    int const left = segment.extent.tokens * group_of(work) - segment.tile * work.sizes.rows;
    return left < work.sizes.rows ? left : work.sizes.rows;
}

/// The segments of a block, one after the other.
template <class Wave, class Problem>
class segment_walk
{
public:
    KVLOOM_FN segment_walk(Wave on, decode_work<Problem> const& of, int block)
        : cut(read_cut(on, of)), wave(on), work(of), share(block)
    {
        if (cut.each > 0) { // else there are fewer units than blocks: one chiplet might get them all
            share = Problem::placement::template share<Wave::arch>(block, int(work.grid.divisor));
        }
        // Read together: a share without units reads what nobody has written, and does not look at it.
        auto const& sections = work.sections;
        i64 const begin      = load_count(wave, sections.first + share);
        i64 const end        = load_count(wave, sections.first + share + 1);
        sequence             = int(load_count(wave, sections.first_sequence + share));
        inside               = u32(load_count(wave, sections.first_inside + share));
        left                 = int(end - begin);
        if (left > 0) {
            read_sequence();
        }
    }

    KVLOOM_FN bool done() const { return left <= 0; }

    /// The sequence of the next segment, unless that is a later one: to read ahead what belongs to it.
    KVLOOM_FN int next_sequence() const { return sequence; }

    /// The next segment. What belongs to a sequence is read once.
    KVLOOM_FN decode_segment take()
    {
        while (inside >= u32(units_of(work, extent, units))) { // some have no query tokens, hence no units
            inside -= u32(units_of(work, extent, units));
            ++sequence;
            read_sequence();
        }
        decode_segment segment;
        segment.extent   = extent;
        segment.share    = share;
        segment.sequence = sequence;
        int const pair   = units.pair_of(inside);
        int const behind = int(inside - u32(pair) * u32(units.pair));
        set_pair(work, segment, pair);
        int const rest = units.pair - behind;
        segment.first  = extent.first + (behind >> units.shift);
        segment.last   = left < rest ? segment.first + (left >> units.shift) : extent.last;
        left -= rest;
        inside += rest;
        return segment;
    }

    decode_cut cut;

private:
    KVLOOM_FN void read_sequence()
    {
        extent = extent_of(wave, work, sequence);
        units  = node_units::of(extent, cut.counted);
    }

    Wave wave;
    decode_work<Problem> const& work;
    int share;
    int left     = 0; ///< units of the share
    u32 inside   = 0; ///< where the next node begins in its sequence
    int sequence = 0;
    sequence_extent extent;
    node_units units;
};

} // namespace detail
} // namespace v0
} // namespace kvloom
