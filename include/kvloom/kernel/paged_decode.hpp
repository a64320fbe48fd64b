// SPDX-License-Identifier: MIT
// Paged decode: attention of a few query tokens of each sequence over a paged cache.
#pragma once

#include "kvloom/kernel/decode_kernel.hpp"
#include "kvloom/kernel/decode_merge.hpp"
#include "kvloom/kernel/decode_plan.hpp"
#include "kvloom/kernel/decode_validate.hpp"

#if !KVLOOM_RTC // host functions: run-time compilers take the functors alone

namespace kvloom {
inline namespace v0 {

namespace detail {

/// Zeros the counters of a workspace.
struct counters_at
{
    u32* data = nullptr;
    i64 count = 0;
};
struct clear_counters
{
    static constexpr launch_bounds bounds = {256, 1, 1, true};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, counters_at const& counters) const
    {
        auto const wave = block.wave();
        wave.release_dependents();
        wave.dependency();
        for (i64 i = i64(block.index()) * bounds.threads + block.thread(); i < counters.count;
             i += i64(block.count()) * bounds.threads) {
            wave.store(counters.data + i, 0U);
        }
    }
};

} // namespace detail

/// Attention over a paged cache. In each step of the model, once: `plan`; in each of its layers: `launch`.
///
/// Both read lengths, page tables and scales on the device and nothing on the host, so that a captured graph stays right
/// when lengths have grown within the table. Neither allocates or synchronises.
template <class Problem>
struct paged_decode
{
    using types = decode_types<Problem>;
    using args  = decode_args<Problem>;

    /// Blocks of a grid that suits the machine: two for each of its multiprocessors.
    template <class Stream>
    static int blocks(Stream const& stream)
    {
        return 2 * multiprocessors_of(stream);
    }

    /// Bytes of the workspace for these arguments: a function of the problem, of heads, of the number of sequences, of
    /// query tokens at most, of what the table can hold and of the grid; never of lengths.
    template <class Stream>
    static i64 workspace_bytes(Stream const&, args const& a)
    {
        if (a.sequences <= 0 || a.keys.heads <= 0 || a.query.heads < a.keys.heads || a.workspace.blocks <= 0
            || detail::most_tokens(a.tokens) <= 0) {
            return 0; // validate() says which
        }
        return with_rows<Stream>(a, [&](auto rows) { return work_of<rows.value>(a).sections.bytes; });
    }

    /// The first argument that breaks a rule, or none; reads no device memory.
    template <class Stream>
    static status validate(Stream const& stream, args const& a)
    {
        status const valid = detail::validate_decode<Problem>(a);
        if (!valid.ok() || a.sequences == 0) {
            return valid;
        }
        detail::checks check;
        check.at_least("workspace.bytes", a.workspace.bytes, workspace_bytes(stream, a));
        return check.first;
    }

    /// Readies a new workspace. Once; every launch leaves it ready.
    template <class Stream>
    static status prepare_workspace(Stream const& stream, args const& a)
    {
        status const valid = validate(stream, a);
        if (!valid.ok() || a.sequences == 0) {
            return valid;
        }
        return with_rows<Stream>(a, [&](auto rows) {
            auto const work = work_of<rows.value>(a);
            detail::counters_at const counters{work.sections.arrived, work.sizes.pairs()};
            return detail::start_kernel(stream, detail::clear_counters{}, counters,
                                        (counters.count + 255) / 256);
        });
    }

    /// Reads the lengths and cuts the work. One block.
    template <class Stream>
    static status plan(Stream const& stream, args const& a)
    {
        status const valid = validate(stream, a);
        if (!valid.ok() || a.sequences == 0) {
            return valid;
        }
        return with_rows<Stream>(a, [&](auto rows) {
            return detail::start_kernel(stream, decode_planner<Problem>{}, work_of<rows.value>(a), 1);
        });
    }

    /// Starts the kernel on a host, hip or cuda stream, after plan(). No sequences succeed without a launch.
    template <class Stream>
    static status launch(Stream const& stream, args const& a)
    {
        status const valid = validate(stream, a);
        if (!valid.ok() || a.sequences == 0) {
            return valid;
        }
        return with_rows<Stream>(a, [&](auto rows) {
            auto const work      = work_of<rows.value>(a);
            status const started = attend<rows.value>(stream, work);
            if (!started.ok() || Problem::merge_strategy::by_last) {
                return started;
            }
            auto const by    = decode_merger<Problem>::layout::of(work.sizes.rows);
            i64 const blocks = by.blocks(work.sizes.pairs());
            i64 const most   = (8 * i64(a.workspace.blocks) / by.parts + 1) * by.parts;
            return detail::start_kernel(stream, decode_merger<Problem>{}, work,
                                        blocks < most ? blocks : most);
        });
    }

private:
    template <int Rows, class Stream>
    static status attend(Stream const& stream, detail::decode_work<Problem> const& work)
    {
        if constexpr (Stream::has_copies && decode_types<Problem>::fits_rings) {
            if (copies_in_bulk(arch_of(stream))) {
                return detail::start_kernel(stream, decode_through_rings<Problem, Rows>{}, work,
                                            work.sizes.blocks);
            }
        }
        if constexpr (Stream::may_be_narrow) {
            if (is_narrow(arch_of(stream))) {
                return through_registers<Rows, Stream::wave_size / 2>(stream, work);
            }
        }
        return through_registers<Rows, Stream::wave_size>(stream, work);
    }

    template <int Rows, int Lanes, class Stream>
    static status through_registers(Stream const& stream, detail::decode_work<Problem> const& work)
    {
        using kernel = decode_through_registers<Problem, Rows, Lanes>;
        return detail::start_kernel(stream, kernel{}, work, work.sizes.blocks);
    }

    template <int Value>
    struct row_count
    {
        static constexpr int value = Value;
    };

    /// Calls `body` with the query rows of a block that suit the rows of a head.
    template <class Stream, class Body>
    static auto with_rows(args const& a, Body body)
    {
        i64 const rows =
            i64(detail::most_tokens(a.tokens)) * (a.keys.heads > 0 ? a.query.heads / a.keys.heads : 1);
        if constexpr (Stream::wave_size == 32) { // a lane of a wider wave has one row whatever their number
            if (rows <= 8) {
                return body(row_count<8>{});
            }
        }
        if (rows <= 16) {
            return body(row_count<16>{});
        }
        return rows <= 32 ? body(row_count<32>{}) : body(row_count<64>{});
    }

    template <int Rows>
    static detail::decode_work<Problem> work_of(args const& a)
    {
        detail::decode_work<Problem> work;
        work.args       = a;
        work.group      = make_divider(u32(a.query.heads / a.keys.heads));
        work.grid       = make_divider(u32(a.workspace.blocks));
        i64 const rows  = i64(detail::most_tokens(a.tokens)) * detail::group_of(work);
        int const most  = Rows;
        auto& sizes     = work.sizes;
        sizes.blocks    = a.workspace.blocks;
        sizes.sequences = a.sequences;
        sizes.heads     = a.keys.heads;
        sizes.tiles     = int((rows + most - 1) / most);
        sizes.rows      = int(rows < most ? rows : most);
        sizes.few_nodes = detail::most_nodes(sizes.heads, Rows < 16 ? 1 : Rows / 16);
        sizes.nodes = detail::nodes_for(a.table.most_pages() * types::page_size, sizes.few_nodes, sizes.rows);
        sizes.dims  = types::value_dim;
        work.heads  = make_divider(u32(sizes.heads));
        work.pairs  = make_divider(u32(sizes.heads) * u32(sizes.tiles));
        work.sections = detail::cut_workspace(a.workspace.data, sizes);
        return work;
    }
};

} // namespace v0
} // namespace kvloom

#endif
