// SPDX-License-Identifier: MIT
// Checks of dequant scales for validate() of the kernels that read pages, and their launch.
#pragma once

#include "kvloom/kernel/checks.hpp"
#include "kvloom/kernel/overlap.hpp"
#include "kvloom/kernel/page_rows.hpp"

#if !KVLOOM_RTC // host functions: run-time compilers take the functors alone

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Scales of any kind of a cache of `pages` pages of `page_size` tokens.
template <class Scale>
void check_page_scale(checks& check, [[maybe_unused]] Scale const& scale, [[maybe_unused]] int pages,
                      [[maybe_unused]] int heads, [[maybe_unused]] int page_size,
                      [[maybe_unused]] scale_names const& names)
{
    if constexpr (is_same_v<Scale, scale_view>) {
        check_scales(check, scale, pages, heads, page_size, names);
    } else if constexpr (!is_same_v<Scale, no_scale>) {
        check.pointer(names.data, scale.data, sizeof(float));
    }
}

/// A launch of `items` items, `a_block` of them for a block in one turn; beyond a million blocks they take
/// turns.
template <class Stream, class Kernel, class Work>
status start_pages(Stream const& stream, Kernel kernel, Work const& work, i64 items, i64 a_block)
{
    i64 const blocks = (items + a_block - 1) / a_block;
    i64 const most   = i64(1) << 20;
    return launch(stream, kernel, work, blocks < most ? blocks : most);
}

} // namespace detail
} // namespace v0
} // namespace kvloom

#endif
