// SPDX-License-Identifier: MIT
// The demo's requests, its arrays on host and device, and the machines it runs on.
#pragma once

#include "kvloom/core/bf16.hpp"
#include "kvloom/core/convert.hpp"
#include "kvloom/layout/view.hpp"
#include "support/buffers.hpp"

#if KVLOOM_TEST_BACKEND_CUDA
#include "kvloom/backend/cuda.hpp"
#elif KVLOOM_TEST_BACKEND_HIP
#include "kvloom/backend/hip.hpp"
#else
#include "kvloom/backend/host.hpp"
#endif

#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace kvloom_demo {

using memory = kvloom_test::backend_memory;

#if KVLOOM_TEST_BACKEND_CUDA
inline constexpr int default_prompt = 2000;
template <class Body>
void for_each_stream(Body&& body)
{
    body(kvloom::cuda::stream{}, "an NVIDIA GPU");
}
#elif KVLOOM_TEST_BACKEND_HIP
inline constexpr int default_prompt = 2000;
template <class Body>
void for_each_stream(Body&& body)
{
    body(kvloom::hip::stream{}, "an AMD GPU");
}
#else
inline constexpr int default_prompt = 100;
template <class Body>
void for_each_stream(Body&& body)
{
    body(kvloom::host::stream<kvloom::host::cdna>{}, "the CPU (model of a CDNA wave)");
    body(kvloom::host::stream<kvloom::host::warp32>{}, "the CPU (model of an NVIDIA warp)");
}
#endif

/// An array on the device and its copy on the host. Without values: bytes of a pattern that shows what was
/// not written.
template <class T>
struct array
{
    explicit array(std::vector<T> values)
        : count(values.size()), host(std::move(values)), device_(memory::allocate(bytes()))
    {
        memory::upload(device_, host.data(), bytes());
    }
    explicit array(std::size_t count) : array(pattern(count)) {}
    ~array() { memory::release(device_); }
    array(array const&)            = delete;
    array& operator=(array const&) = delete;

    T* device() const { return static_cast<T*>(device_); }
    void download() { memory::download(host.data(), device_, bytes()); }
    std::size_t bytes() const { return count * sizeof(T); }

    static std::vector<T> pattern(std::size_t count)
    {
        std::vector<T> values(count);
        std::memset(static_cast<void*>(values.data()), 0x5a, count * sizeof(T));
        return values;
    }

    std::size_t count;
    std::vector<T> host;

private:
    void* device_;
};

/// Rows of cos then sin of position * theta^(-i / half), theta = 5e6 as the model has it.
inline std::vector<kvloom::bf16> angle_table_of(int positions, int half)
{
    std::vector<kvloom::bf16> table(std::size_t(positions) * 2 * std::size_t(half));
    for (int p = 0; p < positions; ++p) {
        for (int i = 0; i < half; ++i) {
            double const angle = p * std::pow(5e6, -double(i) / half);
            table[std::size_t(p) * 2 * std::size_t(half) + i] =
                kvloom::encode<kvloom::bf16>(float(std::cos(angle)));
            table[std::size_t(p) * 2 * std::size_t(half) + half + i] =
                kvloom::encode<kvloom::bf16>(float(std::sin(angle)));
        }
    }
    return table;
}

/// One launch of the trace: rows with their positions and slots.
struct step
{
    std::string name;
    std::vector<kvloom::i64> positions;
    std::vector<kvloom::i64> slots;

    int tokens() const { return int(slots.size()); }

    int stored() const
    {
        int count = 0;
        for (kvloom::i64 const slot : slots) {
            count += slot >= 0 ? 1 : 0;
        }
        return count;
    }

    /// The pages written, the first few by number.
    std::string pages() const
    {
        std::set<kvloom::i64> distinct;
        for (kvloom::i64 const slot : slots) {
            if (slot >= 0) {
                distinct.insert(slot / 16);
            }
        }
        std::string text;
        std::size_t named = 0;
        for (kvloom::i64 const page : distinct) {
            if (named == 4 && distinct.size() > 5) {
                return text + "... (" + std::to_string(distinct.size()) + ")";
            }
            text += std::to_string(page) + " ";
            ++named;
        }
        return text;
    }
};

struct trace
{
    int pages = 0;
    std::vector<step> steps;
};

/// Three requests with pages in no order: two prompts (the second in two chunks, so that it resumes inside a
/// page), then decode steps, the last one in a batch padded for a captured graph.
inline trace make_trace(int prompt)
{
    constexpr int page_size = 16;
    int const width         = (prompt + 64) / page_size + 1; // pages a request may have
    trace plan;
    plan.pages = 3 * width + 2;
    std::vector<int> ids(std::size_t(plan.pages));
    for (int i = 0; i < plan.pages; ++i) {
        ids[std::size_t(i)] = i;
    }
    std::shuffle(ids.begin(), ids.end(), std::mt19937(7));
    kvloom::block_table<int> const table{ids.data(), 3, width, width};

    std::vector<int> length(3, 0);
    auto const append = [&](step& s, int request, int count) {
        for (int i = 0; i < count; ++i) {
            s.positions.push_back(length[std::size_t(request)]);
            s.slots.push_back(table.slot(request, length[std::size_t(request)], page_size));
            ++length[std::size_t(request)];
        }
    };
    auto const add = [&](std::string name, std::vector<std::pair<int, int>> const& parts, int padding) {
        step s{std::move(name), {}, {}};
        for (auto const& [request, count] : parts) {
            append(s, request, count);
        }
        s.positions.insert(s.positions.end(), std::size_t(padding), 0);
        s.slots.insert(s.slots.end(), std::size_t(padding), -1);
        plan.steps.push_back(std::move(s));
    };
    add("prefill A", {{0, prompt}}, 0);
    add("prefill B, first chunk", {{1, 21}}, 0);
    add("prefill B, rest; decode A", {{1, 12}, {0, 1}}, 0);
    add("prefill C; decode A, B", {{2, 5}, {0, 1}, {1, 1}}, 0);
    add("decode A, B, C", {{0, 1}, {1, 1}, {2, 1}}, 0);
    add("decode, padded to 8", {{0, 1}, {1, 1}, {2, 1}}, 5);
    return plan;
}

/// Which cache elements some token has written.
struct ownership
{
    std::vector<bool> keys;
    std::vector<bool> values;
    std::vector<bool> index_keys;
};

/// Elements that no token owns and that no longer hold the first pattern.
template <class T>
long untouched_but_changed(array<T> const& cache, std::vector<bool> const& owned)
{
    auto const first = array<T>::pattern(1)[0];
    long changed     = 0;
    for (std::size_t i = 0; i < cache.count; ++i) {
        changed += !owned[i] && !(cache.host[i] == first) ? 1 : 0;
    }
    return changed;
}

} // namespace kvloom_demo
