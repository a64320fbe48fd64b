// SPDX-License-Identifier: MIT
// What op/insert_values.hpp refuses.
#include "kvloom/core/fp8.hpp"
#include "kvloom/op/insert_values.hpp"
#include "machine.hpp"

using namespace kvloom;

using rule = same_for_all<as_it_is>;

template <class T, class Cache>
void write(machine_wave wave, head_rows<T const, 128> const& source, Cache const& cache)
{
    using split = value_split<machine_wave, 128, 4>;
    insert_values<split>(
        wave, source, cache, 0, 16, 0, [](int token) { return i64(token); }, rule{});
}

template <class Cache>
void write_row(machine_wave wave, row_span<bf16 const, 128> source, Cache const& cache)
{
    insert_value_row(
        wave, source, cache, 0, [] { return token_place{}; }, rule{});
}

void write_all(machine_wave wave)
{
    paged_view<shuffled_values<bf16, 128>> const cache;

    // refuses: insert_values: rows are bf16 or fp16
    // wrong: write(wave, head_rows<fp8_e4m3 const, 128>{}, cache);
    // wrong: write(wave, head_rows<float const, 128>{}, cache);
    write(wave, head_rows<bf16 const, 128>{}, cache);

    // refuses: insert_values: for layouts whose vectors run along slots; use insert
    // wrong: write(wave, head_rows<bf16 const, 128>{}, paged_view<shuffled_keys<bf16, 128>>{});
    write(wave, head_rows<bf16 const, 128>{}, paged_view<shuffled_values<bf16, 128>>{});

    // refuses: insert_values: the rows' length is not the cache's head size
    // wrong: write(wave, head_rows<bf16 const, 128>{}, paged_view<shuffled_values<bf16, 64>>{});
    write(wave, head_rows<bf16 const, 128>{}, paged_view<shuffled_values<bf16, 128>>{});

    // refuses: insert_value_row: the row's length is not the cache's head size
    // wrong: write_row(wave, {}, paged_view<shuffled_values<bf16, 64>>{});
    write_row(wave, {}, paged_view<shuffled_values<bf16, 128>>{});
}
