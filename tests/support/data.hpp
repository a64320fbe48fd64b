// SPDX-License-Identifier: MIT
// Deterministic test data: random numbers, rows of every kind that decides something, angle tables, slot patterns.
#pragma once

#include "contract/scalar_formats.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace kvloom_test {

/// A small generator with the same sequence on every machine and standard library (splitmix64).
class random_source
{
public:
    explicit random_source(std::uint64_t const seed) : state_(seed) {}

    std::uint64_t next()
    {
        state_ += 0x9E3779B97F4A7C15ull;
        std::uint64_t z = state_;
        z               = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z               = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }

    /// A number in [0, limit).
    int below(int const limit) { return static_cast<int>(next() % static_cast<std::uint64_t>(limit)); }

    /// A number in [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }

    /// About normal with variance 1: the sum of twelve uniform numbers.
    double normal()
    {
        double total = -6.0;
        for (int i = 0; i < 12; ++i) {
            total += uniform();
        }
        return total;
    }

private:
    std::uint64_t state_;
};

/// Numbers 0 .. count - 1 in random order.
inline std::vector<int> permutation(random_source& random, int const count)
{
    std::vector<int> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    for (int i = count - 1; i > 0; --i) {
        std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.below(i + 1))]);
    }
    return order;
}

/// Kinds of rows: each makes another term of the formula decide.
enum class row_kind {
    ordinary,
    zero,  // eps is the whole answer
    small, // +-1e-3 throughout: the mean square equals the usual eps
    loud,  // beyond the range of both fp8 formats
    mixed, // magnitudes from 2^-24 to 2^6 side by side: the order of summation shows
    spike, // one element outweighs all others
    negative_zero,
    special, // NaN and infinities among ordinary numbers
};

/// Most rows ordinary, the others one in twelve each; `special` only on request.
inline row_kind pick_kind(random_source& random, bool const with_special)
{
    switch (random.below(with_special ? 13 : 12)) {
    case 0:
        return row_kind::zero;
    case 1:
        return row_kind::small;
    case 2:
        return row_kind::loud;
    case 3:
        return row_kind::mixed;
    case 4:
        return row_kind::spike;
    case 5:
        return row_kind::negative_zero;
    case 12:
        return row_kind::special;
    default:
        return row_kind::ordinary;
    }
}

inline double element_of(row_kind const kind, random_source& random, int const dim)
{
    double const sign = random.below(2) == 0 ? 1.0 : -1.0;
    switch (kind) {
    case row_kind::zero:
        return 0.0;
    case row_kind::small:
        return sign * 1e-3;
    case row_kind::loud:
        return 600.0 * random.normal();
    case row_kind::mixed:
        return std::ldexp(random.normal(), random.below(31) - 24);
    case row_kind::spike:
        return dim == 77 ? sign * 900.0 : 0.25 * random.normal();
    case row_kind::negative_zero:
        return random.below(3) == 0 ? -0.0 : random.normal();
    case row_kind::special:
        switch (random.below(40)) {
        case 0:
            return std::numeric_limits<double>::quiet_NaN();
        case 1:
            return sign * std::numeric_limits<double>::infinity();
        default:
            return random.normal();
        }
    default:
        return random.normal();
    }
}

/// Fills one row of `size` elements that starts at element `at`.
inline void fill_row(scalar_model::dtype const type, void* const base, std::int64_t const at, int const size,
                     row_kind const kind, random_source& random)
{
    for (int d = 0; d < size; ++d) {
        scalar_model::write(type, base, at + d, element_of(kind, random, d));
    }
}

/// A norm's weights: around 0 where 1 is added to them, else around 1; among them B25's 2^-8 and 15.8125.
inline std::vector<double> random_gain(random_source& random, int const size, bool const unit_offset)
{
    std::vector<double> gain(static_cast<std::size_t>(size));
    for (double& weight : gain) {
        int const pick = random.below(16);
        weight         = 0.25 * random.normal() + (unit_offset ? 0.0 : 1.0);
        weight         = pick == 0 ? 0.00390625 : pick == 1 ? 15.8125 : weight;
    }
    return gain;
}

/// Rows of cos(half) then sin(half), `gap` NaNs after each: angle i of position p is p * theta^(-2 i / rotary_dim).
inline std::vector<double> cos_sin_table(int const rows, int const rotary_dim, int const gap = 0,
                                         double const theta = 5e6)
{
    std::vector<double> table;
    for (int position = 0; position < rows; ++position) {
        for (int part = 0; part < 2; ++part) {
            for (int i = 0; i < rotary_dim / 2; ++i) {
                double const angle = position * std::pow(theta, -2.0 * i / rotary_dim);
                table.push_back(part == 0 ? std::cos(angle) : std::sin(angle));
            }
        }
        table.insert(table.end(), static_cast<std::size_t>(gap), std::numeric_limits<double>::quiet_NaN());
    }
    return table;
}

/// How the slots of consecutive tokens lie. No pattern names a slot twice.
enum class slot_pattern {
    consecutive,  // 0, 1, 2, ...
    from_five,    // 5, 6, 7, ...
    paged,        // consecutive inside a page from slot 5 on, the pages in random order
    scattered,    // random
    reversed,     // ..., 2, 1, 0
    striped,      // neighbouring tokens go to different pages: every page is written by several waves
    gaps,         // consecutive, but every fifth is negative (-1 and others)
    out_of_range, // consecutive, but every fourth lies beyond the last page
    few,          // fewer slots than tokens, from slot 1 on
    runs,         // runs of random length from random slots on, some tokens negative
    none,         // no slots at all
};

inline std::string name_of(slot_pattern const pattern)
{
    char const* const names[] = {"consecutive", "from five",    "paged", "scattered", "reversed", "striped",
                                 "gaps",        "out of range", "few",   "runs",      "none"};
    return names[static_cast<int>(pattern)];
}

/// Pages that hold a pattern of `tokens` slots, with some to spare.
inline int pages_for(int const tokens, int const page_size)
{
    return (tokens + 5) / page_size + 3;
}

/// Slots 0 .. capacity - 1, cut into pieces of random length that are then shuffled. Many pieces begin at a multiple of 16 and are
/// as long as whole vectors, or one shorter or longer.
inline std::vector<std::int64_t> shuffled_runs(random_source& random, std::int64_t const capacity)
{
    int const lengths[] = {7, 8, 9, 15, 16, 17, 23, 31};
    std::vector<std::vector<std::int64_t>> pieces;
    std::int64_t slot = 0;
    auto const cut    = [&](std::int64_t const finish) {
        pieces.emplace_back();
        while (slot < std::min(finish, capacity)) {
            pieces.back().push_back(slot++);
        }
    };
    while (slot < capacity) {
        switch (random.below(4)) {
        case 0:
            cut(slot + 1);
            break;
        case 1:
            cut(slot + 1 + random.below(48));
            break;
        default:
            cut((slot + 15) / 16 * 16);
            cut(slot + lengths[random.below(8)]);
            break;
        }
    }
    std::vector<std::int64_t> slots;
    for (int const piece : permutation(random, static_cast<int>(pieces.size()))) {
        auto const& run = pieces[static_cast<std::size_t>(piece)];
        slots.insert(slots.end(), run.begin(), run.end());
    }
    return slots;
}

/// The slots of `tokens` tokens. Where `wide` says that the slot type holds them, some are out of range in 64 bits but name a
/// free slot in their low 32.
inline std::vector<std::int64_t> make_slots(slot_pattern const pattern, random_source& random,
                                            int const tokens, int const page_size, bool const wide)
{
    int const pages             = pages_for(tokens, page_size);
    std::int64_t const capacity = std::int64_t{pages} * page_size;
    auto const page_order       = permutation(random, pages);
    auto const slot_order       = permutation(random, static_cast<int>(capacity));
    auto const run_order        = shuffled_runs(random, capacity);
    std::int64_t const lost[]   = {-1, -16, -17, std::numeric_limits<std::int32_t>::min(),
                                 wide ? std::numeric_limits<std::int64_t>::min() + capacity - 2 : -2};
    std::int64_t const far[]    = {capacity, capacity + 1, 99 * 16 + 4 + capacity,
                                   std::numeric_limits<std::int32_t>::max(),
                                wide ? (std::int64_t{1} << 32) + capacity - 1 : capacity + 7};

    int const count = pattern == slot_pattern::none  ? 0
                      : pattern == slot_pattern::few ? tokens - (tokens + 2) / 3
                                                     : tokens;
    std::vector<std::int64_t> slots;
    for (int token = 0; token < count; ++token) {
        std::int64_t slot = token;
        int const placed  = token + 5;
        auto const index  = static_cast<std::size_t>(token);
        switch (pattern) {
        case slot_pattern::from_five:
            slot = placed;
            break;
        case slot_pattern::paged:
            slot = std::int64_t{page_order[static_cast<std::size_t>(placed / page_size)]} * page_size
                   + placed % page_size;
            break;
        case slot_pattern::scattered:
            slot = slot_order[index];
            break;
        case slot_pattern::reversed:
            slot = tokens - 1 - token;
            break;
        case slot_pattern::striped:
            slot = std::int64_t{token % pages} * page_size + token / pages;
            break;
        case slot_pattern::gaps:
            slot = token % 5 == 3 ? lost[token / 5 % 5] : token;
            break;
        case slot_pattern::out_of_range:
            slot = token % 4 == 1 ? far[token / 4 % 5] : token;
            break;
        case slot_pattern::few:
            slot = token + 1;
            break;
        default:
            break;
        }
        slots.push_back(slot);
    }
    return slots;
}

/// Positions of tokens in a table of `rows` rows; where `faulty`, every third lies outside it.
inline std::vector<std::int64_t> make_positions(random_source& random, int const tokens, int const rows,
                                                bool const faulty, bool const wide)
{
    std::int64_t const outside[] = {-1,
                                    rows,
                                    std::numeric_limits<std::int32_t>::max(),
                                    std::numeric_limits<std::int32_t>::min(),
                                    wide ? std::int64_t{1} << 40 : rows + 1,
                                    wide ? (std::int64_t{1} << 32) + 1 : -2};
    std::vector<std::int64_t> positions;
    for (int token = 0; token < tokens; ++token) {
        bool const lost = faulty && token % 3 == 1;
        positions.push_back(lost ? outside[token / 3 % 6] : token == 0 ? rows - 1 : random.below(rows));
    }
    return positions;
}

} // namespace kvloom_test
