// SPDX-License-Identifier: MIT
// What matrix/attention_tile.hpp refuses.
#include "kvloom/core/bf16.hpp"
#include "kvloom/matrix/attention_tile.hpp"

using namespace kvloom;

// refuses: attention_tile: there must be 8 or 16 rows
// wrong: attention_tile<mma_16x8<bf16>, 0> rows;
// wrong: attention_tile<mma_16x8<bf16>, 4> rows;
// wrong: attention_tile<mma_16x8<bf16>, 12> rows;
// wrong: attention_tile<mma_16x8<bf16>, 32> rows;
attention_tile<mma_16x8<bf16>, 8> rows;

// Units that exist break the next two rules together or neither, so units that do not exist break one each.
struct long_unit : mma_16x8<bf16>
{
    static constexpr int k       = 64;
    static constexpr int a_words = 16;
    static constexpr int b_words = 8;
};
struct turned_unit : mfma_16x16x16<bf16>
{
    static constexpr matrix_coord c(int lane, int e) { return {lane % 16, 4 * (lane / 16) + e}; }
};
struct shifted_unit : mma_16x8<bf16>
{
    static constexpr matrix_coord c(int lane, int e) { return {lane / 4 + e / 2 * 8, lane % 4 + e % 2 * 4}; }
};

// refuses: attention_tile: the unit must multiply 16 or 32 neighbours at once
// wrong: attention_tile<long_unit> neighbours;
attention_tile<mma_16x8<bf16>> neighbours;

// refuses: attention_tile: neither operand of the unit lies as its result does, so scores would have to cross lanes
// wrong: attention_tile<turned_unit> lanes;
// wrong: attention_tile<shifted_unit> lanes;
attention_tile<mfma_16x16x16<bf16>> lanes;
