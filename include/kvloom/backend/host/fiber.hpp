// SPDX-License-Identifier: MIT
// Fibers of the host backend: stacks, switching, and what the sanitizers must be told of it.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <sys/mman.h>
#include <cstddef>
#include <cstdint>
#include <new>

// The sanitizers' own interface; none of these is referred to where its sanitizer is off.
extern "C" {
void __sanitizer_start_switch_fiber(void** fake_stack, void const* bottom, std::size_t size);
void __sanitizer_finish_switch_fiber(void* fake_stack, void const** bottom, std::size_t* size);
void __asan_unpoison_memory_region(void const volatile* address, std::size_t size);
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(char const* file, int line);
void AnnotateIgnoreReadsEnd(char const* file, int line);
void AnnotateIgnoreWritesBegin(char const* file, int line);
void AnnotateIgnoreWritesEnd(char const* file, int line);
}

namespace kvloom {
inline namespace v0 {
namespace host {
namespace detail {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif
#else
inline constexpr bool address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool thread_sanitizer  = true;
#else
inline constexpr bool thread_sanitizer  = false;
#endif
#else
inline constexpr bool thread_sanitizer  = false;
#endif

/// While one lives, ThreadSanitizer does not see what its fiber reads and writes: the scheduler's own
/// bookkeeping, which only ever runs on one thread, must neither be reported nor order the kernel's accesses.
class hidden_from_thread_sanitizer
{
public:
    hidden_from_thread_sanitizer()
    {
        if constexpr (thread_sanitizer) {
            AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
            AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
        }
    }
    ~hidden_from_thread_sanitizer()
    {
        if constexpr (thread_sanitizer) {
            AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
            AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
        }
    }
    hidden_from_thread_sanitizer(hidden_from_thread_sanitizer const&)            = delete;
    hidden_from_thread_sanitizer& operator=(hidden_from_thread_sanitizer const&) = delete;
};

/// What this fiber did so far happens before whatever a fiber does after `observe` of the same object.
inline void publish([[maybe_unused]] void* object)
{
    if constexpr (thread_sanitizer) {
        __tsan_release(object);
    }
}

/// See `publish`.
inline void observe([[maybe_unused]] void* object)
{
    if constexpr (thread_sanitizer) {
        __tsan_acquire(object);
    }
}

/// Stacks for `count` fibers in one mapping. Pages cost nothing until used.
///
/// No page is protected: that would take two of the mappings of which Linux allows a process 65,530 for each
/// fiber. A word at the end of each stack shows that it has overflowed into the gap below.
class stack_set
{
public:
    static constexpr std::size_t bytes = 256 * 1024;
    static constexpr std::size_t gap   = 60 * 1024; // an odd number of pages apart: other sets of the TLB

    /// Throws std::bad_alloc.
    explicit stack_set(int count) : length_((bytes + gap) * std::size_t(count))
    {
        void* const memory = mmap(nullptr, length_, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            throw std::bad_alloc();
        }
        (void)madvise(memory, length_, MADV_NOHUGEPAGE);
        memory_ = static_cast<char*>(memory);
        for (int i = 0; i < count; ++i) {
            end_word(i) = untouched;
        }
    }
    ~stack_set()
    {
        if constexpr (address_sanitizer) {
            __asan_unpoison_memory_region(memory_, length_);
        }
        munmap(memory_, length_);
    }
    stack_set(stack_set const&)            = delete;
    stack_set& operator=(stack_set const&) = delete;

    char* bottom(int i) const { return memory_ + (bytes + gap) * std::size_t(i) + gap; }

    bool has_overflowed(int i) const { return end_word(i) != untouched; }

    /// The fiber to whose stack the address belongs; -1: to none.
    int owner(void const* address) const
    {
        std::size_t const at =
            reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory_);
        return at < length_ ? int(at / (bytes + gap)) : -1;
    }

private:
    static constexpr std::uint64_t untouched = 0x6b766c6f6f6d5354;

    std::uint64_t& end_word(int i) const { return *reinterpret_cast<std::uint64_t*>(bottom(i)); }

    char* memory_       = nullptr;
    std::size_t length_ = 0;
};

/// A flow of control with a stack of its own, or (never started) the thread's own.
struct fiber
{
    void* handle         = nullptr; // where it stopped
    fiber* target        = nullptr; // to what it switched then
    void (*body)(fiber&) = nullptr; // must not return
    void const* bottom   = nullptr; // of its stack
    std::size_t size     = 0;
    void* fake_stack     = nullptr; // AddressSanitizer's
    void* tsan           = nullptr; // ThreadSanitizer's

    fiber()                        = default;
    fiber(fiber const&)            = delete;
    fiber& operator=(fiber const&) = delete;
    ~fiber()
    {
        if constexpr (thread_sanitizer) {
            if (body != nullptr && tsan != nullptr) {
                __tsan_destroy_fiber(tsan);
            }
        }
    }
};

/// Puts down where the fiber stopped that has just switched to the present one.
__attribute__((always_inline)) inline fiber& note_stopped(boost::context::detail::transfer_t const& arrived)
{
    fiber& previous = *static_cast<fiber*>(arrived.data);
    previous.handle = arrived.fctx;
    return previous;
}

__attribute__((no_sanitize("thread"))) inline void enter_fiber(boost::context::detail::transfer_t arrived)
{
    fiber& previous = note_stopped(arrived);
    fiber& self     = *previous.target;
    if constexpr (address_sanitizer) {
        __sanitizer_finish_switch_fiber(nullptr, &previous.bottom, &previous.size);
    }
    self.body(self);
}

/// Lets `body(f)` start on stack `i` of `stacks` when `f` is first switched to.
inline void start_fiber(fiber& f, stack_set const& stacks, int i, void (*body)(fiber&))
{
    // Stacks lie whole pages apart: staggered tops keep their live ends out of each other's cache sets.
    std::size_t const staggered = stack_set::bytes - std::size_t(i % 16) * 256;

    f.body   = body;
    f.bottom = stacks.bottom(i);
    f.size   = stack_set::bytes;
    f.handle = boost::context::detail::make_fcontext(stacks.bottom(i) + staggered, staggered, &enter_fiber);
    if constexpr (thread_sanitizer) {
        f.tsan = __tsan_create_fiber(0);
    }
}

/// Makes `f` stand for the calling thread's own flow of control.
inline void adopt_thread(fiber& f)
{
    if constexpr (thread_sanitizer) {
        f.tsan = __tsan_get_current_fiber();
    }
}

template <bool Last>
__attribute__((always_inline)) inline void hop(fiber& from, fiber& to)
{
    from.target = &to;
    if constexpr (address_sanitizer) {
        __sanitizer_start_switch_fiber(Last ? nullptr : &from.fake_stack, to.bottom, to.size);
    }
    if constexpr (thread_sanitizer) {
        __tsan_switch_to_fiber(to.tsan, 1);
    }
    fiber& previous = note_stopped(boost::context::detail::jump_fcontext(to.handle, &from));
    if constexpr (address_sanitizer) {
        __sanitizer_finish_switch_fiber(from.fake_stack, &previous.bottom, &previous.size);
    }
}

template <bool Last>
__attribute__((noinline, no_sanitize("thread"))) void hop_unseen(fiber& from, fiber& to)
{
    hop<Last>(from, to);
}

/// Runs `to` in place of `from`, the present fiber; comes back when something switches to `from`. With `Last`
/// it never does.
///
/// Orders nothing for ThreadSanitizer. Inlined, so that no function returns between one switch and the next:
/// the processor predicts returns by a stack of its own, which a switch puts out of step. @cost about 6 ns
template <bool Last = false>
__attribute__((always_inline)) inline void switch_fiber(fiber& from, fiber& to)
{
    if constexpr (thread_sanitizer) {
        hop_unseen<Last>(from, to);
    } else {
        hop<Last>(from, to);
    }
}

} // namespace detail
} // namespace host
} // namespace v0
} // namespace kvloom
