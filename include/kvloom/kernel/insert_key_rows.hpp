// SPDX-License-Identifier: MIT
// Which rows insert_keys takes of a token, and where they lie.
#pragma once

#include "kvloom/kernel/insert_short.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// The rows that insert_keys takes of a token, in the order [k | v | index_q | index_k]; v only where it leaves
/// row by row. The same for all tiles of a wave.
template <class Problem>
struct key_rows
{
    using types      = insert_types<Problem>;
    using activation = typename types::activation;

    insert_args<Problem> const& args;

    KVLOOM_FN int keys() const { return args.k.heads; }
    KVLOOM_FN int first_index() const { return keys() + (types::values_by_rows ? args.v.heads : 0); }
    KVLOOM_FN int first_index_key() const
    {
        return first_index() + (types::index::present ? args.index_q.heads : 0);
    }
    KVLOOM_FN int count() const
    {
        return first_index_key() + (types::index::present ? args.index_k.heads : 0);
    }

    KVLOOM_FN row_kind kind(int m) const
    {
        if (types::index::present && m >= first_index()) {
            return m < first_index_key() ? row_kind::index_query : row_kind::index_key;
        }
        return types::values_by_rows && m >= keys() ? row_kind::value : row_kind::key;
    }

    /// The number of row m among those of its kind, and what is chosen by its kind.
    KVLOOM_FN int head(int m) const { return m - pick<int>(m, 0, keys(), first_index(), first_index_key()); }
    template <class T>
    KVLOOM_FN T pick(int m, T key, [[maybe_unused]] T value, [[maybe_unused]] T index_query,
                     [[maybe_unused]] T index_key) const
    {
        T chosen = key;
        if constexpr (types::values_by_rows) {
            chosen = m >= keys() ? value : chosen;
        }
        if constexpr (types::index::present) {
            chosen = m >= first_index() ? index_query : chosen;
            chosen = m >= first_index_key() ? index_key : chosen;
        }
        return chosen;
    }
};

/// Where a token's rows of each kind begin, row 0 of the list as if it were of that kind (so numbers: no pointer may
/// lie there), and the tokens of which they are read: padding's k, v and index_k are not, unless keys leave densely.
/// A tile whose token is not read reads the last that is: to mask it would cost every wave a dozen instructions a row.
template <class Problem>
struct key_sources
{
    using types      = insert_types<Problem>;
    using activation = typename types::activation;

    key_rows<Problem> list;
    usize k;
    usize v;
    usize index_q;
    usize index_k;

    KVLOOM_FN key_sources(key_rows<Problem> rows, int token)
        : list(rows), k(begin(rows.args.k, token, cached(), 0)),
          v(begin(rows.args.v, token, of_slots(), rows.keys())),
          index_q(begin(rows.args.index_q, token, rows.args.tokens, rows.first_index())),
          index_k(begin(rows.args.index_k, token, indexed(), rows.first_index_key()))
    {}

    /// Rows m, m + 1, ... of a tile's token, m in the list; any row in place of those beyond it, zeros where no tile of
    /// the wave has a token that is read. `first`: the token of its first tile.
    template <int Count, class Tile>
    KVLOOM_FN void fetch(Tile tile, int m, int first,
                         stored_row<activation, Tile, types::dim> (&rows)[Count]) const
    {
        int const last = list.count() - 1;
        if (__builtin_expect(first < read_of_all(), true)) {
            KVLOOM_UNROLL
            for (int i = 0; i < Count; ++i) {
                rows[i] = fetch_row(tile, smaller(m + i, last), true);
            }
        } else {
            auto const& args = list.args;
            KVLOOM_UNROLL
            for (int i = 0; i < Count; ++i) {
                int const row   = smaller(m + i, last);
                int const limit = list.pick(row, cached(), of_slots(), args.tokens, indexed());
                rows[i]         = fetch_row(tile, row, first < limit);
                hold(tile, rows[i]); // else the zeros are made ahead of the question, for all
            }
        }
    }

private:
    template <class Tile>
    KVLOOM_FN stored_row<activation, Tile, types::dim> fetch_row(Tile tile, int m, bool present) const
    {
        auto const& args = list.args;
        auto const ahead =
            list.pick(m, args.k.ahead(m), args.v.ahead(m), args.index_q.ahead(m), args.index_k.ahead(m));
        usize const from    = list.pick(m, k, v, index_q, index_k) + usize(ahead) * sizeof(activation);
        auto const* const x = reinterpret_cast<activation const*>(from);
        return kvloom::fetch(tile, row_span<activation const, types::dim>{x}, present);
    }

    /// Tokens of which all kinds of rows are read.
    KVLOOM_FN int read_of_all() const
    {
        int const others = types::values_by_rows ? smaller(cached(), of_slots()) : cached();
        return types::index::present && list.args.index_k.heads > 0 ? smaller(others, indexed()) : others;
    }

    /// Tokens of which v, k and index keys are read.
    KVLOOM_FN int of_slots() const { return smaller(list.args.slot_count, list.args.tokens); }
    KVLOOM_FN int cached() const { return Problem::keys_out ? list.args.tokens : of_slots(); }
    KVLOOM_FN int indexed() const
    {
        return Problem::keys_out ? list.args.tokens : smaller(list.args.index_slot_count, list.args.tokens);
    }

    KVLOOM_FN static int smaller(int a, int b) { return a < b ? a : b; }

    template <class Rows>
    KVLOOM_FN static usize begin(Rows const& rows, int token, int limit, int first)
    {
        int const read = token < limit ? token : limit > 0 ? limit - 1 : 0;
        return reinterpret_cast<usize>(rows.row(read, 0).data)
               - usize(rows.ahead(first)) * sizeof(activation);
    }
};

} // namespace detail
} // namespace v0
} // namespace kvloom
