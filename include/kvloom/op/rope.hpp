// SPDX-License-Identifier: MIT
// RoPE in NeoX pairing: dims i and i + R/2 of the first R dims of a row turn by the angle of their position.
#pragma once

#include "kvloom/core/math.hpp"
#include "kvloom/group/row.hpp"
#include "kvloom/layout/view.hpp"
#include "kvloom/op/memory.hpp"

namespace kvloom {
inline namespace v0 {

namespace detail {

/// What the type of a tile says about its rotation.
template <class Tile>
struct turned
{
    static constexpr int dims  = Tile::rotary::dims;
    static constexpr int half  = dims / 2;
    static constexpr int parts = part_count<(dims + chunk_size - 1) / chunk_size * chunk_size, Tile::size>;

    /// Partners sit in the same place of their chunks, and a table row is read 16 bytes at a time.
    static constexpr bool whole_chunks = half % chunk_size == 0;
    static constexpr int half_chunks   = half / chunk_size;
};

} // namespace detail

/// How a rotation rounds: one product and one fma in fp32, or both products and their sum to T each.
struct fused_rotation
{
    KVLOOM_FN static float turn(float own, float cosine, float across) { return fma(own, cosine, across); }
    KVLOOM_FN static float product(float a, float b) { return multiply(a, b); }
};
template <class T>
struct rotation_in
{
    KVLOOM_FN static float rounded(float x) { return widen(narrow<T>(x)); }
    KVLOOM_FN static float turn(float own, float cosine, float across)
    {
        return rounded(add(product(own, cosine), across));
    }
    KVLOOM_FN static float product(float a, float b) { return rounded(multiply(a, b)); }
};

/// A lane's share of a position's angles as they lie in the table (widened where they are read one by one).
template <class T, class Tile>
struct stored_angles
{
    static constexpr int parts = detail::turned<Tile>::parts;
    using held                 = conditional_t<detail::turned<Tile>::whole_chunks, T, float>;

    chunk_words<held> cosine[parts > 0 ? parts : 1];
    chunk_words<held> sine[parts > 0 ? parts : 1];
};

/// A lane's share of a position's angles: factors of the own value and of the partner's, the sine negative in
/// the first half.
template <class Tile>
struct angles
{
    static constexpr int parts = detail::turned<Tile>::parts;

    vec<float, chunk_size> cosine[parts > 0 ? parts : 1];
    vec<float, chunk_size> sine[parts > 0 ? parts : 1];
};

/// Reads the angles of `position`, which must lie inside the table. Nothing may write the table while the
/// kernel runs. With R / 2 a multiple of 8 the table's base and stride must be multiples of 16 bytes.
template <class Tile, class T>
KVLOOM_FN stored_angles<T, Tile> fetch_angles(Tile tile, angle_table<T> const& table, i64 position)
{
    using turned = detail::turned<Tile>;
    using held   = typename stored_angles<T, Tile>::held;
    stored_angles<T, Tile> stored{};
    T const* const line = table.data + position * table.stride;
    KVLOOM_UNROLL
    for (int k = 0; k < turned::parts; ++k) {
        int const chunk = tile.chunk(k);
        if constexpr (turned::whole_chunks) {
            if (chunk < 2 * turned::half_chunks) {
                constexpr int words = chunk_size * int(sizeof(T)) / 4;
                int const first =
                    (chunk < turned::half_chunks ? chunk : chunk - turned::half_chunks) * chunk_size;
                using wave       = typename Tile::wave_type;
                stored.cosine[k] = detail::load_words<wave, words>(tile.wave, line + first, true);
                stored.sine[k] =
                    detail::load_words<wave, words>(tile.wave, line + turned::half + first, true);
            }
        } else {
            KVLOOM_UNROLL
            for (int i = 0; i < chunk_size; ++i) {
                int const dim = chunk * chunk_size + i;
                if (dim < turned::dims) {
                    using bits          = conditional_t<sizeof(T) == 4, u32, u16>;
                    int const at        = dim < turned::half ? dim : dim - turned::half;
                    bits const cosine   = tile.wave.template load_constant<bits>(line + at);
                    bits const sine     = tile.wave.template load_constant<bits>(line + turned::half + at);
                    stored.cosine[k][i] = bit_cast<u32>(widen(bit_cast<T>(cosine)));
                    stored.sine[k][i]   = bit_cast<u32>(widen(bit_cast<T>(sine)));
                }
            }
        }
        static_assert(sizeof(held) <= 4, "fetch_angles: a table holds bf16, fp16 or float");
    }
    return stored;
}

/// The angles as factors.
template <class T, class Tile>
KVLOOM_FN angles<Tile> widen(Tile tile, stored_angles<T, Tile> const& stored)
{
    using turned = detail::turned<Tile>;
    using held   = typename stored_angles<T, Tile>::held;
    angles<Tile> factors;
    KVLOOM_UNROLL
    for (int k = 0; k < turned::parts; ++k) {
        factors.cosine[k] = unpack<held>(stored.cosine[k]);
        factors.sine[k]   = unpack<held>(stored.sine[k]);
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; ++i) {
            bool const first   = turned::whole_chunks ? tile.chunk(k) < turned::half_chunks
                                                      : tile.chunk(k) * chunk_size + i < turned::half;
            factors.sine[k][i] = first ? -factors.sine[k][i] : factors.sine[k][i];
        }
    }
    return factors;
}

/// fetch_angles, then widen.
template <class Tile, class T>
KVLOOM_FN angles<Tile> load_angles(Tile tile, angle_table<T> const& table, i64 position)
{
    return widen(tile, fetch_angles(tile, table, position));
}

namespace detail {

/// For each dim d that the lane holds in part `Part`: element d + Shift of the row, from whichever lane holds
/// it. Zero where the row has no such dim.
template <int Shift, int Part, class Tile, int Dim>
KVLOOM_FN vec<float, chunk_size> shifted(Tile tile, row<Tile, Dim> const& x, site at)
{
    constexpr int lanes = Tile::size;
    int const place     = Tile::order::chunk(tile.rank());
    vec<float, chunk_size> result{};
    KVLOOM_UNROLL
    for (int i = 0; i < chunk_size; ++i) {
        int const target  = i + Shift + 4096 * chunk_size; // keeps the divisions below on positive numbers
        int const chunks  = target / chunk_size - 4096;
        int const element = target % chunk_size;
        int const ahead   = (chunks + 4096 * lanes) % lanes; // lanes on, and parts on
        int const part    = Part + (chunks - ahead) / lanes;
        auto const held   = [&](int k) {
            return k >= 0 && k < row<Tile, Dim>::parts ? x.part[k][element] : 0.0F;
        };
        if (ahead == 0) {
            result[i] = held(part);
        } else {
            float const sent = place >= ahead ? held(part) : held(part + 1);
            int const source = Tile::order::lane((place + ahead) & (lanes - 1));
            result[i]        = tile.wave.shuffle(sent, tile.index() * lanes + source, at);
        }
    }
    return result;
}

/// The rotation partner of each element that the lane holds in part `Part`; unspecified for dims that do not
/// turn.
template <int Part, class Tile, int Dim>
KVLOOM_FN vec<float, chunk_size> partners(Tile tile, row<Tile, Dim> const& x, site at)
{
    using turned                      = detail::turned<Tile>;
    constexpr int chunks              = turned::half_chunks;
    [[maybe_unused]] bool const first = tile.chunk(Part) < chunks;
    vec<float, chunk_size> result;
    if constexpr (turned::whole_chunks && chunks % Tile::size == 0) {
        constexpr int parts = chunks / Tile::size;
        return x.part[Part < parts ? Part + parts : Part - parts];
    } else if constexpr (turned::whole_chunks && 2 * chunks <= Tile::size && (chunks & (chunks - 1)) == 0) {
        constexpr int mask = is_same_v<typename Tile::order, mirrored_order> ? 2 * chunks - 1 : chunks;
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; ++i) {
            result[i] = tile.wave.template exchange<mask>(x.part[Part][i], at);
        }
        return result;
    } else if constexpr (turned::whole_chunks && 2 * chunks <= Tile::size && Tile::size <= 16) {
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; ++i) {
            float const later   = tile.wave.template shift<chunks>(x.part[Part][i], at);
            float const earlier = tile.wave.template shift<-chunks>(x.part[Part][i], at);
            result[i]           = first ? later : earlier;
        }
        return result;
    } else {
        auto const later   = shifted<turned::half, Part>(tile, x, at);
        auto const earlier = shifted<-turned::half, Part>(tile, x, at);
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; ++i) {
            result[i] = tile.chunk(Part) * chunk_size + i < turned::half ? later[i] : earlier[i];
        }
        return result;
    }
}

template <int Part, class Rounding, class Tile, int Dim>
KVLOOM_FN void turn_part(Tile tile, row<Tile, Dim> const& x, angles<Tile> const& turn, row<Tile, Dim>& y,
                         site at)
{
    using turned = detail::turned<Tile>;
    if constexpr (Part < turned::parts) {
        auto const partner = partners<Part>(tile, x, at);
        vec<float, chunk_size> across;
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; ++i) {
            across[i] = Rounding::product(partner[i], turn.sine[Part][i]);
        }
        if constexpr (turned::whole_chunks) {
            if (tile.chunk(Part) < 2 * turned::half_chunks) {
                KVLOOM_UNROLL
                for (int i = 0; i < chunk_size; ++i) {
                    y.part[Part][i] = Rounding::turn(x.part[Part][i], turn.cosine[Part][i], across[i]);
                }
            }
        } else {
            KVLOOM_UNROLL
            for (int i = 0; i < chunk_size; ++i) {
                float const value = Rounding::turn(x.part[Part][i], turn.cosine[Part][i], across[i]);
                y.part[Part][i] = tile.chunk(Part) * chunk_size + i < turned::dims ? value : x.part[Part][i];
            }
        }
        turn_part<Part + 1, Rounding>(tile, x, turn, y, at);
    }
}

} // namespace detail

/// Turns the pairs (i, i + R/2) of the first R = Tile::rotary::dims dims: y_i = x_i cos - x_(i+R/2) sin,
/// y_(i+R/2) = x_(i+R/2) cos + x_i sin, each as fma(own, cos, partner * (-)sin). The other dims pass bit for
/// bit.
///
/// Collective: every lane of the wave calls. @cost one cross-lane move an element for R/2 a power of two of
/// chunks, else two
template <class Rounding = fused_rotation, class Tile, int Dim>
KVLOOM_FN row<Tile, Dim> rope_neox(Tile tile, row<Tile, Dim> const& x, angles<Tile> const& turn,
                                   site at = site::here())
{
    static_assert(is_tile_v<Tile>, "rope_neox: the first argument must be a tile");
    static_assert(Tile::rotary::dims <= Dim, "rope_neox: more dims to turn than the row has");
    row<Tile, Dim> y = x;
    detail::turn_part<0, Rounding>(tile, x, turn, y, at);
    return y;
}

/// Turns several rows by the same angles.
template <class Rounding = fused_rotation, class Tile, int Dim, int Count>
KVLOOM_FN rows<Tile, Dim, Count> rope_neox(Tile tile, rows<Tile, Dim, Count> x, angles<Tile> const& turn,
                                           site at = site::here())
{
    KVLOOM_UNROLL
    for (int i = 0; i < Count; ++i) {
        x[i] = rope_neox<Rounding>(tile, x[i], turn, at);
    }
    return x;
}

} // namespace v0
} // namespace kvloom
