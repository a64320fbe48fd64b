// SPDX-License-Identifier: MIT
// Matrix units and the tile of attention: their maps, and their products against plain ones.
#include "contract/scalar_formats.hpp"
#include "kvloom/matrix/attention_tile.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/machines.hpp"

#include <vector>

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class T>
constexpr scalar_model::dtype format_of()
{
    return is_same_v<T, bf16>       ? scalar_model::dtype::bf16
           : is_same_v<T, fp16>     ? scalar_model::dtype::fp16
           : is_same_v<T, fp8_e4m3> ? scalar_model::dtype::fp8_e4m3
                                    : scalar_model::dtype::fp8_e4m3_fnuz;
}

/// Whether a map of lanes and their elements names each place of a matrix once.
template <class Map>
bool covers_once(Map const& map, int const lanes, int const elements, int const rows, int const columns)
{
    std::vector<int> visits(static_cast<std::size_t>(rows * columns), 0);
    for (int lane = 0; lane < lanes; ++lane) {
        for (int e = 0; e < elements; ++e) {
            matrix_coord const at = map(lane, e);
            if (at.row < 0 || at.row >= rows || at.column < 0 || at.column >= columns) {
                return false;
            }
            ++visits[static_cast<std::size_t>(at.row * columns + at.column)];
        }
    }
    return std::count(visits.begin(), visits.end(), 1) == rows * columns;
}

template <class Unit>
void check_maps()
{
    constexpr int a_elements = Unit::a_words * word_size<typename Unit::element>;
    constexpr int b_elements = Unit::b_words * word_size<typename Unit::element>;
    CHECK(covers_once([](int lane, int e) { return Unit::a(lane, e); }, Unit::lanes, a_elements, Unit::m,
                      Unit::k));
    CHECK(covers_once([](int lane, int e) { return Unit::b(lane, e); }, Unit::lanes, b_elements, Unit::k,
                      Unit::n));
    CHECK(covers_once([](int lane, int e) { return Unit::c(lane, e); }, Unit::lanes, Unit::c_numbers, Unit::m,
                      Unit::n));
}

/// Operands of all lanes: [lane][word] and [lane][number].
struct product_args
{
    u32 const* a;
    u32 const* b;
    float const* c;
    float* out;
};

/// Whether a machine has a unit; the model of a wave has all of its size.
template <class Unit>
KVLOOM_FN constexpr bool is_there([[maybe_unused]] arch_id const arch)
{
#if KVLOOM_TEST_BACKEND_HIP
    bool const fp8 = sizeof(typename Unit::element) == 1;
    return arch == arch_id::host_cdna || Unit::k == 16
           || (arch == arch_id::gfx942 && is_same_v<typename Unit::element, fp8_e4m3_fnuz>)
           || (arch == arch_id::gfx950 && (!fp8 || is_same_v<typename Unit::element, fp8_e4m3>));
#else
    return true;
#endif
}

template <class Unit>
struct product_probe
{
    static constexpr launch_bounds bounds = {Unit::lanes, 1, 1};
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, product_args const& args) const
    {
        using wave_type = typename Block::wave_type;
        if constexpr (Unit::lanes == wave_type::size && is_there<Unit>(wave_type::arch)) {
            int const lane = block.wave().lane();
            a_operand<Unit> a;
            b_operand<Unit> b;
            accumulator<Unit> c;
            for (int i = 0; i < Unit::a_words; ++i) {
                a[i] = args.a[lane * Unit::a_words + i];
            }
            for (int i = 0; i < Unit::b_words; ++i) {
                b[i] = args.b[lane * Unit::b_words + i];
            }
            for (int i = 0; i < Unit::c_numbers; ++i) {
                c[i] = args.c[lane * Unit::c_numbers + i];
            }
            c = multiply_add<Unit>(block.wave(), a, b, c);
            for (int i = 0; i < Unit::c_numbers; ++i) {
                args.out[lane * Unit::c_numbers + i] = c[i];
            }
        }
    }
};

/// A matrix of numbers that the format holds: small integers, whose products add up exactly, or any.
std::vector<double> make_matrix(random_source& random, scalar_model::dtype const type, int const size,
                                bool const integers)
{
    std::vector<double> numbers;
    for (int i = 0; i < size; ++i) {
        double const number =
            integers ? random.below(17) - 8 : std::ldexp(random.normal(), random.below(6) - 3);
        numbers.push_back(scalar_model::decode(type, scalar_model::encode(type, number)));
    }
    return numbers;
}

/// A matrix as the operands of all lanes.
template <class T, class Map>
std::vector<u32> pack(std::vector<double> const& numbers, Map const& map, int const lanes, int const words,
                      int const columns)
{
    constexpr int per_word = word_size<T>;
    std::vector<u32> packed(static_cast<std::size_t>(lanes * words), 0U);
    for (int lane = 0; lane < lanes; ++lane) {
        for (int e = 0; e < words * per_word; ++e) {
            matrix_coord const at = map(lane, e);
            double const number   = numbers[static_cast<std::size_t>(at.row * columns + at.column)];
            packed[static_cast<std::size_t>(lane * words + e / per_word)] |=
                scalar_model::encode(format_of<T>(), number) << e % per_word * 32 / per_word;
        }
    }
    return packed;
}

template <class Unit, class Stream>
void check_product(Stream const& stream, bool const integers)
{
    using element = typename Unit::element;
    random_source random(integers ? 3 : 4);
    auto const a = make_matrix(random, format_of<element>(), Unit::m * Unit::k, integers);
    auto const b = make_matrix(random, format_of<element>(), Unit::k * Unit::n, integers);
    auto const c = make_matrix(random, scalar_model::dtype::fp32, Unit::m * Unit::n, integers);
    std::vector<float> sums;
    for (int lane = 0; lane < Unit::lanes; ++lane) {
        for (int e = 0; e < Unit::c_numbers; ++e) {
            matrix_coord const at = Unit::c(lane, e);
            sums.push_back(static_cast<float>(c[static_cast<std::size_t>(at.row * Unit::n + at.column)]));
        }
    }
    auto const map_a = [](int lane, int e) { return Unit::a(lane, e); };
    auto const map_b = [](int lane, int e) { return Unit::b(lane, e); };
    device_array<u32> const packed_a(pack<element>(a, map_a, Unit::lanes, Unit::a_words, Unit::k));
    device_array<u32> const packed_b(pack<element>(b, map_b, Unit::lanes, Unit::b_words, Unit::n));
    device_array<float> const given(sums);
    device_array<float> const out(sums.size(), -1e30F);
    run<product_probe<Unit>>(stream,
                             product_args{packed_a.data(), packed_b.data(), given.data(), out.data()});
    auto const got = out.values();
    for (int lane = 0; lane < Unit::lanes; ++lane) {
        for (int e = 0; e < Unit::c_numbers; ++e) {
            matrix_coord const at = Unit::c(lane, e);
            double want           = c[static_cast<std::size_t>(at.row * Unit::n + at.column)];
            double size           = std::fabs(want);
            for (int i = 0; i < Unit::k; ++i) {
                double const one = a[static_cast<std::size_t>(at.row * Unit::k + i)]
                                   * b[static_cast<std::size_t>(i * Unit::n + at.column)];
                want += one;
                size += std::fabs(one);
            }
            CAPTURE(lane, e, at.row, at.column, integers);
            double const slack = integers ? 0.0 : size * std::ldexp(1.0, -21);
            REQUIRE(std::fabs(double(got[static_cast<std::size_t>(lane * Unit::c_numbers + e)]) - want)
                    <= slack);
        }
    }
}

template <class Unit>
void check_unit()
{
    check_maps<Unit>();
    on_every_machine([](char const* machine, auto const& stream) {
        INFO(machine);
        if (!is_there<Unit>(arch_of(stream))) {
            WARN(std::string(machine) + " has no unit of " + std::to_string(Unit::k) + " products and "
                 + std::to_string(8 * sizeof(typename Unit::element)) + "-bit elements of this format");
            return;
        }
        if constexpr (std::decay_t<decltype(stream)>::wave_size == Unit::lanes) {
            check_product<Unit>(stream, true);
            check_product<Unit>(stream, false);
        }
    });
}

/// Maps alone where the machine under test lacks the unit.
template <class Unit>
void check_modelled_unit()
{
#if KVLOOM_TEST_BACKEND_HOST
    check_unit<Unit>();
#else
    check_maps<Unit>();
#endif
}

/// Where an AMD processor is under test, its products if it has the unit.
template <class Unit>
void check_unit_of_some()
{
#if KVLOOM_TEST_BACKEND_CUDA
    check_maps<Unit>();
#else
    check_unit<Unit>();
#endif
}

/// Which of the numbers that a product sums over the operand of keys or values, or of rows, has as number `n` of the
/// lane's.
template <class Tile>
int summed_by_other(int const lane, int const n)
{
    return Tile::keys_first ? Tile::unit::a(lane, n).column : Tile::unit::b(lane, n).row;
}
/// The element of the operand of rows that is number `n` of the lane's row r: as pack() lays them out.
template <class Tile>
int element_of_rows(int const r, int const n)
{
    constexpr int word = word_size<typename Tile::element>;
    return word * (n / word * Tile::unit_rows + r) + n % word;
}
template <class Tile>
int summed_by_rows(int const lane, int const r, int const n)
{
    int const e = element_of_rows<Tile>(r, n);
    return Tile::keys_first ? Tile::unit::b(lane, e).row : Tile::unit::a(lane, e).column;
}

template <class Tile>
void check_tile_operands()
{
    using unit = typename Tile::unit;
    for (int lane = 0; lane < unit::lanes; ++lane) {
        for (int n = 0; n < Tile::per_lane; ++n) {
            matrix_coord const other = Tile::keys_first ? unit::a(lane, n) : unit::b(lane, n);
            CAPTURE(lane, n);
            REQUIRE((Tile::keys_first ? other.row : other.column) == Tile::index(lane));
            for (int r = 0; r < Tile::lane_rows; ++r) {
                int const e             = element_of_rows<Tile>(r, n);
                matrix_coord const rows = Tile::keys_first ? unit::b(lane, e) : unit::a(lane, e);
                REQUIRE((Tile::keys_first ? rows.column : rows.row) == Tile::row(lane, r));
                REQUIRE(summed_by_rows<Tile>(lane, r, n) == summed_by_other<Tile>(lane, n));
            }
        }
    }
}

template <class Tile>
void check_tile_sums()
{
    using unit = typename Tile::unit;
    for (int lane = 0; lane < unit::lanes; ++lane) {
        for (int e = 0; e < unit::c_numbers; ++e) {
            matrix_coord const at = unit::c(lane, e);
            int const row         = Tile::keys_first ? at.column : at.row;
            int const other       = Tile::keys_first ? at.row : at.column;
            CAPTURE(lane, e);
            REQUIRE(row == Tile::row(lane, Tile::own_row(e)));
            REQUIRE(other == Tile::own_dim(lane, e));
            REQUIRE(Tile::counts(e) == (Tile::keys_first || row < Tile::rows));
            for (int tile = 0; tile < Tile::score_tiles; ++tile) {
                REQUIRE(Tile::group_of(other) == Tile::group(lane));
                REQUIRE(Tile::number_of(tile, other) == Tile::own_token(tile, e));
            }
        }
    }
    std::vector<int> visits(Tile::depth, 0);
    for (int tile = 0; tile < Tile::score_tiles; ++tile) {
        for (int at = 0; at < Tile::width; ++at) {
            ++visits[static_cast<std::size_t>(Tile::per_lane * Tile::group_of(at)
                                              + Tile::number_of(tile, at))];
        }
    }
    CHECK(std::count(visits.begin(), visits.end(), 1) == Tile::depth);
}

template <class Unit>
void check_tile()
{
    check_tile_operands<attention_tile<Unit>>();
    check_tile_sums<attention_tile<Unit>>();
    check_tile_operands<attention_tile<Unit, 8>>();
    check_tile_sums<attention_tile<Unit, 8>>();
}

} // namespace

TEST_CASE("matrix units of NVIDIA: maps and products", "[matrix]")
{
#if KVLOOM_TEST_BACKEND_HIP
    check_modelled_unit<mma_16x8<bf16>>();
    check_modelled_unit<mma_16x8<fp16>>();
#else
    check_unit<mma_16x8<bf16>>();
    check_unit<mma_16x8<fp16>>();
#endif
    check_modelled_unit<mma_16x8<fp8_e4m3>>();
}

TEST_CASE("matrix units of CDNA: maps and products", "[matrix]")
{
#if KVLOOM_TEST_BACKEND_CUDA
    check_modelled_unit<mfma_16x16x16<bf16>>();
    check_modelled_unit<mfma_16x16x16<fp16>>();
#else
    check_unit<mfma_16x16x16<bf16>>();
    check_unit<mfma_16x16x16<fp16>>();
#endif
    check_modelled_unit<mfma_16x16x16<fp8_e4m3>>();
    check_unit_of_some<mfma_16x16x32<bf16>>();
    check_unit_of_some<mfma_16x16x32<fp16>>();
    check_unit_of_some<mfma_16x16x32<fp8_e4m3>>();
    check_unit_of_some<mfma_16x16x32<fp8_e4m3_fnuz>>();
}

TEST_CASE("dot units: the products of a matrix unit by vector instructions", "[matrix]")
{
#if KVLOOM_TEST_BACKEND_HIP // the machines of this backend have waves of 64
    check_modelled_unit<dot_16x8<bf16>>();
    check_modelled_unit<dot_16x8<fp16>>();
#else
    check_unit<dot_16x8<bf16>>();
    check_unit<dot_16x8<fp16>>();
#endif
}

TEST_CASE("attention_tile: operands and sums of both products lie where the maps of the unit say", "[matrix]")
{
    check_tile<mma_16x8<bf16>>();
    check_tile<mma_16x8<fp16>>();
    check_tile<mfma_16x16x16<bf16>>();
    check_tile<mfma_16x16x16<fp16>>();
    check_tile<mfma_16x16x32<bf16>>();
    check_tile<mfma_16x16x32<fp16>>();
    check_tile<mma_16x8<fp8_e4m3>>();
    check_tile<mfma_16x16x32<fp8_e4m3>>();
    check_tile<mfma_16x16x32<fp8_e4m3_fnuz>>();
}
