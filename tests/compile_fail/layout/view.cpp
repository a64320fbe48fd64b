// SPDX-License-Identifier: MIT
// What layout/view.hpp refuses; unsigned, narrow and floating slots among it.
#include "kvloom/core/bf16.hpp"
#include "kvloom/layout/view.hpp"

using namespace kvloom;

using layout = token_rows<bf16, 128>;

// refuses: paged_view: a block must have at least one page
// wrong: paged_view<layout, 0> packed;
paged_view<layout, 1> packed;

void places(paged_view<layout> const& cache)
{
    // refuses: place: a slot must be a signed integer of 32 or 64 bits
    // wrong: place(cache, u32(0));
    // wrong: place(cache, u64(0));
    // wrong: place(cache, short(0));
    // wrong: place(cache, 0.0F);
    // wrong: place(cache, false);
    place(cache, 0);
}
