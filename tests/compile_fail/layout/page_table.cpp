// SPDX-License-Identifier: MIT
// What layout/page_table.hpp refuses: unsigned, narrow and floating page ids.
#include "kvloom/layout/page_table.hpp"

using namespace kvloom;

// refuses: block_table: a page id must be a signed integer of 32 or 64 bits
// wrong: block_table<u32> table;
// wrong: block_table<u64> table;
// wrong: block_table<short> table;
// wrong: block_table<float> table;
block_table<i64> table;

// refuses: page_list: a page id must be a signed integer of 32 or 64 bits
// wrong: page_list<u32> list;
// wrong: page_list<u64> list;
// wrong: page_list<short> list;
// wrong: page_list<float> list;
page_list<i64> list;
