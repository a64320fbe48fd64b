// SPDX-License-Identifier: MIT
// RoPE: pairs of the first R dims of a row turn by the angles of their position, in NeoX or in interleaved pairing.
#pragma once

#include "kvloom/op/angles.hpp"

namespace kvloom {
inline namespace v0 {

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

/// Elements of a chunk with the two of each pair exchanged.
KVLOOM_FN vec<float, chunk_size> exchanged(vec<float, chunk_size> const& x)
{
    vec<float, chunk_size> result;
    KVLOOM_UNROLL
    for (int i = 0; i < chunk_size; ++i) {
        result[i] = x[i ^ 1];
    }
    return result;
}

template <int Part, class Pairs, class Rounding, class Tile, int Dim>
KVLOOM_FN void turn_part(Tile tile, row<Tile, Dim> const& x, angles<Tile> const& turn, row<Tile, Dim>& y,
                         site at)
{
    using turned = detail::turned<Tile>;
    if constexpr (Part < turned::parts) {
        vec<float, chunk_size> partner;
        if constexpr (is_same_v<Pairs, neox_pairs>) {
            partner = partners<Part>(tile, x, at);
        } else {
            partner = exchanged(x.part[Part]);
        }
        vec<float, chunk_size> across;
        KVLOOM_UNROLL
        for (int i = 0; i < chunk_size; ++i) {
            across[i] = tile.wave.worked_out(Rounding::product(partner[i], turn.sine[Part][i]));
        }
        if constexpr (turned::dims % chunk_size == 0) {
            if (tile.chunk(Part) * chunk_size < turned::dims) {
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
        turn_part<Part + 1, Pairs, Rounding>(tile, x, turn, y, at);
    }
}

} // namespace detail

/// Turns the pairs (i, i + R/2) of the first R = Tile::rotary::dims dims: y_i = x_i cos - x_(i+R/2) sin,
/// y_(i+R/2) = x_(i+R/2) cos + x_i sin, each as fma(own, cos, partner * (-)sin). The other dims pass bit for
/// bit. `turn` comes from load_angles.
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
    detail::turn_part<0, neox_pairs, Rounding>(tile, x, turn, y, at);
    return y;
}

/// The same for the pairs (2i, 2i + 1); `turn` comes from load_angles<interleaved_pairs>. @cost no communication
template <class Rounding = fused_rotation, class Tile, int Dim>
KVLOOM_FN row<Tile, Dim> rope_interleaved(Tile tile, row<Tile, Dim> const& x, angles<Tile> const& turn,
                                          site at = site::here())
{
    static_assert(is_tile_v<Tile>, "rope_interleaved: the first argument must be a tile");
    static_assert(Tile::rotary::dims <= Dim, "rope_interleaved: more dims to turn than the row has");
    row<Tile, Dim> y = x;
    detail::turn_part<0, interleaved_pairs, Rounding>(tile, x, turn, y, at);
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
