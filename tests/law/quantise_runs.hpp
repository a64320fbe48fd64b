// SPDX-License-Identifier: MIT
// Quotients of many values by many scales, on the host or on a device, and the true ones.
#pragma once

#include "kvloom/kernel/contract.hpp"
#include "kvloom/op/quantise.hpp"
#include "support/data.hpp"
#include "support/machines.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace kvloom_test {

using namespace kvloom;

constexpr int run_length = 8; // values that share one scale, as a chunk of a row does
constexpr int threads    = 128;

struct divide_args
{
    float const* values; // [calls][run_length]
    float const* scales; // [calls]
    float* quotients;    // as values
    int calls;
};

template <class Quantiser>
struct divide_runs
{
    static constexpr launch_bounds bounds = {threads, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, divide_args const& a) const
    {
        int const call = block.index() * Block::threads + block.thread();
        if (call < a.calls) {
            vec<float, run_length> x;
            for (int i = 0; i < run_length; ++i) {
                x[i] = a.values[call * run_length + i];
            }
            x = Quantiser{a.scales[call]}(x);
            for (int i = 0; i < run_length; ++i) {
                a.quotients[call * run_length + i] = x[i];
            }
        }
    }
};

struct runs
{
    std::vector<float> values; // run_length for each scale
    std::vector<float> scales;

    void add(float const scale, std::vector<float> const& more)
    {
        for (std::size_t i = 0; i < more.size(); ++i) {
            if (i % run_length == 0) {
                scales.push_back(scale);
            }
            values.push_back(more[i]);
        }
        values.resize(scales.size() * run_length, 1.0f);
    }
};

/// The quotients of some runs: on the host by a plain call, on a device by a kernel.
template <class Quantiser>
std::vector<float> quotients_of(runs const& r)
{
    std::vector<float> quotients(r.values.size());
#if KVLOOM_TEST_BACKEND_HOST
    for (std::size_t call = 0; call < r.scales.size(); ++call) {
        vec<float, run_length> x;
        for (int i = 0; i < run_length; ++i) {
            x[i] = r.values[call * run_length + static_cast<std::size_t>(i)];
        }
        x = Quantiser{r.scales[call]}(x);
        for (int i = 0; i < run_length; ++i) {
            quotients[call * run_length + static_cast<std::size_t>(i)] = x[i];
        }
    }
#else
    on_every_machine([&](char const*, auto const& stream) {
        device_array<float> const values(r.values), scales(r.scales);
        device_array<float> const out(r.values.size(), 0.0f);
        auto const calls = static_cast<int>(r.scales.size());
        run<divide_runs<Quantiser>>(stream, divide_args{values.data(), scales.data(), out.data(), calls},
                                    (calls + threads - 1) / threads);
        quotients = out.values();
    });
#endif
    return quotients;
}

inline std::uint32_t bits_of(float const x)
{
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline float of_bits(std::uint32_t const bits)
{
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

inline float usable(float const scale)
{
    return std::isfinite(scale) && scale != 0.0f ? scale : 1.0f;
}

/// The correctly rounded quotient, whatever this program's compiler does with `/`: through double, where the
/// fp32 result is normal (double has more than twice fp32's digits and two more).
inline float divided(float const value, float const scale)
{
    return static_cast<float>(static_cast<double>(value) / static_cast<double>(scale));
}

inline std::vector<float> all_of_bf16()
{
    std::vector<float> values;
    for (std::uint32_t code = 0; code < 65536; ++code) {
        values.push_back(of_bits(code << 16));
    }
    return values;
}

} // namespace kvloom_test
