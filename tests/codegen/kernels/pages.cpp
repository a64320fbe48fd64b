// SPDX-License-Identifier: MIT
// copy_pages and read_back for the assembly rules: whole vectors, slots to rows, and rows to fp8 with scales
// they find.
#include "kvloom/backend/hip.hpp"
#include "kvloom/kernel/copy_pages.hpp"
#include "kvloom/kernel/read_back.hpp"

using namespace kvloom;

struct same_values : copy_pages_problem
{
    using source = shuffled_values<bf16, 128>;
    using target = shuffled_values<bf16, 128>;
};

struct same_scaled_values : copy_pages_problem
{
    using source       = shuffled_values<fp8_e4m3_fnuz, 128>;
    using target       = transposed_values<fp8_e4m3_fnuz, 128>;
    using source_scale = scale_view;
    using target_scale = scale_view;
};

struct values_to_rows : copy_pages_problem
{
    using source = shuffled_values<bf16, 128>;
};

struct rows_to_scaled_values : copy_pages_problem
{
    using target       = shuffled_values<fp8_e4m3_fnuz, 128>;
    using target_scale = scale_view;
};

struct rows_to_scaled_keys : copy_pages_problem
{
    using target       = shuffled_keys<fp8_e4m3_fnuz, 128>;
    using target_scale = scale_view;
};

struct values_back : read_back_problem
{
    using cache = shuffled_values<fp8_e4m3_fnuz, 128>;
    using scale = scale_view;
};

template <class Problem>
using copy_work = kvloom::detail::copy_pages_work<Problem>;
template <class Problem>
using read_work = kvloom::detail::read_back_work<Problem>;

template __global__ void
    hip::entry<copy_vectors<same_values>, copy_work<same_values>>(copy_work<same_values>);
template __global__ void hip::entry<copy_vectors<same_scaled_values>, copy_work<same_scaled_values>>(
    copy_work<same_scaled_values>);
template __global__ void
    hip::entry<copy_lines<values_to_rows>, copy_work<values_to_rows>>(copy_work<values_to_rows>);
template __global__ void hip::entry<copy_lines<rows_to_scaled_values>, copy_work<rows_to_scaled_values>>(
    copy_work<rows_to_scaled_values>);
template __global__ void hip::entry<copy_lines<rows_to_scaled_keys>, copy_work<rows_to_scaled_keys>>(
    copy_work<rows_to_scaled_keys>);
template __global__ void hip::entry<read_lines<values_back>, read_work<values_back>>(read_work<values_back>);
