// SPDX-License-Identifier: MIT
// Pages of a batch, their table, and the workspace of a decode.
#pragma once

#include "../support/machine.hpp"
#include "plain.hpp"
#include <kvloom/backend/message.hpp>
#include <kvloom/kernel/paged_decode.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace example {

using kvloom::bf16;
using kvloom::i64;

inline constexpr int page_size = 16;
inline constexpr int sequences = 3;
inline constexpr int width     = 20; ///< pages that a sequence may have
inline constexpr int pages     = sequences * width;

using key_layout   = kvloom::shuffled_keys<bf16, plain::dim, page_size>;
using value_layout = kvloom::shuffled_values<bf16, plain::dim, page_size>;

inline constexpr i64 page_stride            = i64(plain::kv_heads) * key_layout::elements;
inline constexpr std::size_t cache_elements = std::size_t(pages) * page_stride;
inline constexpr i64 query_stride           = i64(plain::heads) * plain::dim; ///< of queries and outputs
inline constexpr bf16 not_a_number          = bf16{0x7fc0}; ///< what slots hold before a token enters
inline float const softmax_scale            = 1.0F / std::sqrt(float(plain::dim));

/// Page ids of all sequences, in no order.
inline std::vector<int> make_page_ids()
{
    std::vector<int> ids(pages);
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), std::mt19937(7));
    return ids;
}

inline kvloom::block_table<int> table_of(int const* const ids)
{
    return {ids, sequences, width, width};
}

inline void require(kvloom::status const& s)
{
    if (!s.ok()) {
        throw std::runtime_error(kvloom::message(s));
    }
}

/// Arguments of a decode but for its tokens and its workspace.
template <class Problem>
kvloom::decode_args<Problem> decode_arguments(array<bf16> const& query, array<bf16> const& out,
                                              array<bf16> const& keys, array<bf16> const& values,
                                              array<int> const& page_ids, array<int> const& lengths)
{
    kvloom::decode_args<Problem> a;
    a.query         = {query.data(), plain::heads, query_stride}; // data, heads, token stride in elements
    a.out           = {out.data(), plain::heads, query_stride};
    a.keys          = {keys.data(), pages, plain::kv_heads, page_stride}; // data, pages, heads, page stride
    a.values        = {values.data(), pages, plain::kv_heads, page_stride};
    a.table         = table_of(page_ids.data());
    a.lengths       = lengths.data(); // all tokens of a sequence; its queries are the last of them
    a.sequences     = sequences;
    a.softmax_scale = softmax_scale;
    return a;
}

/// The memory that launches work in. Its size follows from arguments, never from lengths: it is made once, before the
/// first step.
template <class Problem>
class workspace
{
public:
    template <class Stream>
    workspace(Stream const& stream, kvloom::decode_args<Problem> args)
        : blocks_(decode::blocks(stream)), memory_(bytes(stream, args))
    {
        give_to(args);
        require(decode::prepare_workspace(stream, args));
    }

    void give_to(kvloom::decode_args<Problem>& args) const
    {
        args.workspace = {memory_.data(), i64(memory_.size()), blocks_};
    }

private:
    using decode = kvloom::paged_decode<Problem>;

    template <class Stream>
    std::size_t bytes(Stream const& stream, kvloom::decode_args<Problem> args) const
    {
        args.workspace.blocks = blocks_;
        return std::size_t(decode::workspace_bytes(stream, args));
    }

    int blocks_;
    array<unsigned char> memory_;
};

} // namespace example
