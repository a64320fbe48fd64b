// SPDX-License-Identifier: MIT
// What group/algorithm.hpp refuses.
#include "kvloom/group/algorithm.hpp"
#include "machine.hpp"

using namespace kvloom;

float exchanges(machine_tile tile, float x)
{
    // refuses: exchange: the first argument must be a tile
    // wrong: x = exchange<1>(tile.wave, x);
    x = exchange<1>(tile, x);

    // refuses: exchange: the mask must keep the lane in its tile
    // wrong: return exchange<16>(tile, x);
    // wrong: return exchange<0>(tile, x);
    return exchange<15>(tile, x);
}

float broadcasts(machine_tile tile, float x)
{
    // refuses: broadcast: the first argument must be a tile
    // wrong: x = broadcast<0>(tile.wave, x);
    x = broadcast<0>(tile, x);

    // refuses: broadcast: no such lane in the tile
    // wrong: return broadcast<16>(tile, x);
    // wrong: return broadcast<-1>(tile, x);
    return broadcast<15>(tile, x);
}

auto broadcasts_words(machine_tile tile, float x)
{
    // refuses: broadcast: the value must consist of words of 4 bytes
    // wrong: return broadcast<0>(tile, x > 0.0F);
    return broadcast<0>(tile, double(x));
}

bool votes(machine_tile tile, bool predicate)
{
    // refuses: any: the first argument must be a tile
    // wrong: return any(tile.wave, predicate);
    return any(tile, predicate);
}

float sums(machine_tile tile, float x)
{
    // refuses: all_reduce: the first argument must be a tile
    // wrong: return all_reduce(tile.wave, x, plus{});
    return all_reduce(tile, x, plus{});
}

template <int Group, class Tile, int Count>
auto sums_of_rows(Tile tile, vec<float, Count> x)
{
    return sum_rows<Group>(tile, x, [](float sum) { return sum; });
}

template <int Group, class Tile, int Count>
auto largest_sorted(Tile tile, vec<float, Count> x)
{
    return reduce_sorted<Group>(tile, x, maximum{});
}

void sorted(machine_tile tile, vec<float, 4> four)
{
    // refuses: reduce_sorted: the first argument must be a tile
    // wrong: largest_sorted<1>(tile.wave, four);
    largest_sorted<1>(tile, four);

    // refuses: reduce_sorted: the number of values must be 2 or 4
    // wrong: largest_sorted<1>(tile, vec<float, 1>{});
    largest_sorted<1>(tile, vec<float, 2>{});

    // refuses: reduce_sorted: the values must fall into whole groups
    // wrong: largest_sorted<3>(tile, four);
    largest_sorted<2>(tile, four);
}

void sums_together(machine_tile tile, vec<float, 4> four)
{
    // refuses: reduce_rows: the first argument must be a tile
    // wrong: sums_of_rows<1>(tile.wave, four);
    sums_of_rows<1>(tile, four);

    // refuses: reduce_rows: the number of values must be 1, 2 or 4
    // wrong: sums_of_rows<1>(tile, vec<float, 3>{});
    sums_of_rows<1>(tile, vec<float, 2>{});

    // refuses: reduce_rows: the values must fall into whole groups
    // wrong: sums_of_rows<3>(tile, four);
    sums_of_rows<2>(tile, four);
}
