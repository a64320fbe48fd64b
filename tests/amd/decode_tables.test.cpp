// SPDX-License-Identifier: MIT
// Paged decode by every kind of page table.
#include "amd/small_decode.hpp"

using namespace kvloom_test;

namespace {

template <class Table>
struct by_table : decode_of<shuffled_keys<bf16, 64>, shuffled_values<bf16, 64>>
{
    using table = Table;
};

} // namespace

TEST_CASE("paged_decode: lists of pages, no table, ids of 64 bits", "[contract][decode]")
{
    check_small_decode<by_table<page_list<int>>>();
    check_small_decode<by_table<contiguous>>();
    check_small_decode<by_table<block_table<i64>>>();
}
