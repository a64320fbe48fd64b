// SPDX-License-Identifier: MIT
// Pages of one head from memory to registers, for machines whose loads are operands as they arrive.
#pragma once

#include "kvloom/op/page_stream.hpp"
#include "kvloom/op/token_order.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// The page ids of a step as the table gives them; -1 for pages behind the sequence or the table. They are looked at no
/// sooner than the pages are asked for, so that nothing waits for them.
template <int Count>
struct step_pages
{
    int id[Count];
};

} // namespace detail

/// A stream of pages through registers: `begin`, then for each step of the path `enter` and `attend` with the stream as
/// its step. The keys of the next step are asked for when those of this one have been multiplied, its values likewise:
/// at any product one of the two is on its way. Page ids are read two steps ahead and are the same in all lanes.
///
/// A warp of 32 lanes has twice the registers' worth of operands to a lane: there nothing is asked for ahead, and each
/// bundle is loaded when it is needed.
///
/// Any layout will do. Where 16 bytes of keys run along dims and 16 bytes of values along slots (SHUFFLE, transposed
/// values), each access is 16 bytes; else elements are gathered. Every lane of the wave calls. @cost registers:
/// Dim / 4 words for keys and for values on CDNA, twice that on NVIDIA
template <class Tile, class Wave, class Path, class Source>
class register_pages
{
    using key_layout   = typename decltype(Source::keys)::layout;
    using value_layout = typename decltype(Source::values)::layout;
    using stored       = typename key_layout::element;
    using vector       = vector_words;

    static constexpr int x         = vector_size<stored>;
    static constexpr int page_size = key_layout::page_size;
    static constexpr int key_dim   = key_layout::dim;
    static constexpr int value_dim = value_layout::dim;

    static_assert(is_same_v<stored, typename value_layout::element>,
                  "register_pages: keys and values must have one element type");
    static_assert(page_size == value_layout::page_size,
                  "register_pages: keys and values must share their page size");

public:
    using order = vector_order<stored, key_dim, Tile::per_lane>;

    static_assert((page_size & (page_size - 1)) == 0, "register_pages: the page size must be a power of two");

    static constexpr int groups      = order::groups;
    static constexpr int key_slices  = order::groups; ///< products over dims to a bundle of keys
    static constexpr int value_tiles = 1;             ///< value operands over dims to a bundle
    static constexpr bool swaps      = order::swaps;
    static constexpr bool ahead      = Wave::size == 64;
    static constexpr int pages       = order::tokens > page_size ? order::tokens / page_size : 1;

    KVLOOM_FN register_pages(Wave on, Path const& along, Source const& from)
        : wave(on), path(along), source(from)
    {}

    KVLOOM_FN static constexpr int token(int t, int group, int e) { return order::token(t, group, e); }

    /// Asks for the first step.
    KVLOOM_FN void begin()
    {
        now    = find_pages(path.first);
        before = path.first;
        after  = next_of(path.first);
        next   = find_pages(after);
        load_keys(path.first, now);
        load_values(path.first, now);
    }

    /// Nothing is cleared of a step's values until clear_values() says so.
    KVLOOM_FN void enter()
    {
        KVLOOM_UNROLL
        for (int w = 0; w < 4; ++w) {
            kept[w] = ~0U;
        }
    }

    /// The compiler waits for what it uses.
    KVLOOM_FN void begin_values() const {}

    /// Whether the page of the step's token exists.
    KVLOOM_FN bool has(int token) const { return exists(id_of(now, token)); }

    /// Where a token of the step lies.
    KVLOOM_FN token_place place_of(int token) const
    {
        auto place  = place_of(before, now, token);
        place.valid = has(token);
        return place;
    }

    /// Whether all do.
    KVLOOM_FN bool has_all() const
    {
        bool all = true;
        KVLOOM_UNROLL
        for (int i = 0; i < pages; ++i) {
            all = all && exists(now.id[i]);
        }
        return all;
    }

    KVLOOM_FN auto keys(int b) const
    {
        vector words[groups][Tile::score_tiles];
        KVLOOM_UNROLL
        for (int t = 0; t < groups; ++t) {
            KVLOOM_UNROLL
            for (int h = 0; h < Tile::score_tiles; ++h) {
                if constexpr (ahead) {
                    words[t][h] = key[t][h][b];
                } else {
                    words[t][h] = load_key(before, now, t, h, b);
                }
            }
        }
        detail::key_bundle<Tile, key_slices, groups> bundle;
        KVLOOM_UNROLL
        for (int i = 0; i < key_slices; ++i) {
            KVLOOM_UNROLL
            for (int t = 0; t < groups; ++t) {
                KVLOOM_UNROLL
                for (int h = 0; h < Tile::score_tiles; ++h) {
                    bundle.at[i][t][h] = detail::operand_of_vector<Tile, stored>(words[t][h], i);
                }
            }
        }
        return bundle;
    }

    KVLOOM_FN auto values(int b) const
    {
        vector loaded;
        if constexpr (ahead) {
            loaded = value[b];
        } else {
            loaded = masked(load_value(before, now, b));
        }
        detail::value_bundle<Tile, value_tiles, groups> bundle;
        KVLOOM_UNROLL
        for (int t = 0; t < groups; ++t) {
            bundle.at[0][t] = detail::operand_of_vector<Tile, stored>(loaded, t);
        }
        return bundle;
    }

    /// Values of tokens outside a range, and of pages that do not exist, become zeros.
    KVLOOM_FN void clear_values(token_range present)
    {
        int const group = Tile::group(wave.lane());
        KVLOOM_UNROLL
        for (int w = 0; w < 4; ++w) {
            u32 mask = 0;
            KVLOOM_UNROLL
            for (int i = 0; i < word_size<stored>; ++i) {
                int const token = order::token(0, group, 0) + w * word_size<stored> + i;
                u32 const ones  = sizeof(stored) == 2 ? 0xffffU : 0xffU;
                mask |= present.holds(token) && has(token) ? ones << (i * 8 * int(sizeof(stored))) : 0U;
            }
            kept[w] = mask;
        }
        if constexpr (ahead) {
            KVLOOM_UNROLL
            for (vector& words : value) {
                words = masked(words);
            }
        }
    }

    /// The keys have been multiplied: their registers take those of the next step.
    KVLOOM_FN void keys_done() { load_keys(after, next); }

    /// The values have been multiplied; the next step becomes this one.
    KVLOOM_FN void values_done()
    {
        load_values(after, next);
        now    = next;
        before = after;
        after  = next_of(after);
        next   = find_pages(after);
    }

private:
    using page_set = detail::step_pages<pages>;

    /// The step to ask for behind another. Behind the last it is the last once more: a load that nobody needs costs less
    /// than a branch, behind which the compiler no longer knows which loads are outstanding.
    KVLOOM_FN int next_of(int step) const { return step + 1 < path.last ? step + 1 : step; }

    KVLOOM_FN bool exists(int id) const { return u32(id) < u32(source.keys.pages); }

    /// Ids of pages that lie wholly behind the sequence are not read.
    KVLOOM_FN page_set find_pages(int step) const
    {
        page_set found;
        int const position = path.position(step);
        KVLOOM_UNROLL
        for (int i = 0; i < pages; ++i) {
            int const first = position + i * page_size;
            int const page  = int(u32(first - source.run.first_token) / page_size);
            found.id[i]     = -1;
            if (first < source.length && page < source.run.count) {
                found.id[i] = source.run.id(wave, page);
            }
        }
        return found;
    }

    KVLOOM_FN static int id_of(page_set const& set, int token)
    {
        int id = set.id[0];
        KVLOOM_UNROLL
        for (int i = 1; i < pages; ++i) {
            id = token / page_size == i ? set.id[i] : id;
        }
        return id;
    }

    /// Where a token of a step lies. A page that does not exist is read as page 0; nobody sees what comes of it.
    KVLOOM_FN token_place place_of(int step, page_set const& set, int token) const
    {
        int const id   = id_of(set, token);
        int const slot = pages > 1 || page_size == order::tokens
                             ? token % page_size
                             : ((path.position(step) - source.run.first_token) & (page_size - 1)) + token;
        return {exists(id) ? id : 0, slot, true};
    }

    KVLOOM_FN vector load_key(int step, page_set const& set, int t, int h, int q) const
    {
        int const index = Tile::index(wave.lane());
        auto const place =
            place_of(step, set, order::token(t, Tile::group_of(index), Tile::number_of(h, index)));
        int const dim = x * (4 * q + Tile::group(wave.lane()));
        return bit_cast<vector>(
            wave.template load<vec<u32, 4>>(source.keys.address(place, source.head, dim)));
    }

    KVLOOM_FN vector load_value(int step, page_set const& set, int d) const
    {
        int const first = order::token(0, Tile::group(wave.lane()), 0);
        return load_slots(step, set, first, d * Tile::width + Tile::index(wave.lane()));
    }

    KVLOOM_FN void load_keys(int step, page_set const& set)
    {
        if constexpr (ahead) {
            wave.keep_order();
            KVLOOM_UNROLL
            for (int i = 0; i < groups * Tile::score_tiles; ++i) {
                KVLOOM_UNROLL
                for (int q = 0; q < key_dim / (4 * x); ++q) {
                    int const t  = i / Tile::score_tiles;
                    int const h  = i % Tile::score_tiles;
                    key[t][h][q] = load_key(step, set, t, h, q);
                }
            }
            wave.keep_order();
        }
    }

    KVLOOM_FN void load_values(int step, page_set const& set)
    {
        if constexpr (ahead) {
            wave.keep_order();
            KVLOOM_UNROLL
            for (int d = 0; d < value_dim / Tile::width; ++d) {
                value[d] = load_value(step, set, d);
            }
            wave.keep_order();
        }
    }

    KVLOOM_FN vector masked(vector words) const
    {
        KVLOOM_UNROLL
        for (int w = 0; w < 4; ++w) {
            words[w] = words[w] & kept[w];
        }
        return words;
    }

    /// A dim's elements of the x tokens from `token` on.
    KVLOOM_FN vector load_slots(int step, page_set const& set, int token, int dim) const
    {
        if constexpr (value_layout::vector_axis == axis::slot && value_layout::vector >= x) {
            return bit_cast<vector>(wave.template load<vec<u32, 4>>(
                source.values.address(place_of(step, set, token), source.head, dim)));
        } else {
            vector words = {};
            KVLOOM_UNROLL
            for (int i = 0; i < x; ++i) {
                using bits       = decltype(stored::bits);
                auto const place = place_of(step, set, token + i);
                u32 const one    = wave.template load<bits>(source.values.address(place, source.head, dim));
                words[i / word_size<stored>] |= one << (i % word_size<stored> * 8 * int(sizeof(stored)));
            }
            return words;
        }
    }

    Wave wave;
    Path path;
    Source source;
    page_set now;
    page_set next;
    int before = 0; ///< the step at hand
    int after  = 0; ///< the step whose keys and values are asked for next
    vector kept;    ///< bits of a lane's values that count
    vector key[ahead ? groups : 1][Tile::score_tiles][key_dim / (4 * x)];
    vector value[value_dim / Tile::width];
};

} // namespace v0
} // namespace kvloom
