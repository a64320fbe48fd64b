// SPDX-License-Identifier: MIT
// Paged decode, alone and behind the insert of a step's new tokens: time, bytes, and share of two floors measured in
// the same run, cold, in chains of launches.
#include "support/decode_scene.hpp"

#include <benchmark/benchmark.h>

namespace {

using namespace kvloom_bench;
using kvloom::bf16;
using kvloom::fp8_e4m3;

template <class T>
struct shuffled_pages : kvloom::decode_problem
{
    using key_cache   = kvloom::shuffled_keys<T, head_size, page_tokens>;
    using value_cache = kvloom::shuffled_values<T, head_size, page_tokens>;
    using table       = kvloom::page_list<int>;

    struct insertion : kvloom::insert_problem
    {
        using cache = kvloom::shuffled_cache<T, page_tokens>;
        using numerics =
            kvloom::conditional_t<sizeof(T) == 1, kvloom::contract::aiter_unit, kvloom::contract::aiter_auto>;
    };
};

struct bf16_cache : shuffled_pages<bf16>
{
    static constexpr char const* name = "bf16";
};

struct bf16_free : bf16_cache
{
    static constexpr char const* name = "bf16_free";
    using folding                     = kvloom::fold::free;
};

struct bf16_last_arriver : bf16_cache
{
    static constexpr char const* name = "bf16_last_arriver";
    using merge_strategy              = kvloom::merging::last_arriver;
};

struct fp8_cache : shuffled_pages<fp8_e4m3>
{
    static constexpr char const* name = "fp8_e4m3";
};

struct fp8_free : fp8_cache
{
    static constexpr char const* name = "fp8_e4m3_free";
    using folding                     = kvloom::fold::free;
};

struct fp8_last_arriver : fp8_cache
{
    static constexpr char const* name = "fp8_e4m3_last_arriver";
    using merge_strategy              = kvloom::merging::last_arriver;
};

constexpr int k = 1024;

// Query heads, K and V heads, query tokens, batch, context. The largest caches have 17 GB.
constexpr decode_case one_token[] = {
    {64, 8, 1, 1, k},       {64, 8, 1, 1, 4 * k},   {64, 8, 1, 1, 8 * k},    {64, 8, 1, 1, 32 * k},
    {64, 8, 1, 1, 128 * k}, {64, 8, 1, 8, k},       {64, 8, 1, 8, 8 * k},    {64, 8, 1, 8, 128 * k},
    {64, 8, 1, 32, k},      {64, 8, 1, 32, 4 * k},  {64, 8, 1, 32, 8 * k},   {64, 8, 1, 32, 128 * k},
    {64, 8, 1, 128, k},     {64, 8, 1, 128, 8 * k}, {64, 8, 1, 128, 32 * k}, {64, 8, 1, 256, k},
    {64, 8, 1, 256, 8 * k}, {64, 4, 1, 1, 8 * k},   {64, 4, 1, 8, 8 * k},    {64, 4, 1, 32, 8 * k},
    {64, 4, 1, 128, 8 * k}, {32, 8, 1, 1, 8 * k},   {32, 8, 1, 32, 8 * k},   {8, 1, 1, 1, k},
    {8, 1, 1, 8, 128 * k},  {8, 1, 1, 32, 8 * k},   {8, 1, 1, 256, 4 * k},
};

constexpr decode_case several_tokens[] = {
    {64, 8, 2, 32, 8 * k},  {64, 8, 4, 1, 8 * k},  {64, 8, 4, 32, 8 * k},
    {64, 8, 4, 128, 8 * k}, {64, 8, 8, 8, 8 * k},  {64, 8, 8, 32, 8 * k},
    {64, 4, 4, 32, 8 * k},  {64, 4, 8, 32, 8 * k}, {8, 1, 4, 32, 8 * k},
};

constexpr decode_case ragged[] = {
    {64, 8, 1, 8, 4 * k, spread::ragged},   {64, 8, 1, 32, 4 * k, spread::ragged},
    {64, 8, 1, 128, 4 * k, spread::ragged}, {64, 8, 1, 32, 32 * k, spread::ragged},
    {64, 8, 4, 32, 8 * k, spread::ragged},  {8, 1, 1, 256, 32 * k, spread::ragged},
};

constexpr decode_case behind_insert[] = {
    {64, 8, 1, 1, 8 * k, spread::uniform, work::insert_and_decode},
    {64, 8, 1, 32, 8 * k, spread::uniform, work::insert_and_decode},
    {64, 8, 4, 32, 8 * k, spread::uniform, work::insert_and_decode},
    {64, 8, 1, 128, 4 * k, spread::ragged, work::insert_and_decode},
};

// Of the fp8 cache, and of other ways to fold and to merge.
constexpr decode_case few[] = {
    {64, 8, 1, 1, 8 * k},
    {64, 8, 1, 32, 8 * k},
    {64, 8, 4, 32, 8 * k},
    {64, 8, 1, 32, 4 * k, spread::ragged},
};

constexpr decode_case more[] = {
    {64, 8, 1, 1, k},      {64, 8, 1, 8, 128 * k}, {64, 8, 1, 128, 8 * k},
    {64, 4, 4, 32, 8 * k}, {8, 1, 1, 32, 8 * k},
};

constexpr decode_case for_the_model[] = {
    {8, 1, 1, 2, 48, spread::ragged},
    {8, 1, 2, 2, 48, spread::ragged, work::insert_and_decode},
};

constexpr double most_checked = 64 << 20; // bytes of K and V

/// Those of this run.
read_floors& floors()
{
    static read_floors all;
    return all;
}

template <class Problem>
void decode_step(benchmark::State& state, decode_case const& c)
{
    decode_scene<Problem> const scene(c);
    double time = 0;
    for ([[maybe_unused]] auto const& _ : state) {
        time = scene.on.seconds(scene.launches(), [&](int i) { scene.launch(i % scene.sets()); });
        state.SetIterationTime(time);
    }
    if (scene.cache_bytes() <= most_checked) {
        state.counters["error"] = scene.error();
    }
    state.counters["bytes"] = scene.bytes();
    if (device::real) {
        double const floor              = scene.floor_seconds(floors());
        double const span_floor         = scene.span_floor_seconds(floors());
        state.counters["us"]            = time * 1e6;
        state.counters["floor_us"]      = floor * 1e6;
        state.counters["span_floor_us"] = span_floor * 1e6;
        state.counters["share"]         = floor / time;
        state.counters["share_of_span"] = span_floor / time;
        state.counters["GB/s"]          = scene.bytes() / time * 1e-9;
    }
}

std::string name_of(char const* problem, decode_case const& c)
{
    return std::string(c.step == work::decode ? "paged_decode/" : "insert_and_decode/") + problem + "/"
           + std::to_string(c.query_heads) + "/" + std::to_string(c.kv_heads) + "/q"
           + std::to_string(c.query_tokens) + (c.lengths == spread::ragged ? "/ragged/B" : "/uniform/B")
           + std::to_string(c.batch) + "/L" + std::to_string(c.context);
}

template <class Problem, int Count>
void add(decode_case const (&cases)[Count])
{
    for (decode_case const& c : cases) {
        auto const run = [c](benchmark::State& state) { decode_step<Problem>(state, c); };
        benchmark::RegisterBenchmark(name_of(Problem::name, c).c_str(), run)
            ->UseManualTime()
            ->Iterations(1)
            ->Unit(benchmark::kMicrosecond);
    }
}

void add_all()
{
    add<bf16_cache>(one_token);
    add<bf16_cache>(several_tokens);
    add<bf16_cache>(ragged);
    add<bf16_cache>(behind_insert);
    add<bf16_free>(few);
    add<bf16_last_arriver>(few);
    add<fp8_cache>(few);
    add<fp8_cache>(more);
    add<fp8_cache>(behind_insert);
    add<fp8_free>(few);
    add<fp8_last_arriver>(few);
}

} // namespace

int main(int argc, char** argv)
{
    if (device::real) {
        add_all();
    } else {
        add<bf16_cache>(for_the_model);
        add<fp8_cache>(for_the_model);
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    benchmark::AddCustomContext("backend", device::real ? "gpu" : "CPU model: times say nothing about a GPU");
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
