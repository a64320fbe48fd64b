// SPDX-License-Identifier: MIT
// Attention over a paged cache as the formula has it, in double, on the device that the benchmark runs on; and how far
// an output is from it.
#pragma once

#include "kvloom/kernel/decode_problem.hpp"
#include "support/device.hpp"

#include <cmath>

namespace kvloom_bench {

template <class Problem>
struct reference_args
{
    kvloom::decode_args<Problem> decode;
    double* out = nullptr; ///< [query tokens][query heads][dim]
};

/// One block for each query token and head, one thread for each dim. Page lists, and as many tokens for each sequence.
template <class Problem>
struct attention_reference
{
    using types = kvloom::decode_types<Problem>;

    static constexpr int dim = types::key_dim;
    static_assert(dim == types::value_dim, "attention_reference: K and V must have one head size");

    static constexpr kvloom::launch_bounds bounds = {dim, 1, 1};
    struct shared
    {
        double numbers[dim];
    };

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, reference_args<Problem> const& a) const
    {
        auto const& decode  = a.decode;
        double* numbers     = block.template shared<shared>().numbers;
        int const thread    = block.thread();
        int const head      = block.index() % decode.query.heads;
        int const token     = block.index() / decode.query.heads;
        int const kv_head   = head / (decode.query.heads / decode.keys.heads);
        int const count     = decode.tokens.count;
        int const sequence  = token / count;
        int const visible   = int(decode.lengths[sequence]) - count + token % count + 1;
        int const* const id = decode.table.ids + decode.table.starts[sequence];
        auto const* query   = decode.query.row(token, head).data;
        auto const score    = [&](int key) {
            double sum = 0;
            for (int d = 0; d < dim; ++d) {
                sum += double(kvloom::widen(query[d]))
                       * kvloom::widen(*decode.keys.address(place_of(id, key), kv_head, d));
            }
            return sum * decode.softmax_scale;
        };

        double const largest = largest_score(block, numbers, visible, score);
        double total         = 0;
        double sum           = 0;
        for (int first = 0; first < visible; first += dim) {
            int const keys  = visible - first < dim ? visible - first : dim;
            numbers[thread] = thread < keys ? exp(score(first + thread) - largest) : 0;
            block.barrier();
            for (int i = 0; i < keys; ++i) {
                auto const value = *decode.values.address(place_of(id, first + i), kv_head, thread);
                total += numbers[i];
                sum += numbers[i] * kvloom::widen(value);
            }
            block.barrier();
        }
        a.out[kvloom::i64(block.index()) * dim + thread] = sum / total;
    }

private:
    KVLOOM_FN static kvloom::token_place place_of(int const* ids, int token)
    {
        return {ids[token / types::page_size], token % types::page_size, true};
    }

    template <class Block, class Score>
    KVLOOM_FN static double largest_score(Block const& block, double* numbers, int visible,
                                          Score const& score)
    {
        double own = -1e300;
        for (int i = block.thread(); i < visible; i += dim) {
            double const x = score(i);
            own            = x > own ? x : own;
        }
        numbers[block.thread()] = own;
        block.barrier();
        for (int i = 0; i < dim; ++i) {
            own = numbers[i] > own ? numbers[i] : own;
        }
        block.barrier();
        return own;
    }
};

/// Root of the summed squares of what the output of finished work differs by, relative to that of the reference.
template <class Problem>
double relative_error(device const& on, kvloom::decode_args<Problem> const& a)
{
    using output    = typename Problem::output;
    auto const rows = std::size_t(a.sequences) * std::size_t(a.tokens.count) * std::size_t(a.query.heads);
    std::size_t const count = rows * attention_reference<Problem>::dim;
    memory<double> const exact(count);
    reference_args<Problem> const args{a, exact.data()};
    require(launch(on.stream(), attention_reference<Problem>{}, args, kvloom::i64(rows)));
    on.finish();
    std::vector<double> expected(count);
    std::vector<output> found(count);
    device::download(expected.data(), exact.data(), count * sizeof(double));
    device::download(found.data(), a.out.data, count * sizeof(output));
    double difference = 0;
    double size       = 0;
    for (std::size_t i = 0; i < count; ++i) {
        double const off = double(kvloom::widen(found[i])) - expected[i];
        difference += off * off;
        size += expected[i] * expected[i];
    }
    return std::sqrt(difference / size);
}

} // namespace kvloom_bench
