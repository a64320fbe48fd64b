// SPDX-License-Identifier: MIT
// The fused insert, and its steps as kernels of their own: time, bytes, and share of a copy of equal bytes measured in
// the same run, cold, in chains of launches.
#include "kvloom/kernel/unfused.hpp"
#include "support/device.hpp"
#include "support/traffic.hpp"

#include <benchmark/benchmark.h>

#include <memory>
#include <numeric>
#include <random>

namespace {

using namespace kvloom_bench;
using kvloom::bf16;
using kvloom::i64;

struct bf16_cache : kvloom::insert_problem
{
    static constexpr char const* name = "bf16";
    using index                       = kvloom::index_branch<>;
};

struct fp8_unit : bf16_cache
{
    static constexpr char const* name = "fp8_unit";
    using cache                       = kvloom::shuffled_cache<kvloom::fp8_e4m3>;
    using numerics                    = kvloom::contract::aiter_unit;
};

struct fp8_static : fp8_unit
{
    static constexpr char const* name = "fp8_static";
    using numerics                    = kvloom::contract::aiter_static;
};

struct fp8_head : fp8_unit
{
    static constexpr char const* name = "fp8_head";
    struct numerics : kvloom::contract::aiter_static
    {
        static constexpr kvloom::scale_shape scales = kvloom::scale_shape::head;
    };
};

struct fp8_token : fp8_unit
{
    static constexpr char const* name = "fp8_token";
    using numerics                    = kvloom::contract::aiter_per_token;
};

struct bf16_rows : bf16_cache
{
    static constexpr char const* name = "bf16_rows";
    using cache                       = kvloom::token_cache<bf16>;
};

struct fp8_rows : fp8_unit
{
    static constexpr char const* name = "fp8_rows";
    using cache                       = kvloom::token_cache<kvloom::fp8_e4m3>;
};

struct bf16_transposed : bf16_cache
{
    static constexpr char const* name = "bf16_transposed";
    using cache                       = kvloom::transposed_cache<bf16>;
};

struct bf16_packed : bf16_cache
{
    static constexpr char const* name = "bf16_packed";
    using cache                       = kvloom::packed_cache<kvloom::shuffled_cache<bf16>>;
};

struct heads
{
    char const* name;
    kvloom::row_sections sections;
};
constexpr heads shapes[] = {{"64/4", {64, 4, 4, 1}}, {"64/8", {64, 8, 4, 1}}, {"8/1", {8, 1, 1, 1}}};

enum class pattern { consecutive, from_slot_5, random };
constexpr char const* pattern_names[] = {"consecutive", "from_slot_5", "random"};

constexpr int dim       = 128;
constexpr int positions = device::real ? 131072 : 1024;
constexpr int pages     = device::real ? 1 << 17 : 64;
constexpr int tokens    = device::real ? 65536 : 256; // over all input sets
constexpr double cold   = device::real ? 200e6 : 1;   // bytes that one replay touches at least

/// Memory of one shape and element size, shared by its benchmarks.
template <class Problem>
struct scene
{
    using types   = kvloom::insert_types<Problem>;
    using element = typename types::element;

    explicit scene(heads const& h)
        : shape(h), row(i64(h.sections.q + 2 * h.sections.kv + h.sections.index_q + 1) * dim),
          rows(std::size_t(tokens * row)), q(std::size_t(tokens) * h.sections.q * dim),
          index_q(std::size_t(tokens) * h.sections.index_q * dim), gains(4 * dim),
          angles(std::size_t(positions) * 64), keys(std::size_t(pages) * h.sections.kv * 16 * dim),
          values(std::size_t(pages) * h.sections.kv * 16 * dim), index_keys(std::size_t(pages) * 16 * dim),
          scales(std::vector<float>(16, 0.7F)),
          found(types::found_scales ? std::size_t(2) * pages * h.sections.kv * 16 : 16), position(tokens),
          slot(tokens), k_out(std::size_t(tokens) * (h.sections.kv + 1) * dim)
    {
        fill(on, rows, 3);
        fill(on, angles, 4);
        fill(on, gains, 5);
        fill(on, keys, 6);
        fill(on, values, 7);
        on.finish();
    }

    void arrange(pattern p)
    {
        std::mt19937_64 random(20261129);
        std::vector<i64> page(pages);
        std::iota(page.begin(), page.end(), 0);
        std::shuffle(page.begin(), page.end(), random);
        std::vector<i64> places(tokens);
        std::vector<i64> slots(tokens);
        for (int i = 0; i < tokens; ++i) {
            int const at = p == pattern::from_slot_5 ? i + 5 : i;
            slots[i]     = p == pattern::random ? page[i % pages] * 16 + i64(random() % 16)
                                                : page[at / 16] * 16 + at % 16;
            places[i]    = p == pattern::random ? i64(random() % positions) : i % positions;
        }
        device::upload(slot.data(), slots.data(), slots.size() * sizeof(i64));
        device::upload(position.data(), places.data(), places.size() * sizeof(i64));
    }

    kvloom::insert_args<Problem> args(int count, int set) const
    {
        auto const& s  = shape.sections;
        i64 const from = i64(set) * count;
        kvloom::insert_args<Problem> a;
        a.tokens = count;
        kvloom::packed_row<Problem>(a, rows.data() + from * row, s);
        a.q_out            = {q.data() + from * s.q * dim, s.q, i64(s.q) * dim};
        a.index_q_out      = {index_q.data() + from * s.index_q * dim, s.index_q, i64(s.index_q) * dim};
        a.q_gain           = gains.data();
        a.k_gain           = gains.data() + dim;
        a.index_q_gain     = gains.data() + 2 * dim;
        a.index_k_gain     = gains.data() + 3 * dim;
        a.angles           = {angles.data(), positions, 64};
        a.positions        = position.data() + from;
        a.slots            = slot.data() + from;
        a.slot_count       = count;
        a.index_slots      = slot.data() + from;
        a.index_slot_count = count;
        set_caches(a);
        return a;
    }

    /// Caches and scales: K and V each in a storage of their own.
    template <class Args>
    void set_caches(Args& a) const
    {
        int const kv = shape.sections.kv;
        a.keys       = {keys.data(), pages, kv, i64(kv) * 16 * dim};
        a.values     = {values.data(), pages, kv, i64(kv) * 16 * dim};
        if (kvloom::strided_tokens_v<typename types::keys>) { // NHD
            a.keys.head_stride = a.values.head_stride = dim;
            a.keys.token_stride = a.values.token_stride = i64(kv) * dim;
        }
        a.keys.block_stride = a.values.block_stride = a.keys.page_stride * a.keys.block_pages;
        a.index_keys                                = {index_keys.data(), pages, 1, 16 * dim};
        a.key_scale                                 = scales.data();
        a.value_scale                               = scales.data() + 8;
        a.key_scales                                = kvloom::page_scales(found.data(), kv, 16);
        a.value_scales = kvloom::page_scales(found.data() + i64(pages) * kv * 16, kv, 16);
    }

    /// The same call by kernels of their own: norm and RoPE, then K and V, then the index key.
    void launch_unfused(int count, int set) const
    {
        auto const a     = args(count, set);
        auto const& s    = shape.sections;
        i64 const stride = i64(s.kv + 1) * dim;
        bf16* const out  = k_out.data() + i64(set) * count * stride;

        typename kvloom::qk_norm_rope<Problem>::args norm;
        norm.tokens = count;
        norm.q = a.q, norm.k = a.k, norm.index_q = a.index_q, norm.index_k = a.index_k;
        norm.q_gain = a.q_gain, norm.k_gain = a.k_gain;
        norm.index_q_gain = a.index_q_gain, norm.index_k_gain = a.index_k_gain;
        norm.angles      = a.angles;
        norm.positions   = a.positions;
        norm.q_out       = a.q_out;
        norm.index_q_out = a.index_q_out;
        norm.k_out       = {out, s.kv, stride};
        norm.index_k_out = {out + i64(s.kv) * dim, 1, stride};
        require(kvloom::qk_norm_rope<Problem>::launch(on.stream(), norm));

        typename kvloom::reshape_and_cache<Problem>::args cache;
        cache.tokens = cache.slot_count = count;
        cache.k                         = {out, s.kv, stride};
        cache.v                         = a.v;
        cache.slots                     = a.slots;
        set_caches(cache);
        require(kvloom::reshape_and_cache<Problem>::launch(on.stream(), cache));

        typename kvloom::index_insert<Problem>::args index;
        index.tokens = index.index_slot_count = count;
        index.index_k                         = {out + i64(s.kv) * dim, 1, stride};
        index.index_slots                     = a.index_slots;
        index.index_keys                      = a.index_keys;
        require(kvloom::index_insert<Problem>::launch(on.stream(), index));
    }

    /// The fewest bytes: each input read once, each output written once.
    double bytes(int count) const
    {
        auto const& s      = shape.sections;
        double const dense = 2.0 * double(row) + 2.0 * dim * (s.q + s.index_q + 1) + 2.0 * 64 + 16;
        double const caches =
            2.0 * s.kv * (dim * sizeof(element) + (types::found_scales ? sizeof(float) : 0));
        return count * (dense + caches);
    }

    device on;
    heads shape;
    i64 row;
    memory<bf16> rows, q, index_q, gains, angles;
    memory<element> keys, values;
    memory<bf16> index_keys;
    memory<float> scales, found;
    memory<i64> position, slot;
    memory<bf16> k_out;
};

template <class Problem>
void insert_rows(benchmark::State& state, scene<Problem>& s, pattern p, int count, bool fused)
{
    s.arrange(p);
    double const bytes = s.bytes(count);
    int const sets     = std::max(1, std::min({2048, tokens / count, int(cold / bytes) + 1}));
    auto const* from   = reinterpret_cast<char const*>(s.rows.data());
    auto* to           = reinterpret_cast<char*>(s.keys.data());
    double const copy  = device::real ? copy_seconds(s.on, from, to, bytes, sets, std::max(sets, 2)) : 0;
    double time        = 0;
    for ([[maybe_unused]] auto const& _ : state) {
        time = s.on.seconds(std::max(sets, 2), [&](int i) {
            if (fused) {
                require(kvloom::qk_norm_rope_insert<Problem>::launch(s.on.stream(), s.args(count, i % sets)));
            } else {
                s.launch_unfused(count, i % sets);
            }
        });
        state.SetIterationTime(time);
    }
    state.counters["bytes"] = bytes;
    if (device::real) {
        state.counters["us"]      = time * 1e6;
        state.counters["copy_us"] = copy * 1e6;
        state.counters["of_copy"] = copy / time;
        state.counters["GB/s"]    = bytes / time * 1e-9;
    }
}

/// Every pattern and number of tokens of one shape; one scene for all of them, made when the first runs and let go
/// with the last.
template <class Problem>
void add(heads const& h, bool fused = true)
{
    auto const shared = std::make_shared<std::unique_ptr<scene<Problem>>>();
    for (pattern const p : {pattern::consecutive, pattern::from_slot_5, pattern::random}) {
        for (int const count : {1, 8, 64, 512, 4096, 16384}) {
            if (count > tokens) {
                continue;
            }
            bool const last        = p == pattern::random && (count == 16384 || !device::real);
            std::string const name = std::string(fused ? "qk_norm_rope_insert/" : "unfused/") + Problem::name
                                     + "/" + h.name + "/" + pattern_names[int(p)] + "/T"
                                     + std::to_string(count);
            auto const run = [=](benchmark::State& state) {
                if (*shared == nullptr) {
                    *shared = std::make_unique<scene<Problem>>(h);
                }
                insert_rows<Problem>(state, **shared, p, count, fused);
                if (last) {
                    shared->reset();
                }
            };
            benchmark::RegisterBenchmark(name.c_str(), run)
                ->UseManualTime()
                ->Iterations(1)
                ->Unit(benchmark::kMicrosecond);
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    for (heads const& h : shapes) {
        add<bf16_cache>(h);
        add<fp8_unit>(h);
        add<fp8_static>(h);
        add<fp8_token>(h);
        add<bf16_cache>(h, false);
    }
    add<fp8_unit>(shapes[0], false);
    add<fp8_head>(shapes[0]);
    add<bf16_rows>(shapes[0]);
    add<fp8_rows>(shapes[0]);
    add<bf16_transposed>(shapes[0]);
    add<bf16_packed>(shapes[0]);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    benchmark::AddCustomContext("backend", device::real ? "gpu" : "CPU model: times say nothing about a GPU");
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
