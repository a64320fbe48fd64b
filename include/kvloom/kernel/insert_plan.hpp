// SPDX-License-Identifier: MIT
// How the fused insert is cut into work for waves: a pure function of the sizes and of the machine's tuning.
#pragma once

#include "kvloom/core/math.hpp"
#include "kvloom/group/arch.hpp"

namespace kvloom {
inline namespace v0 {

/// Numbers that decide speed only.
struct insert_tuning
{
    int wave = 32; ///< lanes
    int batches =
        2; ///< batches of rows that one query item takes, each loaded before the one before it is used
    bool unroll     = true; ///< the batches of an item are straight-line code
    bool strips     = true; ///< V runs are turned in strips by matrix transposes, else a tile of lanes a head
    int value_heads = 2;    ///< heads of a value item where V runs are turned in strips
    int whole_width =
        2; ///< strips of a value item, then of one head, where a row of V is looked at as a whole
    bool roll_found = false; ///< where rows find their own scale, items are loops: see insert_keys
    int wide_heads  = 16;    ///< query heads from which the wide shape pays
    i64 early_waves = 2640;  ///< waves of a short launch up to which angles are guessed early
    i64 short_rows  = 4096;  ///< tokens x query heads (at least 8) up to which a row a tile is faster
    int tile_tokens = 16;    ///< tokens whose items lie together in the grid
};

/// The shapes of the kernel. Long: several rows a tile, the next ones loaded early. Short: one row a tile.
enum class insert_shape { long_wide, long_narrow, short_rows };

/// The tuning of a shape on a machine.
KVLOOM_FN constexpr insert_tuning insert_tuning_for(arch_id arch, insert_shape shape)
{
    insert_tuning tuning;
    bool const quad_rows = arch == arch_id::host_cdna || arch == arch_id::host_cdna4
                           || arch == arch_id::gfx90a || arch == arch_id::gfx942 || arch == arch_id::gfx950;
    if (quad_rows) {
        tuning.wave    = 64;
        tuning.batches = 4;
        tuning.unroll  = false;
        tuning.strips  = false;
    } else if (arch == arch_id::gfx11 || arch == arch_id::gfx12) {
        tuning.batches = 4;
        tuning.unroll  = false;
        tuning.strips  = false;
    } else if (shape == insert_shape::long_narrow) {
        tuning.batches     = 1;
        tuning.value_heads = 1;
        tuning.whole_width = 1;
    } else {
        tuning.roll_found = true;
    }
    return tuning;
}

/// What the plan depends on.
struct insert_sizes
{
    int tokens          = 0;
    int q_heads         = 0;
    int kv_heads        = 0;
    int value_heads     = 0;     ///< kv_heads, or 0 where V has no part in the launch
    int index_heads     = 0;     ///< index query heads
    int index_keys      = 0;     ///< 1 with an index key
    bool values_by_rows = false; ///< V leaves row by row, as K does
    bool whole_rows     = false; ///< V needs a factor of its whole row: one head a value item
    int window          = 8;     ///< tokens of a value window
    int chunks          = 16;    ///< chunks of a row
    int lanes           = 16;    ///< lanes that hold a row
    int rows_at_once    = 4;     ///< rows that a tile works on at once in the long shapes
};

/// Which wave does what. In the long shapes the items of a tile of tokens lie together: values first, then
/// keys and index rows, then queries; in the short one the items of a token, a row each, in the order values,
/// queries, keys, index rows.
///
/// What every wave reads first stands first: the constant cache is cold when a kernel starts, and each of its
/// lines costs a miss.
struct insert_plan
{
    i64 waves = 0;
    divider by_tile; ///< items of a tile, or of a token
    int tile_tokens = 1;
    int value_items = 0; ///< of a tile, or of a token
    int query_items = 0; ///< of a token: items of whole batches, or of one row a tile
    int key_items   = 0; ///< of a tile, or of a token
    int batches     = 0; ///< whole batches of a token
    divider by_value;
    divider by_key;
    divider by_token;
    insert_shape shape = insert_shape::short_rows;
    bool early         = false; ///< guess angles ahead of dependency()
};

KVLOOM_FN constexpr int ceil_divide(int n, int d)
{
    return (n + d - 1) / d;
}

KVLOOM_FN constexpr int at_least_one(int n)
{
    return n < 1 ? 1 : n;
}

/// The plan of the short shape: for each token kv_heads value rows, a wave each, then the other rows, one a
/// tile and of one kind a wave.
KVLOOM_FN constexpr insert_plan short_insert_plan(insert_sizes const& sizes, insert_tuning const& tuning)
{
    int const tiles = tuning.wave / sizes.lanes;
    insert_plan plan;
    plan.value_items = sizes.values_by_rows ? ceil_divide(sizes.value_heads, tiles) : sizes.value_heads;
    plan.query_items = ceil_divide(sizes.q_heads, tiles);
    plan.key_items   = ceil_divide(sizes.kv_heads, tiles);
    int const items  = plan.value_items + plan.query_items + plan.key_items
                      + ceil_divide(sizes.index_heads, tiles) + sizes.index_keys;
    plan.by_tile = make_divider(u32(at_least_one(items)));
    plan.waves   = i64(sizes.tokens) * items;
    plan.early   = plan.waves <= tuning.early_waves;
    return plan;
}

/// The plan of a long shape.
KVLOOM_FN constexpr insert_plan long_insert_plan(insert_sizes const& sizes, insert_tuning const& tuning,
                                                 insert_shape shape)
{
    int const tiles       = tuning.wave / sizes.lanes;
    int const batch_heads = tiles * sizes.rows_at_once;
    int const item_heads  = sizes.whole_rows ? 1 : tuning.value_heads;
    int const tile_heads  = at_least_one(tuning.wave / sizes.chunks);
    int const head_items  = sizes.chunks / (sizes.whole_rows ? 4 * tuning.whole_width : 4);
    int const value_parts = tuning.strips ? ceil_divide(sizes.value_heads, item_heads) * head_items
                                          : ceil_divide(sizes.value_heads, tile_heads);
    int const key_rows = sizes.kv_heads + (sizes.values_by_rows ? sizes.value_heads : 0) + sizes.index_heads
                         + sizes.index_keys;
    int const key_parts = ceil_divide(key_rows, sizes.rows_at_once);

    insert_plan plan;
    plan.shape       = shape;
    plan.tile_tokens = sizes.tokens < tuning.tile_tokens ? sizes.tokens : tuning.tile_tokens;
    plan.value_items = sizes.values_by_rows ? 0 : ceil_divide(plan.tile_tokens, sizes.window) * value_parts;
    plan.key_items   = ceil_divide(plan.tile_tokens, tiles) * key_parts;
    plan.batches     = sizes.q_heads / batch_heads;
    plan.query_items = ceil_divide(plan.batches, tuning.batches);

    int const tails   = ceil_divide(sizes.q_heads - plan.batches * batch_heads, tiles);
    int const a_token = plan.query_items + tails;
    int const a_tile  = plan.value_items + plan.key_items + plan.tile_tokens * a_token;
    plan.by_tile      = make_divider(u32(at_least_one(a_tile)));
    plan.by_value     = make_divider(u32(at_least_one(value_parts)));
    plan.by_key       = make_divider(u32(at_least_one(key_parts)));
    plan.by_token     = make_divider(u32(at_least_one(a_token)));
    plan.waves        = i64(ceil_divide(sizes.tokens, plan.tile_tokens)) * a_tile;
    return plan;
}

/// The plan for sizes of at least one token, on a machine. Pure; never looks at slots or lengths.
KVLOOM_FN constexpr insert_plan plan_insert(insert_sizes const& sizes, arch_id arch)
{
    auto const tuning = insert_tuning_for(arch, insert_shape::short_rows);
    if (i64(sizes.tokens) * (sizes.q_heads < 8 ? 8 : sizes.q_heads) <= tuning.short_rows) {
        return short_insert_plan(sizes, tuning);
    }
    auto const shape = sizes.q_heads >= tuning.wide_heads || !tuning.strips ? insert_shape::long_wide
                                                                            : insert_shape::long_narrow;
    return long_insert_plan(sizes, insert_tuning_for(arch, shape), shape);
}

} // namespace v0
} // namespace kvloom
