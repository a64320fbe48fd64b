// SPDX-License-Identifier: MIT
// What op/token_lines.hpp refuses.
#include "kvloom/op/token_lines.hpp"
#include "machine.hpp"

using namespace kvloom;

using tokens_together = paged_view<shuffled_values<bf16, 128>>;
using dims_together   = paged_view<shuffled_keys<bf16, 128>>;
using narrow_rows     = paged_view<shuffled_values<bf16, 64>>;

constexpr auto order = line_order::chunk;

void copy(machine_tile tile, token_place where)
{
    // refuses: fetch_lines: the layout's vectors must run along slots, its rows fill the tile
    // wrong: fetch_lines<order>(tile, dims_together{}, where, 0);
    // wrong: fetch_lines<order>(tile, narrow_rows{}, where, 0);
    fetch_lines<order>(tile, tokens_together{}, where, 0);

    // refuses: store_lines: the layout's vectors must run along slots, its rows fill the tile
    // wrong: store_lines<order>(tile, dims_together{}, where, 0, {});
    store_lines<order>(tile, tokens_together{}, where, 0, {});

    // refuses: transposed: elements have one or two bytes
    // wrong: transposed(stored_lines<float, machine_tile, 128, 8>{});
    transposed(stored_lines<bf16, machine_tile, 128, 8>{});
}
