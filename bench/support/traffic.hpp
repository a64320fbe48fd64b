// SPDX-License-Identifier: MIT
// Random contents for device memory, and the copy that is a benchmark's floor.
#pragma once

#include "kvloom/core/bf16.hpp"
#include "kvloom/core/convert.hpp"
#include "kvloom/group/launch_bounds.hpp"
#include "support/device.hpp"

namespace kvloom_bench {

struct fill_args
{
    kvloom::u32* words = nullptr;
    kvloom::i64 count  = 0;
    kvloom::u32 seed   = 0;
};

/// Random values of T in [-1, 1), as many as a word holds.
template <class T>
KVLOOM_FN kvloom::u32 random_word(kvloom::u32 r)
{
    if constexpr (sizeof(T) == 1) {
        auto const value = [r](int byte) { return float(r >> 8 * byte & 0xff) / 128.0F - 1.0F; };
        return kvloom::u32(kvloom::narrow_pair<T>(value(0), value(1)))
               | kvloom::u32(kvloom::narrow_pair<T>(value(2), value(3))) << 16;
    } else {
        return kvloom::narrow_pair<T>(float(r & 0xffff) / 32768.0F - 1.0F, float(r >> 16) / 32768.0F - 1.0F);
    }
}

/// Words of random values of T.
template <class T>
struct fill_random
{
    static constexpr kvloom::launch_bounds bounds = {256, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, fill_args const& a) const
    {
        kvloom::i64 const step = kvloom::i64(block.count()) * Block::threads;
        for (kvloom::i64 i = kvloom::i64(block.index()) * Block::threads + block.thread(); i < a.count;
             i += step) {
            kvloom::u64 z = kvloom::u64(i + 1) * 0x9E3779B97F4A7C15U + a.seed;
            z             = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
            z             = (z ^ z >> 27) * 0x94D049BB133111EBU;
            auto const r  = kvloom::u32(z ^ z >> 31);
            a.words[i]    = random_word<T>(r);
        }
    }
};

template <class T>
void fill(device const& on, memory<T> const& target, kvloom::u32 seed)
{
    fill_args const args{reinterpret_cast<kvloom::u32*>(target.data()),
                         kvloom::i64(target.count() * sizeof(T) / 4), seed};
    kvloom::i64 const blocks = std::min<kvloom::i64>(2112, (args.count + 255) / 256);
    require(launch(on.stream(), fill_random<T>{}, args, blocks));
}

struct copy_args
{
    char const* from    = nullptr;
    char* to            = nullptr;
    kvloom::i64 vectors = 0;
};

/// One 16-byte vector a thread.
struct copy_vectors
{
    static constexpr kvloom::launch_bounds bounds = {512, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, copy_args const& a) const
    {
        using vector        = kvloom::vec<kvloom::u32, 4>;
        auto const wave     = block.wave();
        kvloom::i64 const i = kvloom::i64(block.index()) * Block::threads + block.thread();
        wave.dependency();
        if (i < a.vectors) {
            wave.store(a.to + i * 16, wave.template load<vector>(a.from + i * 16));
        }
    }
};

/// Seconds of the faster of a copy kernel and the runtime's copy that read and write `bytes` together, cold,
/// in chains of `sets`.
inline double copy_seconds(device const& on, char const* from, char* to, double bytes, int sets, int launches)
{
    auto const half    = kvloom::i64(bytes / 2 + 15) / 16 * 16;
    auto const kernel  = on.seconds(launches, [&](int i) {
        copy_args const args{from + i % sets * half, to + i % sets * half, half / 16};
        require(launch(on.stream(), copy_vectors{}, args, (args.vectors + 511) / 512));
    });
    auto const runtime = on.seconds(
        launches, [&](int i) { on.copy(to + i % sets * half, from + i % sets * half, std::size_t(half)); });
    return std::min(kernel, runtime);
}

} // namespace kvloom_bench
