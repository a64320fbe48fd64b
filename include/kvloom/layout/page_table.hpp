// SPDX-License-Identifier: MIT
// Page tables: which pages hold the tokens of a sequence.
#pragma once

#include "kvloom/core/types.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// A page id in 32 bits: -1 for ids beyond 31 bits, so that none is folded onto a page that exists.
template <class Id>
KVLOOM_FN constexpr int narrow_page_id(Id id)
{
    return id < 0 || id > Id(0x7fffffff) ? -1 : int(id);
}

} // namespace detail

/// A run of pages of one sequence, the first of which holds token `first_token`.
template <class Id>
struct page_run
{
    Id const* ids   = nullptr;
    int count       = 0;
    int first_token = 0;

    using bits = conditional_t<sizeof(Id) == 8, u64, u32>;

    /// The id of page `page`, which is at least 0 and less than count, the same for all lanes; negative for ids beyond 31
    /// bits.
    template <class Wave>
    KVLOOM_FN int id(Wave wave, int page) const
    {
        return detail::narrow_page_id(bit_cast<Id>(wave.template load_uniform<bits>(ids + page)));
    }

    /// The same where each lane asks for another page.
    template <class Wave>
    KVLOOM_FN int id_of_lane(Wave wave, int page) const
    {
        return detail::narrow_page_id(bit_cast<Id>(wave.template load<bits>(ids + page)));
    }
};

/// Pages that follow each other in the cache.
struct contiguous_run
{
    i64 first       = 0;
    int count       = 0;
    int first_token = 0;

    template <class Wave>
    KVLOOM_FN int id(Wave, int page) const
    {
        return detail::narrow_page_id(first + page);
    }
    template <class Wave>
    KVLOOM_FN int id_of_lane(Wave wave, int page) const
    {
        return id(wave, page);
    }
};

/// A page table with one row of page ids for each sequence.
template <class Id>
struct block_table
{
    static_assert(is_index_v<Id>, "block_table: a page id must be a signed integer of 32 or 64 bits");

    using run_type = page_run<Id>;

    Id const* ids = nullptr;
    int sequences = 0;
    int width     = 0; ///< ids to a sequence
    i64 stride    = 0; ///< ids from one sequence's first to the next one's

    KVLOOM_FN page_run<Id> run(int sequence) const { return {ids + sequence * stride, width, 0}; }

    /// Pages of a sequence, at most.
    KVLOOM_FN int most_pages() const { return width; }

    /// The slot of token `position` of `sequence` in pages of `page_size` tokens; -1 where the table holds no
    /// page for it.
    KVLOOM_FN i64 slot(int sequence, i64 position, int page_size) const
    {
        if (sequence < 0 || sequence >= sequences || position < 0 || position >= i64(width) * page_size) {
            return -1;
        }
        i64 const id = ids[sequence * stride + position / page_size];
        return id < 0 ? -1 : id * page_size + position % page_size;
    }
};

/// A page table whose sequences have their ids one after the other (CSR).
template <class Id>
struct page_list
{
    static_assert(is_index_v<Id>, "page_list: a page id must be a signed integer of 32 or 64 bits");

    using run_type = page_run<Id>;

    Id const* ids     = nullptr;
    int const* starts = nullptr; ///< [sequences + 1], ascending: the first id of each sequence
    int sequences     = 0;
    int most          = 0; ///< ids of a sequence, at most

    KVLOOM_FN int most_pages() const { return most; }
};

/// No table: sequence s has the `pages` pages from s * pages on.
struct contiguous
{
    using run_type = contiguous_run;

    int sequences = 0;
    int pages     = 0; ///< of a sequence

    KVLOOM_FN int most_pages() const { return pages; }
};

/// The run of pages of a sequence, the same for all lanes.
template <class Wave, class Id>
KVLOOM_FN page_run<Id> find_run(Wave, block_table<Id> const& table, int sequence)
{
    return table.run(sequence);
}
template <class Wave, class Id>
KVLOOM_FN page_run<Id> find_run(Wave wave, page_list<Id> const& table, int sequence)
{
    int const first = int(wave.template load_uniform<u32>(table.starts + sequence));
    int const last  = int(wave.template load_uniform<u32>(table.starts + sequence + 1));
    return {table.ids + first, last - first, 0};
}
template <class Wave>
KVLOOM_FN contiguous_run find_run(Wave, contiguous const& table, int sequence)
{
    return {i64(sequence) * table.pages, table.pages, 0};
}

} // namespace v0
} // namespace kvloom
