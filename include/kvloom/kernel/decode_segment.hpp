// SPDX-License-Identifier: MIT
// What a wave computes of a segment, whichever way pages come to it.
#pragma once

#include "kvloom/kernel/decode_fold.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// All threads of a block, as those who fold.
template <class Block>
class block_team
{
public:
    using wave_type = typename Block::wave_type;

    static constexpr int threads   = Block::threads;
    static constexpr int most_kept = 4; ///< partial results that a thread has registers for beside attention

    KVLOOM_FN explicit block_team(Block const& of) : block(of), number(of.wave_index()) {}

    KVLOOM_FN auto wave() const { return block.wave(); }
    KVLOOM_FN int thread() const { return block.thread(); }
    KVLOOM_FN int wave_index() const { return number; }
    KVLOOM_FN void barrier(site at = site::here()) const { block.barrier(at); }

    /// What thread 0 has, in all threads; `room` is shared memory.
    KVLOOM_FN u32 from_first(u32 x, u32& room) const
    {
        if (block.thread() == 0) {
            room = x;
        }
        block.barrier();
        return room;
    }

private:
    Block block;
    int number; ///< of the wave: to ask the block for it is a collective on NVIDIA
};

/// One wave of a block, as those who fold, with registers for `Kept` partial results.
template <class Block, int Kept>
class wave_team
{
public:
    using wave_type = typename Block::wave_type;

    static constexpr int threads   = wave_type::size;
    static constexpr int most_kept = Kept;

    KVLOOM_FN explicit wave_team(Block const& of) : block(of) {}

    KVLOOM_FN auto wave() const { return block.wave(); }
    KVLOOM_FN int thread() const { return block.wave().lane(); }
    KVLOOM_FN void barrier(site at = site::here()) const { block.wave().meet(at); }

    /// What lane 0 has, in all lanes, which then see what it has seen of other blocks.
    KVLOOM_FN u32 from_first(u32 x, u32&) const
    {
        u32 const first = block.wave().shuffle(x, 0, site::here());
        barrier();
        return first;
    }

private:
    Block block;
};

/// What a wave computes of a segment: the query rows of a tile, and of each node a part of the tokens.
template <class Problem, class Tile, class Wave>
class wave_rows
{
public:
    using types = decode_types<Problem>;
    using tile  = Tile;
    using query = query_fragment<Tile, types::key_dim>;

    KVLOOM_FN wave_rows(Wave on, decode_work<Problem> const& of, decode_segment const& s, int row_tile)
        : wave(on), work(of), segment(s)
    {
        int const first_row = Tile::rows * row_tile;
        int const rows      = rows_of(of, s);
        int const after     = first_row + Tile::rows < rows ? first_row + Tile::rows : rows;
        int unused          = 0;
        find_visible(of, s, find_row(of, s, first_row).token, unused, all_see_to);
        find_visible(of, s, find_row(of, s, after > 0 ? after - 1 : 0).token, all_see_from, unused);
        KVLOOM_UNROLL
        for (int r = 0; r < Tile::lane_rows; ++r) {
            int const row = first_row + Tile::row(on.lane(), r);
            at[r]         = find_row(of, s, row < rows ? row : 0);
            find_visible(of, s, at[r].token, from[r], to[r]);
        }
    }

    /// Rows beyond the segment's are the first one once more; nothing becomes of them. Collective.
    template <class Order>
    KVLOOM_FN query load() const
    {
        auto const& source = work.args.query;
        return load_query<Tile, Order, types::key_dim>(wave, source.data, [&](int r) {
            return source.row(int(segment.extent.first_row) + at[r].token, at[r].head).data;
        });
    }

    /// What turns products into powers of two.
    KVLOOM_FN void find_scales(query const& of, float (&scale)[Tile::lane_rows]) const
    {
        float common = work.args.softmax_scale * log2_of_e;
        if constexpr (!is_same_v<typename Problem::key_scale, scale_view>) {
            common *= scale_at(wave, work.args.key_scale, {}, segment.head);
        }
        KVLOOM_UNROLL
        for (int r = 0; r < Tile::lane_rows; ++r) { // a scale of zero makes equal scores, not NaN
            scale[r] = larger(common * of.factor[r], 0x1p-126F);
        }
    }

    /// Whether every row sees all tokens [position, position + count).
    KVLOOM_FN bool all_see(int position, int count) const
    {
        return position >= all_see_from && position + count <= all_see_to;
    }

    KVLOOM_FN void find_ranges(int position, step_rules<Tile>& rules) const
    {
        rules.present = range(segment.extent.seen, segment.extent.length, position);
        KVLOOM_UNROLL
        for (int r = 0; r < Tile::lane_rows; ++r) {
            rules.seen[r] = range(from[r], to[r], position);
        }
    }

    /// The power of two that stands for a score.
    KVLOOM_FN float change(int r, int key_position, float power) const
    {
        int const query_position = segment.extent.length - segment.extent.tokens + at[r].token;
        int const last           = segment.extent.length - 1;
        score_place const place{segment.sequence, query_position > 0 ? query_position : 0,
                                key_position < last ? key_position : last, at[r].head};
        return work.args.logits(power * natural_of_2, place) * log2_of_e;
    }

private:
    /// Counted from a step's first token.
    KVLOOM_FN static token_range range(int first, int last, int position)
    {
        return {first - position, last - position};
    }

    Wave wave;
    decode_work<Problem> const& work;
    decode_segment const& segment;
    int all_see_from = 0;
    int all_see_to   = 0;
    query_row at[Tile::lane_rows];
    int from[Tile::lane_rows];
    int to[Tile::lane_rows];
};

/// What turns a step's scores and probabilities into the problem's: its own functor, and scales of each token and head.
template <class Problem, class Rows, class Order>
class step_changes
{
    static constexpr bool scaled_keys   = is_same_v<typename Problem::key_scale, scale_view>;
    static constexpr bool scaled_values = is_same_v<typename Problem::value_scale, scale_view>;

public:
    static constexpr bool changes = Problem::logits::changes || scaled_keys;

    /// Reads the scales of the tokens that the lane holds and that exist; others count as 0.
    template <class Wave, class Pages>
    KVLOOM_FN step_changes(Wave wave, decode_work<Problem> const& work, decode_segment const& segment,
                           Rows const& of, Pages const& pages, int step_position)
        : rows(of), position(step_position), group(Rows::tile::group(wave.lane()))
    {
        if constexpr (scaled_keys || scaled_values) {
            KVLOOM_UNROLL
            for (int i = 0; i < Order::tokens / 4; ++i) {
                int const token  = token_of(i);
                auto const place = pages.place_of(token);
                bool const there = place.valid && position + token >= segment.extent.seen
                                   && position + token < segment.extent.length;
                key[i]   = there ? scale_at(wave, work.args.key_scale, place, segment.head) : 0.0F;
                value[i] = there ? scale_at(wave, work.args.value_scale, place, segment.head) : 0.0F;
            }
        }
    }

    /// The power of two that stands for a score of the lane's row r and token i.
    KVLOOM_FN float operator()(int r, int i, float power) const
    {
        if constexpr (scaled_keys) {
            power = multiply(power, key[i]);
        }
        if constexpr (Problem::logits::changes) {
            power = rows.change(r, position + token_of(i), power);
        }
        return power;
    }

    /// What a probability multiplies the value of the lane's token i by.
    KVLOOM_FN float operator()(int i, float probability) const
    {
        return scaled_values ? multiply(probability, value[i]) : probability;
    }

private:
    KVLOOM_FN int token_of(int i) const
    {
        return Order::token(i / Order::per_lane, group, i % Order::per_lane);
    }

    Rows const& rows;
    int position;
    int group;
    float key[scaled_keys || scaled_values ? Order::tokens / 4 : 1];
    float value[scaled_keys || scaled_values ? Order::tokens / 4 : 1];
};

/// The path of a wave through a segment; each of `token_waves` waves takes as many tokens of a node.
template <int StepTokens>
KVLOOM_FN step_path<StepTokens> path_of(decode_segment const& segment, int token_wave, int token_waves)
{
    auto const steps_to = [](int tokens) { return int(tokens < 0 ? 0 : u32(tokens) / StepTokens); };
    int const shift     = segment.extent.node_shift;
    int const part      = (1 << shift) / token_waves;
    int const steps     = part / StepTokens;
    step_path<StepTokens> path;
    path.node_shift      = shift;
    path.part_shift      = bit_count(steps) - 1;
    path.origin          = (segment.first << shift) + token_wave * part;
    int const last_part  = ((segment.last - 1) << shift) + token_wave * part;
    int const steps_last = steps_to(segment.extent.length - last_part + StepTokens - 1);
    path.last = (segment.last - 1 - segment.first) * steps + (steps_last < steps ? steps_last : steps);
    int const skipped = steps_to(segment.extent.seen - path.origin);
    path.first        = skipped < steps ? skipped : steps;
    path.first        = path.first < path.last ? path.first : path.last;
    return path;
}

/// A wave goes through the nodes of a segment; `hand_over(node, softmax)` takes what it has of each.
template <class Order, class Wave, class Problem, class Rows, class Pages, class HandOver>
KVLOOM_FN void attend_nodes(Wave wave, decode_work<Problem> const& work, decode_segment const& segment,
                            Rows const& rows, typename Rows::query const& query,
                            step_path<Order::tokens> const& path, Pages& pages, HandOver hand_over)
{
    using tile = typename Rows::tile;
    step_rules<tile> rules;
    rows.find_scales(query, rules.scale);
    softmax_fragment<tile, decode_types<Problem>::value_dim> softmax;
    softmax.reset();
    bool fresh = true;
    int step   = path.first;
    for (int node = segment.first; node < segment.last; ++node) {
        int const stop = (node + 1 - segment.first) << path.part_shift;
        int const last = stop < path.last ? stop : path.last;
        for (; step < last; ++step) {
            int const position = path.position(step);
            pages.enter();
            bool const all = rows.all_see(position, Order::tokens) && pages.has_all();
            if (!all) {
                rows.find_ranges(position, rules);
            }
            step_changes<Problem, Rows, Order> const changes(wave, work, segment, rows, pages, position);
            attend(wave, pages, query, fresh, all, rules, changes, changes, softmax);
            fresh = false;
        }
        if (Problem::folding::by_nodes || node + 1 == segment.last) {
            hand_over(node, softmax);
            softmax.reset();
            fresh = true;
        }
    }
}

/// Counts the arrival of a segment's partial results; whether all other blocks of the pair have theirs in place, so that
/// they can be read. `room` is shared memory of a team that is more than a wave. Every thread of the team calls.
template <class Team, class Problem>
KVLOOM_FN bool arrives_last(Team const& team, decode_work<Problem> const& work, decode_segment const& segment,
                            decode_cut const& cut, u32& room)
{
    i64 const pair =
        (i64(segment.sequence) * work.sizes.heads + segment.head) * work.sizes.tiles + segment.tile;
    u32 const parts = u32(span_of(team.wave(), work, segment, cut).blocks(cut));
    u32 ticket      = 0;
    team.barrier();
    if (team.thread() == 0) {
        ticket = team.wave().arrive(work.sections.arrived + pair, parts);
    }
    return team.from_first(ticket, room) == parts - 1;
}

} // namespace detail
} // namespace v0
} // namespace kvloom
