// SPDX-License-Identifier: MIT
// What paged decode checks of its arguments on the host.
#pragma once

#include "kvloom/kernel/decode_work.hpp"
#include "kvloom/kernel/page_checks.hpp"

#if !KVLOOM_RTC // host functions: run-time compilers take the functors alone

namespace kvloom {
inline namespace v0 {
namespace detail {

inline int most_tokens(uniform_tokens const& tokens)
{
    return tokens.count;
}
template <class Offset>
int most_tokens(token_offsets<Offset> const& tokens)
{
    return tokens.most;
}

/// Query rows in all.
inline i64 count_rows(uniform_tokens const& tokens, int sequences)
{
    return i64(sequences) * tokens.count;
}
template <class Offset>
i64 count_rows(token_offsets<Offset> const& tokens, int)
{
    return tokens.rows;
}

inline void check_tokens(checks& check, uniform_tokens const& tokens)
{
    check.at_least("tokens.count", tokens.count, 1);
}
template <class Offset>
void check_tokens(checks& check, token_offsets<Offset> const& tokens)
{
    check.at_least("tokens.most", tokens.most, 1);
    check.at_least("tokens.rows", tokens.rows, 0);
    check.pointer("tokens.data", tokens.data, sizeof(Offset));
}

template <class Id>
void check_table(checks& check, block_table<Id> const& table, int sequences)
{
    check.at_least("table.sequences", table.sequences, sequences);
    check.at_least("table.width", table.width, 0);
    if (table.width > 0) {
        check.pointer("table.ids", table.ids, sizeof(Id));
    }
    check.report(sequences > 1 && table.stride < table.width, fault::wrong_stride, "table.stride",
                 table.stride, table.width);
    check.below("table.stride", table.stride, i64(1) << 36);
}
template <class Id>
void check_table(checks& check, page_list<Id> const& table, int sequences)
{
    check.at_least("table.sequences", table.sequences, sequences);
    check.at_least("table.most", table.most, 0);
    check.pointer("table.starts", table.starts, sizeof(int));
    check.pointer("table.ids", table.ids, sizeof(Id));
}
inline void check_table(checks& check, contiguous const& table, int sequences)
{
    check.at_least("table.sequences", table.sequences, sequences);
    check.at_least("table.pages", table.pages, 0);
}

template <class Problem>
void check_decode_heads(checks& check, decode_args<Problem> const& a)
{
    check.at_least("keys.heads", a.keys.heads, 1);
    check.at_least("query.heads", a.query.heads, 1);
    if (check.first.ok()) {
        check.multiple("query.heads", a.query.heads, a.keys.heads);
        check.below("query.heads", i64(a.query.heads) * most_tokens(a.tokens), i64(1) << 24);
    }
}

/// The kernels count in 32 bits: the units of work of a sequence and of a share, and pairs of sequence and head.
template <class Problem>
void check_units(checks& check, decode_args<Problem> const& a)
{
    if (!check.first.ok()) {
        return;
    }
    constexpr i64 limit = i64(1) << 31;
    i64 const tokens    = i64(a.table.most_pages()) * Problem::key_cache::page_size;
    i64 const rows      = i64(most_tokens(a.tokens)) * (a.query.heads / a.keys.heads);
    i64 const pairs     = (rows + 7) / 8 * a.keys.heads; // a block of query rows has 8 or more
    i64 const of_pair   = (tokens >> unit_token_shift) + 1 + node_units::segment_units;
    check.below("heads * sequences", pairs * a.sequences, limit);
    check.below("table * heads", of_pair * pairs, limit);
    if (check.first.ok()) { // the last node of a share may end behind it
        check.below("table * heads * sequences / blocks",
                    of_pair * pairs * a.sequences / a.workspace.blocks + of_pair + 1, limit);
    }
}

/// What is written must neither overlap what is read nor the rest of it.
template <class Problem>
void check_decode_overlap(checks& check, decode_args<Problem> const& a, i64 rows)
{
    if (!check.first.ok()) {
        return;
    }
    auto const keys   = bytes_of(a.keys);
    auto const values = bytes_of(a.values);
    auto const query  = bytes_of(a.query, rows);
    auto const out    = bytes_of(a.out, rows);
    strided_bytes const work(a.workspace.data, a.workspace.bytes > 0 ? a.workspace.bytes : 0);
    auto const meets = [&](strided_bytes const& written) {
        return share_bytes(written, keys) || share_bytes(written, values) || share_bytes(written, query);
    };
    check.report(meets(work), fault::overlapping, "workspace.data", 0, 0);
    check.report(meets(out) || share_bytes(out, work), fault::overlapping, "out.data", 0, 0);
    if constexpr (Problem::lse::present) {
        auto const lse = bytes_of_logarithms(a.lse.data, rows, a.out.heads, a.lse.token_stride);
        check.report(meets(lse) || share_bytes(lse, out) || share_bytes(lse, work), fault::overlapping,
                     "lse.data", 0, 0);
    }
}

/// Whether a float is positive and finite.
inline void check_scale(checks& check, char const* argument, float scale)
{
    bool const usable = scale > 0.0F && scale <= numeric<float>::largest;
    check.report(!usable, fault::not_positive, argument, 0, 0);
}

/// The first argument that breaks a rule, but for the size of the workspace; reads no device memory.
template <class Problem>
status validate_decode(decode_args<Problem> const& a)
{
    checks check;
    check.at_least("sequences", a.sequences, 0);
    check.below("sequences", a.sequences, i64(1) << 24);
    check_tokens(check, a.tokens);
    check_decode_heads(check, a);
    if (a.sequences <= 0 || !check.first.ok()) {
        return check.first;
    }
    i64 const rows = count_rows(a.tokens, a.sequences);
    check.below("sequences * tokens", rows, i64(1) << 30);
    check_source(check, a.query, a.query.heads,
                 {"query.data", "query.heads", "query.token_stride", "query.head_stride"});
    check_target(check, a.out, int(rows > 0 ? rows : 1), a.query.heads,
                 {"out.data", "out.heads", "out.token_stride", "out.head_stride"});
    check_cache(check, a.keys, a.keys.heads,
                {"keys.data", "keys.pages", "keys.heads", "keys.page_stride", "keys.head_stride",
                 "keys.token_stride", "keys.block_stride"});
    check_cache(check, a.values, a.keys.heads,
                {"values.data", "values.pages", "values.heads", "values.page_stride", "values.head_stride",
                 "values.token_stride", "values.block_stride"});
    check.equal("values.pages", a.values.pages, a.keys.pages);
    check.at_least("keys.pages", a.keys.pages, 1);
    check_table(check, a.table, a.sequences);
    check.below("table", i64(a.table.most_pages()) * Problem::key_cache::page_size, i64(1) << 30);
    check.pointer("lengths", a.lengths, sizeof(typename Problem::length));
    check_scale(check, "softmax_scale", a.softmax_scale);
    if constexpr (is_same_v<typename Problem::sinks, head_sinks>) {
        check.pointer("sinks.data", a.sinks.data, sizeof(float));
    }
    if constexpr (Problem::lse::present) {
        check_logarithms(check, a.lse.data, a.lse.token_stride, a.query.heads, "lse.data",
                         "lse.token_stride");
    }
    check_page_scale(check, a.key_scale, a.keys.pages, a.keys.heads, Problem::key_cache::page_size,
                     {"key_scale.data", "key_scale.page_stride", "key_scale.head_stride"});
    check_page_scale(check, a.value_scale, a.keys.pages, a.keys.heads, Problem::key_cache::page_size,
                     {"value_scale.data", "value_scale.page_stride", "value_scale.head_stride"});
    check.at_least("workspace.blocks", a.workspace.blocks, 1);
    check.below("workspace.blocks", a.workspace.blocks, 1 << 15); // whose square is an int
    check_units(check, a);
    check_decode_overlap(check, a, rows);
    check.pointer("workspace.data", a.workspace.data, 256);
    return check.first;
}

} // namespace detail
} // namespace v0
} // namespace kvloom

#endif
