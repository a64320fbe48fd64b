// SPDX-License-Identifier: MIT
// Pages of one head through shared memory: a wave of its own copies whole spans into rings, the others read matrices
// from there.
#pragma once

#include "kvloom/layout/view.hpp"
#include "kvloom/op/page_stream.hpp"
#include "kvloom/op/token_order.hpp"

namespace kvloom {
inline namespace v0 {

/// The order of operands that are read as matrices of 8 rows of 16 bytes from SHUFFLE pages of 16 tokens, on units whose
/// A holds what C holds. A lane's word of a row is four bytes: two neighbours of 16 bits, or four of fp8, of which a
/// product over 16 takes the words of one page or vector, a product over 32 (PerLane 8, fp8 as it stands) those of two.
///
/// Rows of keys are tokens. For fp8, rows that are read together lie two apart in the second half of a page, so that
/// they fall into different banks; lane groups 2 and 3 then hold each four tokens in the order 2, 3, 0, 1.
template <class T, int Dim, int PerLane>
struct matrix_order
{
    static_assert(Dim % 32 == 0, "matrix_order: the head size must be a multiple of 32");
    static_assert(PerLane == 4 || (PerLane == 8 && sizeof(T) == 1),
                  "matrix_order: a lane must hold 4 elements of a product, or 8 of fp8");
    static constexpr int page  = 16;
    static constexpr int pages = 2; ///< of a step: for the scores of more a wave of 168 registers has no room
    static constexpr int tokens   = page * pages;
    static constexpr int per_lane = PerLane;
    static constexpr int each     = PerLane / 4;       ///< pages, or vectors of dims, to a product
    static constexpr int groups   = pages / each;      ///< products over the tokens of a step
    static constexpr int run = sizeof(T) == 2 ? 2 : 4; ///< neighbouring dims of a lane in a product, at least

    static constexpr bool swaps = sizeof(T) == 1;

    /// Number `e` of the tokens that lane group `group` holds of product `t`, from the step's first.
    KVLOOM_FN static constexpr int token(int t, int group, int e)
    {
        int const in_page = e % 4;
        return page * (each * t + e / 4)
               + (sizeof(T) == 2 ? in_page / 2 * 8 + 2 * group + in_page % 2
                                 : 4 * group + (in_page ^ (group >= 2 ? 2 : 0)));
    }

    /// Number `e` of the dims that lane group `group` holds of product `j`.
    KVLOOM_FN static constexpr int dim(int j, int group, int e)
    {
        return sizeof(T) == 2 ? 16 * j + e / 2 * 8 + 2 * group + e % 2
                              : 16 * (each * j + e / 4) + 4 * group + e % 4;
    }

    /// The row of keys, in vectors of a span, that lane `lane` names for read `b`.
    KVLOOM_FN static constexpr int key_row(int b, int lane)
    {
        int const row    = lane % 8;
        int const matrix = lane / 8;
        if (sizeof(T) == 2) {
            return (2 * b + matrix % 2) * page + row + matrix / 2 * 8;
        }
        return (2 * b + matrix / 2) * page + row / 2 * 4 + row % 2 + 2 * (matrix % 2 ^ (row >= 4 ? 1 : 0));
    }

    /// The same of values.
    template <int ValueDim>
    KVLOOM_FN static constexpr int value_row(int b, int lane)
    {
        int const row    = lane % 8;
        int const matrix = lane / 8;
        return sizeof(T) == 2 ? matrix % 2 * ValueDim + 16 * b + matrix / 2 * 8 + row : 32 * b + lane;
    }
};

/// Shared memory of the rings of a block: for each stream of steps some stages, of keys and of values.
template <int Streams, int Stages, int Pages, int KeyBytes, int ValueBytes>
struct page_rings
{
    static constexpr int streams = Streams;
    static constexpr int stages  = Stages;

    struct alignas(16) stage
    {
        unsigned char keys[KeyBytes];
        unsigned char values[ValueBytes];
    };

    stage ring[Streams][Stages];
    u64 full[Streams][Stages][2];   ///< of keys, of values: their bytes have come
    u64 empty[Streams][Stages][2];  ///< all waves of the stream have read them
    u32 missing[Streams][Stages];   ///< bit i: page i of the step does not exist
    int id[Streams][Stages][Pages]; ///< of the step's pages
};

/// Where a stream of steps is in its ring.
template <int Stages>
struct ring_place
{
    int stage  = 0;
    u32 parity = 0;

    KVLOOM_FN void advance()
    {
        if (++stage == Stages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

/// The reading end of a stream. The wave enters a step, and attends with this as the step. `Places`: it knows where
/// tokens lie, which scales of each token need.
template <class Tile, class Wave, class Rings, class Order, class KeyLayout, class ValueLayout, bool Places>
class ring_pages
{
    using stored = typename KeyLayout::element;
    using copies = typename Wave::copies;
    using vector = vec<u32, 4>;

public:
    using order = Order;

    static_assert(!Tile::keys_first, "ring_pages: for units whose A holds what C holds");
    static_assert(are_shuffled_v<KeyLayout, ValueLayout, order::page>,
                  "ring_pages: for SHUFFLE pages of 16 tokens");

    static constexpr int groups      = order::groups;
    static constexpr int key_slices  = sizeof(stored) == 2 ? 1 : 2 / order::each; ///< of one read
    static constexpr int value_tiles = sizeof(stored) == 2 ? 2 : 4;
    static constexpr bool swaps      = order::swaps;

    KVLOOM_FN ring_pages(Wave on, Rings& of, int stream_index) : wave(on), rings(of), stream(stream_index) {}

    KVLOOM_FN static constexpr int token(int t, int group, int e) { return order::token(t, group, e); }

    /// Waits for the keys of the next step.
    KVLOOM_FN void enter()
    {
        copies::wait(wave, &rings.full[stream][place.stage][0], place.parity);
        missing = rings.missing[stream][place.stage];
        if constexpr (Places) {
            KVLOOM_UNROLL
            for (int p = 0; p < order::pages; ++p) {
                id[p] = rings.id[stream][place.stage][p];
            }
        }
    }

    KVLOOM_FN bool has(int token) const { return (missing >> (token / order::page) & 1) == 0; }
    KVLOOM_FN bool has_all() const { return missing == 0; }

    /// Where a token of the step lies.
    KVLOOM_FN token_place place_of(int token) const
    {
        static_assert(Places, "place_of: this stream keeps no page ids");
        int page = id[0];
        KVLOOM_UNROLL
        for (int p = 1; p < order::pages; ++p) {
            page = token / order::page == p ? id[p] : page;
        }
        return {page, token % order::page, has(token)};
    }

    KVLOOM_FN auto keys(int b) const
    {
        detail::key_bundle<Tile, key_slices, groups> bundle;
        KVLOOM_UNROLL
        for (int t = 0; t < groups; ++t) {
            vec<u32, 4> words[order::each]; // by [slice][half of a page]
            KVLOOM_UNROLL
            for (int p = 0; p < order::each; ++p) {
                words[p] = copies::read_matrices(wave, stage().keys + (t * order::each + p) * key_bytes
                                                           + order::key_row(b, wave.lane()) * 16);
            }
            KVLOOM_UNROLL
            for (int h = 0; h < Tile::score_tiles; ++h) {
                if constexpr (sizeof(stored) == 2) {
                    bundle.at[0][t][h] = {{words[0][2 * h], words[0][2 * h + 1]}};
                } else {
                    KVLOOM_UNROLL
                    for (int i = 0; i < key_slices; ++i) {
                        bundle.at[i][t][h] = detail::make_operand<Tile, stored>(
                            [&](int w) { return words[h / 2][2 * (i + w) + h % 2]; });
                    }
                }
            }
        }
        return bundle;
    }

    KVLOOM_FN void keys_done() { release(0); }

    /// Waits for the values of the step.
    KVLOOM_FN void begin_values() { copies::wait(wave, &rings.full[stream][place.stage][1], place.parity); }

    /// Values of tokens outside a range become zeros where they lie. The waves of a stream may all do so.
    KVLOOM_FN void clear_values(token_range present)
    {
        auto* const values = reinterpret_cast<stored*>(rings.ring[stream][place.stage].values);
        for (int token = 0; token < order::tokens; ++token) {
            if (present.holds(token) && has(token)) {
                continue;
            }
            for (int d = wave.lane(); d < ValueLayout::dim; d += Wave::size) {
                values[token / order::page * ValueLayout::elements
                       + ValueLayout::offset(token % order::page, d)] = {};
            }
        }
        copies::order();
        wave.meet();
    }

    KVLOOM_FN auto values(int b) const
    {
        detail::value_bundle<Tile, value_tiles, groups> bundle;
        KVLOOM_UNROLL
        for (int t = 0; t < groups; ++t) {
            vec<u32, 4> words[order::each];
            KVLOOM_UNROLL
            for (int p = 0; p < order::each; ++p) {
                words[p] = copies::read_matrices(
                    wave, stage().values + (t * order::each + p) * value_bytes
                              + order::template value_row<ValueLayout::dim>(b, wave.lane()) * 16);
            }
            KVLOOM_UNROLL
            for (int i = 0; i < value_tiles; ++i) {
                if constexpr (sizeof(stored) == 2) {
                    bundle.at[i][t] = {{words[0][2 * i], words[0][2 * i + 1]}};
                } else {
                    bundle.at[i][t] = detail::make_operand<Tile, stored>([&](int w) { return words[w][i]; });
                }
            }
        }
        return bundle;
    }

    KVLOOM_FN void values_done()
    {
        release(1);
        place.advance();
    }

private:
    static constexpr int key_bytes   = KeyLayout::elements * int(sizeof(stored)); ///< of a page
    static constexpr int value_bytes = ValueLayout::elements * int(sizeof(stored));

    KVLOOM_FN auto const& stage() const { return rings.ring[stream][place.stage]; }

    /// The fence keeps this wave's reads before the copy that takes their place: without it, bits differed from run to
    /// run in one configuration on an H200.
    KVLOOM_FN void release(int kind) const
    {
        copies::order();
        wave.meet();
        if (wave.lane() == 0) {
            copies::arrive(&rings.empty[stream][place.stage][kind]);
        }
    }

    Wave wave;
    Rings& rings;
    int stream;
    ring_place<Rings::stages> place;
    u32 missing                       = 0;
    int id[Places ? order::pages : 1] = {};
};

/// The writing end of all streams of a block: one wave. A lane serves the keys or the values of one stream.
template <class Wave, class Rings, class Path, class Source, class Order>
class ring_writer
{
    using copies     = typename Wave::copies;
    using key_layout = typename decltype(Source::keys)::layout;
    using stored     = typename key_layout::element;

    static constexpr int pages = Order::pages;
    static constexpr int window =
        Wave::size / (Rings::streams * pages); ///< steps whose ids the wave reads at once

public:
    KVLOOM_FN ring_writer(Wave on, Rings& of) : wave(on), rings(of) {}

    /// Copies the pages of a segment; `path_of(stream)` gives each stream's path. Streams are served step by step, so
    /// that a wave which has to wait for the others at the end of a node has left them what they need to come there.
    template <class PathOf>
    KVLOOM_FN void copy(Source const& source, PathOf path_of)
    {
        int const lane   = wave.lane();
        int const stream = lane / 2 % Rings::streams;
        auto const mine  = path_of(stream);
        auto const reads = path_of(lane / (window * pages));
        int first        = path_of(0).first;
        int last         = path_of(0).last;
        KVLOOM_UNROLL
        for (int i = 1; i < Rings::streams; ++i) {
            auto const other = path_of(i);
            first            = other.first < first ? other.first : first;
            last             = other.last > last ? other.last : last;
        }
        int ids = read_ids(source, reads, first);
        for (int base = first; base < last; base += window) {
            int const ahead = read_ids(source, reads, base + window);
            for (int i = 0; i < window && base + i < last; ++i) {
                int id[pages];
                KVLOOM_UNROLL
                for (int p = 0; p < pages; ++p) {
                    id[p] = wave.shuffle(ids, (stream * window + i) * pages + p, site::here());
                }
                if (lane < 2 * Rings::streams && base + i >= mine.first && base + i < mine.last) {
                    write(source, stream, lane % 2, id);
                }
            }
            ids = ahead;
        }
    }

private:
    /// The id of the page that the calling lane reads for a window of steps; -1 outside the path, the sequence or the
    /// table.
    KVLOOM_FN int read_ids(Source const& source, Path const& path, int base) const
    {
        int const at   = wave.lane() % (window * pages);
        int const step = base + at / pages;
        if (step >= path.first && step < path.last) {
            int const token = path.position(step) + at % pages * Order::page;
            int const page  = (token - source.run.first_token) / Order::page;
            if (token < source.length && page < source.run.count) {
                return source.run.id_of_lane(wave, page);
            }
        }
        return -1;
    }

    KVLOOM_FN void write(Source const& source, int stream, int kind, int const (&id)[pages])
    {
        bool const of_keys = kind == 0;
        int const span     = of_keys ? key_bytes : value_bytes;
        u32 missing        = 0;
        KVLOOM_UNROLL
        for (int p = 0; p < pages; ++p) {
            missing |= u32(id[p]) < u32(source.keys.pages) ? 0U : 1U << p;
        }
        auto& stage     = rings.ring[stream][place.stage];
        u64* const full = &rings.full[stream][place.stage][kind];
        auto* const to  = of_keys ? stage.keys : stage.values;
        copies::wait(wave, &rings.empty[stream][place.stage][kind], place.parity ^ 1);
        if (of_keys) {
            rings.missing[stream][place.stage] = missing;
            KVLOOM_UNROLL
            for (int p = 0; p < pages; ++p) {
                rings.id[stream][place.stage][p] = id[p];
            }
        }
        copies::expect(full, span * (missing == 0 ? pages : count_present(missing)));
        KVLOOM_UNROLL
        for (int p = 0; p < pages; ++p) {
            if ((missing >> p & 1) == 0) {
                void const* const from =
                    of_keys ? static_cast<void const*>(source.keys.span(id[p], source.head))
                            : static_cast<void const*>(source.values.span(id[p], source.head));
                copies::copy(to + p * span, from, span, full);
            }
        }
        place.advance();
    }

    KVLOOM_FN static int count_present(u32 missing)
    {
        int present = 0;
        KVLOOM_UNROLL
        for (int p = 0; p < pages; ++p) {
            present += (missing >> p & 1) == 0 ? 1 : 0;
        }
        return present;
    }

    static constexpr int key_bytes   = key_layout::elements * int(sizeof(stored));
    static constexpr int value_bytes = decltype(Source::values)::layout::elements * int(sizeof(stored));

    Wave wave;
    Rings& rings;
    ring_place<Rings::stages> place;
};

} // namespace v0
} // namespace kvloom
