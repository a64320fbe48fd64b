// SPDX-License-Identifier: MIT
// Query rows and output rows of paged decode: which token and head a row of a block is, and what is written of it.
#pragma once

#include "kvloom/kernel/decode_work.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Row `row` of a segment: a query token and a query head.
struct query_row
{
    int token = 0; ///< of the sequence
    int head  = 0;
};

template <class Problem>
KVLOOM_FN query_row find_row(decode_work<Problem> const& work, decode_segment const& segment, int row)
{
    int const in_pair = segment.tile * work.sizes.rows + row;
    int const token   = quotient(in_pair, work.group);
    return {token, segment.head * group_of(work) + in_pair - token * group_of(work)};
}

/// The tokens that a row sees, from token 0 of the sequence.
template <class Problem>
KVLOOM_FN void find_visible(decode_work<Problem> const& work, decode_segment const& segment, int token,
                            int& first, int& last)
{
    int const position = segment.extent.length - segment.extent.tokens + token;
    first              = window_begin(work.args.window, position);
    last               = position + 1;
}

template <class Wave, class T>
KVLOOM_FN void store_four(Wave wave, T* to, vec<float, 4> const& values)
{
    if constexpr (sizeof(T) == 4) {
        wave.store(to, bit_cast<vec<u32, 4>>(values));
    } else {
        vec<u32, 2> words;
        words[0] = narrow_pair<T>(values[0], values[1]);
        words[1] = narrow_pair<T>(values[2], values[3]);
        wave.store(to, words);
    }
}

/// Writes four dims of a row, and with the first of them its logarithm. A row that has seen no key is zeros.
template <class Wave, class Problem>
KVLOOM_FN void write_columns(Wave wave, decode_work<Problem> const& work, decode_segment const& segment,
                             int row, int dim, softmax_partial<4> all)
{
    auto const& args = work.args;
    auto const at    = find_row(work, segment, row);
    if constexpr (is_same_v<typename Problem::sinks, head_sinks>) {
        softmax_partial<4> sink;
        sink.top = bit_cast<float>(wave.template load<u32>(args.sinks.data + at.head)) * log2_of_e;
        sink.sum = 1.0F;
        all      = all.sum == 0.0F ? all : merge(all, sink);
    }
    float scale = 1.0F;
    if constexpr (!is_same_v<typename Problem::value_scale, scale_view>) {
        scale = scale_at(wave, args.value_scale, {}, segment.head);
    }
    i64 const query = segment.extent.first_row + at.token;
    store_four(wave, args.out.data + query * args.out.token_stride + at.head * args.out.head_stride + dim,
               normalise(all, scale));
    if constexpr (Problem::lse::present) {
        if (dim == 0) {
            wave.store(args.lse.data + query * args.lse.token_stride + at.head,
                       bit_cast<u32>(log_sum<Problem::lse::natural>(all)));
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace kvloom
