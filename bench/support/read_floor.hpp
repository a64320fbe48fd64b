// SPDX-License-Identifier: MIT
// The floors of kernels that read a paged cache: the time in which the same bytes are read in order, and that in which
// the same spans are read page by page in the order of a page table, by a kernel that does nothing with them.
#pragma once

#include "kvloom/core/vec.hpp"
#include "kvloom/group/arch.hpp"
#include "kvloom/group/launch_bounds.hpp"
#include "support/device.hpp"

#include <array>
#include <map>

namespace kvloom_bench {

inline constexpr int tile_bytes = 16384; ///< that a block reads in one step

/// Tiles one after the other.
struct tiles_in_order
{
    static constexpr int span = tile_bytes;

    char const* data = nullptr;
    int tiles        = 0;

    KVLOOM_FN int steps() const { return tiles; }
    KVLOOM_FN int spans(int) const { return 1; }
    KVLOOM_FN char const* at(int step, int) const { return data + kvloom::i64(step) * tile_bytes; }
};

/// The spans of `Span` bytes that decode reads, head by head, of K and of V in turn, pages as the list has them.
template <int Span>
struct spans_of_pages
{
    static constexpr int span = Span;
    static constexpr int most = tile_bytes / Span;
    static_assert(tile_bytes % Span == 0 && most <= 32, "spans_of_pages: a lane copies a span of a step");

    char const* keys   = nullptr;
    char const* values = nullptr;
    int const* ids     = nullptr; ///< [pages]
    int pages          = 0;
    int heads          = 0;

    KVLOOM_FN int groups() const { return (pages + most - 1) / most; }
    KVLOOM_FN int first(int step) const { return step / 2 % groups() * most; }
    KVLOOM_FN int steps() const { return 2 * heads * groups(); }
    KVLOOM_FN int spans(int step) const
    {
        int const rest = pages - first(step);
        return rest < most ? rest : most;
    }
    KVLOOM_FN char const* at(int step, int number) const
    {
        kvloom::i64 const page = ids[first(step) + number];
        return (step % 2 == 0 ? keys : values) + (page * heads + step / 2 / groups()) * Span;
    }
};

template <class Source>
struct read_args
{
    Source source;
    kvloom::u32* sink = nullptr;
};

/// For machines that copy spans to shared memory: one wave copies, the other waits for what has come.
template <class Source>
struct read_by_copies
{
    static constexpr kvloom::launch_bounds bounds = {64, 2, 1, true};
    static constexpr int stages                   = 6;

    struct shared
    {
        char ring[stages][tile_bytes];
        kvloom::u64 full[stages];
        kvloom::u64 empty[stages];
    };

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, read_args<Source> const& a) const
    {
        using copies    = typename Block::wave_type::copies;
        auto const wave = block.wave();
        auto& memory    = block.template shared<shared>();
        wave.release_dependents();
        if (block.thread() < stages) {
            copies::prepare(&memory.full[block.thread()], 1);
            copies::prepare(&memory.empty[block.thread()], 1);
        }
        copies::publish();
        block.barrier();
        wave.dependency();
        kvloom::i64 const steps = a.source.steps();
        int const first         = int(steps * block.index() / block.count());
        int const last          = int(steps * (block.index() + 1) / block.count());
        if (block.wave_index() == 0) {
            copy(wave, a.source, memory, first, last);
        } else {
            release(wave, memory, first, last);
        }
    }

private:
    template <class Wave>
    KVLOOM_FN static void copy(Wave wave, Source const& source, shared& memory, int first, int last)
    {
        using copies       = typename Wave::copies;
        int const lane     = wave.lane();
        auto const address = [&](int step) -> char const* {
            return step < last && lane < source.spans(step) ? source.at(step, lane) : nullptr;
        };
        char const* next = address(first);
        for (int step = first; step < last; ++step) {
            int const stage        = (step - first) % stages;
            kvloom::u32 const turn = kvloom::u32((step - first) / stages) & 1U;
            char const* const from = next;
            next                   = address(step + 1);
            copies::wait(wave, &memory.empty[stage], turn ^ 1U);
            if (lane == 0) {
                copies::expect(&memory.full[stage], source.spans(step) * Source::span);
            }
            wave.meet();
            if (from != nullptr) {
                copies::copy(memory.ring[stage] + lane * Source::span, from, Source::span,
                             &memory.full[stage]);
            }
        }
    }

    template <class Wave>
    KVLOOM_FN static void release(Wave wave, shared& memory, int first, int last)
    {
        using copies = typename Wave::copies;
        for (int step = first; step < last; ++step) {
            int const stage = (step - first) % stages;
            copies::wait(wave, &memory.full[stage], kvloom::u32((step - first) / stages) & 1U);
            if (wave.lane() == 0) {
                copies::arrive(&memory.empty[stage]);
            }
        }
    }
};

/// For all others: 16-byte loads into registers.
template <class Source>
struct read_by_loads
{
    static constexpr kvloom::launch_bounds bounds = {256, 4, 1, true};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, read_args<Source> const& a) const
    {
        using vector    = kvloom::vec<kvloom::u32, 4>;
        auto const wave = block.wave();
        wave.release_dependents();
        wave.dependency();
        kvloom::u32 all = 0;
        for (int step = block.index(); step < a.source.steps(); step += block.count()) {
            int const spans = a.source.spans(step);
            KVLOOM_UNROLL
            for (int i = 0; i < tile_bytes / (16 * bounds.threads); ++i) {
                int const byte = (i * bounds.threads + block.thread()) * 16;
                if (byte / Source::span < spans) {
                    auto const words = wave.template load<vector>(a.source.at(step, byte / Source::span)
                                                                  + byte % Source::span);
                    all ^= words[0] ^ words[1] ^ words[2] ^ words[3];
                }
            }
        }
        if (all == 0x9e3779b9U) { // so that the compiler must load
            wave.store(a.sink, all);
        }
    }
};

/// Floors, measured when first asked for and kept for the same sizes.
class read_floors
{
public:
    /// Seconds to read `tiles` tiles in order, in chains of launches over `sets` sets of tiles.
    double in_order(device const& on, char const* from, int tiles, int sets, int launches)
    {
        return seconds({tile_bytes, 1, tiles}, on, launches, [&](int i) {
            return tiles_in_order{from + kvloom::i64(i % sets) * tiles * tile_bytes, tiles};
        });
    }

    /// Seconds to read the spans of a set, whose page ids follow those of the set before.
    template <int Span>
    double of_spans(device const& on, spans_of_pages<Span> const& spans, int sets, int launches)
    {
        return seconds({Span, spans.heads, spans.pages}, on, launches, [&](int i) {
            auto set = spans;
            set.ids += kvloom::i64(i % sets) * spans.pages;
            return set;
        });
    }

private:
    using sizes = std::array<int, 3>;

    template <class Sources>
    double seconds(sizes const& key, device const& on, int launches, Sources const& source)
    {
        auto const found = known_.find(key);
        if (found != known_.end()) {
            return found->second;
        }
        double const time  = on.seconds(launches, [&](int i) { start(on.stream(), source(i)); });
        return known_[key] = time;
    }

    template <class Stream, class Source>
    void start(Stream const& stream, Source const& source) const
    {
        read_args<Source> const args{source, sink_.data()};
        kvloom::i64 const many = multiprocessors_of(stream);
        kvloom::i64 const most = source.steps();
        if constexpr (Stream::has_copies) {
            if (arch_of(stream) == kvloom::arch_id::sm_90) {
                require(launch(stream, read_by_copies<Source>{}, args, std::min(2 * many, most)));
                return;
            }
        }
        require(launch(stream, read_by_loads<Source>{}, args, std::min(8 * many, most)));
    }

    memory<kvloom::u32> sink_{1};
    std::map<sizes, double> known_;
};

} // namespace kvloom_bench
