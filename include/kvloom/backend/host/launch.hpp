// SPDX-License-Identifier: MIT
// The host backend's streams, and launching kernels on them.
#pragma once

#include "kvloom/backend/host/block.hpp"
#include "kvloom/core/status.hpp"
#include "kvloom/group/launch_bounds.hpp"

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace kvloom {
inline namespace v0 {
namespace host {

namespace detail {

/// What a worker must know of a launch.
struct launch_plan
{
    void (*run)(gpu_thread&) noexcept;
    void const* launch; // for `run`
    int wave_size;
    int threads;
    int blocks;
    std::size_t shared_bytes;
    std::size_t shared_alignment;
};

/// Workers at rest, with their fibers. Any thread may call.
class worker_pool
{
public:
    /// A worker for blocks of at least `threads` threads. Throws std::bad_alloc.
    std::unique_ptr<worker> take(int wave_size, int threads)
    {
        std::unique_ptr<worker> found;
        {
            std::lock_guard<std::mutex> const lock(mutex_);
            if (!idle_.empty()) {
                found = std::move(idle_.back());
                idle_.pop_back();
            }
        }
        if (found == nullptr || found->capacity < threads) {
            found.reset(); // its memory first
            found = std::make_unique<worker>(wave_size, threads);
        }
        return found;
    }
    void give(std::unique_ptr<worker> w)
    {
        std::lock_guard<std::mutex> const lock(mutex_);
        idle_.push_back(std::move(w));
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<worker>> idle_;
};

/// Fibers that one launch may have; ThreadSanitizer knows no more than 8,128 threads.
inline constexpr int most_fibers = thread_sanitizer ? 4096 : 131072;

inline int worker_count(launch_plan const& plan, int wanted)
{
    int const cores   = int(std::thread::hardware_concurrency());
    int const limit   = most_fibers / plan.threads;
    int const workers = wanted > 0 ? wanted : cores > 0 ? cores : 1;
    int const useful  = workers < plan.blocks ? workers : plan.blocks;
    return useful < limit ? useful : limit;
}

inline void prepare_worker(worker& w, launch_plan const& plan)
{
    w.run           = plan.run;
    w.launch        = plan.launch;
    w.block_threads = plan.threads;
    w.block_waves   = (plan.threads + plan.wave_size - 1) / plan.wave_size;
    w.blocks        = plan.blocks;
    w.shared.allocate(plan.shared_bytes, plan.shared_alignment);
}

/// Runs the plan's blocks on several workers, the first of them on the calling thread. Throws std::bad_alloc.
///
/// Blocks go to whichever worker is free, but under ThreadSanitizer in turn: neighbouring blocks are then on
/// different threads, and a race between them is seen.
inline void run_plan(launch_plan const& plan, worker_pool& pool, int wanted)
{
    int const count = worker_count(plan, wanted);
    std::vector<std::unique_ptr<worker>> workers;
    for (int i = 0; i < count; ++i) {
        workers.push_back(pool.take(plan.wave_size, plan.threads));
        prepare_worker(*workers.back(), plan);
    }

    std::atomic<i64> untaken{0};
    auto const work = [&](int number) {
        worker& w = *workers[std::size_t(number)];
        adopt_thread(w.home);
        active_worker = &w;
        if constexpr (thread_sanitizer) {
            for (i64 i = number; i < plan.blocks; i += count) {
                run_block(w, int(i));
            }
        } else {
            for (i64 i; (i = untaken.fetch_add(1, std::memory_order_relaxed)) < plan.blocks;) {
                run_block(w, int(i));
            }
        }
        active_worker = nullptr;
    };

    std::vector<std::thread> helpers;
    helpers.reserve(std::size_t(count));
    try {
        while (int(helpers.size()) + 1 < count) {
            helpers.emplace_back(work, int(helpers.size()) + 1);
        }
    } catch (std::exception const&) { // no more threads: the calling one does their share
    }
    work(0);
    for (int i = int(helpers.size()) + 1; i < count; ++i) {
        work(i);
    }
    for (std::thread& helper : helpers) {
        helper.join();
    }
    for (std::unique_ptr<worker>& w : workers) {
        w->shared.reset();
        pool.give(std::move(w));
    }
}

template <class Machine, class Kernel, class Args>
struct bound_kernel
{
    Kernel const* kernel;
    Args const* args;

    static void run(gpu_thread& thread) noexcept
    {
        bound_kernel const& bound = *static_cast<bound_kernel const*>(thread.home->launch);
        (*bound.kernel)(block<Machine, Kernel::bounds.threads>{&thread}, *bound.args);
    }
};

} // namespace detail

/// Where kernels run: the CPU as a model of `Machine` (machine.hpp). Copies share their fibers. Any thread
/// may launch.
template <class Machine>
class stream
{
public:
    static constexpr bool has_transpose = wave<Machine>::has_transpose;
    static constexpr int wave_size      = wave<Machine>::size;
    static constexpr bool may_be_narrow =
        false; ///< whether waves of some of its machines have half as many lanes
    static constexpr bool has_copies =
        copies_in_bulk(Machine::arch); ///< of whole spans, as rings of pages need

    /// CPU threads that a launch uses; 0: as many as there are cores.
    int workers = 0;

    stream() = default;
    explicit stream(int count) : workers(count) {}

    detail::worker_pool& pool() const { return *pool_; }

private:
    std::shared_ptr<detail::worker_pool> pool_ = std::make_shared<detail::worker_pool>();
};

/// The architecture to tune for: the stream's model.
template <class Machine>
arch_id arch_of(stream<Machine> const&)
{
    return Machine::arch;
}

/// Multiprocessors of the model: few, so that a grid made for it gives each block some work.
template <class Machine>
int multiprocessors_of(stream<Machine> const&)
{
    return 2;
}

/// Runs `kernel` in `blocks` blocks of `Kernel::bounds.threads` threads and waits for its end. No blocks:
/// nothing to do, success.
///
/// An exception that leaves the kernel ends the program. @cost of a first launch about 4 us a thread; later
/// ones keep the fibers
template <class Machine, class Kernel, class Args>
status launch(stream<Machine> const& to, Kernel const& kernel, Args const& args, i64 blocks)
{
    static_assert(is_kernel_v<Kernel>, "launch: a kernel declares bounds and struct shared");
    static_assert(std::is_trivially_copyable_v<Args>, "launch: the arguments must be trivially copyable");
    using shared_type = typename Kernel::shared;
    using bound_type  = detail::bound_kernel<Machine, Kernel, Args>;

    if (blocks < 0) {
        return {fault::too_small, "blocks", blocks, 0};
    }
    if (blocks > 0x7fffffff) {
        return {fault::out_of_range, "blocks", blocks, i64(0x80000000)};
    }
    if (blocks == 0) {
        return {};
    }
    bound_type const bound{&kernel, &args};
    detail::launch_plan const plan{&bound_type::run,       &bound,      Machine::wave_size,
                                   Kernel::bounds.threads, int(blocks), sizeof(shared_type),
                                   alignof(shared_type)};
    try {
        detail::run_plan(plan, to.pool(), to.workers);
    } catch (std::exception const&) {
        return {fault::launch_failed, "no memory for the fibers of a launch", 0, 0};
    }
    return {};
}

} // namespace host
} // namespace v0
} // namespace kvloom
