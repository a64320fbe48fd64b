// SPDX-License-Identifier: MIT
// A kernel composed of ops normalises, rotates and stores keys in SHUFFLE pages; a plain loop checks them.
#include "../support/machine.hpp"
#include "../support/rows.hpp"
#include <kvloom/backend/message.hpp>
#include <kvloom/kvloom.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

using kvloom::bf16;
using kvloom::i64;

using plain::dim;
using plain::rotary;

constexpr int page_size = 16;
constexpr int pages     = 4;
constexpr int positions = 32;

using cache_layout = kvloom::shuffled_keys<bf16, dim, page_size>;

struct key_args
{
    int tokens       = 0;
    float eps        = 1e-6F;
    bf16 const* gain = nullptr;
    kvloom::angle_table<bf16> angles;
    i64 const* positions = nullptr;
    i64 const* slots     = nullptr;
    kvloom::head_rows<bf16 const, dim> keys_in;
    kvloom::paged_view<cache_layout> keys;
};

/// The kernel: a functor over a block, which names no machine.
struct prepare_keys
{
    static constexpr kvloom::launch_bounds bounds = {128, 1, 1, true}; // see launch_bounds.hpp
    struct shared
    {};

    template <class Block>
    KVLOOM_FN void operator()(Block const& block, key_args const& a) const
    {
        auto const tile = kvloom::tile<16, kvloom::rotary<rotary>>(block); // 16 lanes hold a row of 128
        auto const gain = kvloom::load(tile, kvloom::row_span<bf16 const, dim>{a.gain});
        tile.wave.dependency(); // from here on what the kernel before wrote may be read
        for (auto const [token, live] : kvloom::adjacent_tokens(block, tile, a.tokens)) {
            auto const turn = kvloom::load_angles(tile, a.angles, a.positions[token]);
            auto key        = kvloom::load(tile, a.keys_in.row(token, 0));
            key             = kvloom::rms_norm(tile, key, kvloom::one_plus(gain), a.eps);
            key             = kvloom::rope_neox(tile, key, turn);
            kvloom::insert(tile, a.keys, kvloom::place(a.keys, live ? a.slots[token] : -1), 0, key);
        }
    }
};

/// What goes in.
struct inputs
{
    std::vector<bf16> rows;
    std::vector<bf16> gain;
    std::vector<bf16> angles; ///< [position][cos of 32 | sin of 32]
    std::vector<i64> position;
    std::vector<i64> slot;

    int tokens() const { return int(slot.size()); }
};

inputs make_inputs()
{
    constexpr int tokens = 21;
    inputs in;
    in.rows   = plain::random_values(std::size_t{tokens * dim}, 1, 2.0F);
    in.gain   = plain::random_values(std::size_t{dim}, 2, 0.5F);
    in.angles = plain::angles(positions, 1e4);
    for (int t = 0; t < tokens; ++t) {
        in.position.push_back(t * 13 % positions);
        in.slot.push_back(t == 5 ? -1 : 3 + 2 * t); // token 5 has no place in the cache
    }
    return in;
}

/// A token's key as the formula has it, in double precision.
plain::row expected_key(inputs const& in, int const token)
{
    return plain::prepared(&in.rows[std::size_t(token * dim)], in.gain.data(),
                           &in.angles[std::size_t(in.position[token] * rotary)]);
}

/// Half a step of bf16 at this magnitude, and a little for what fp32 arithmetic rounds.
double tolerance(double const exact)
{
    return std::ldexp(1.0, std::ilogb(std::max(std::fabs(exact), 1e-30)) - 8) + 4e-6;
}

template <class Stream>
bool compose_on(char const* const machine, Stream const& stream, inputs const& in)
{
    bf16 const untouched{0x5a5a};
    example::array<bf16> const rows(in.rows);
    example::array<bf16> const gain(in.gain);
    example::array<bf16> const angles(in.angles);
    example::array<i64> const position(in.position);
    example::array<i64> const slot(in.slot);
    example::array<bf16> const cache(std::vector<bf16>(pages * cache_layout::elements, untouched));

    key_args args;
    args.tokens               = in.tokens();
    args.gain                 = gain.data();
    args.angles               = {angles.data(), positions, rotary};
    args.positions            = position.data();
    args.slots                = slot.data();
    args.keys_in.data         = rows.data();
    args.keys_in.heads        = 1;
    args.keys_in.token_stride = dim;
    args.keys.data            = cache.data();
    args.keys.pages           = pages;
    args.keys.heads           = 1;
    args.keys.page_stride     = cache_layout::elements;

    constexpr int blocks         = 3;
    kvloom::status const outcome = launch(stream, prepare_keys{}, args, blocks);
    if (!outcome.ok()) {
        throw std::runtime_error(message(outcome));
    }

    std::vector<bf16> left = cache.values();
    int compared           = 0;
    int wrong              = 0;
    for (int t = 0; t < in.tokens(); ++t) {
        if (in.slot[t] < 0) {
            continue;
        }
        std::vector<double> const key = expected_key(in, t);
        for (int d = 0; d < dim; ++d) {
            bf16& stored = left[in.slot[t] / page_size * cache_layout::elements
                                + cache_layout::offset(int(in.slot[t] % page_size), d)];
            ++compared;
            wrong += std::fabs(kvloom::decode(stored) - key[d]) <= tolerance(key[d]) ? 0 : 1;
            stored = untouched;
        }
    }
    long const strays =
        std::count_if(left.begin(), left.end(), [&](bf16 const value) { return value != untouched; });
    std::printf("%s: %d keys of %d elements, %d compared with a plain loop in double precision, %d wrong;\n"
                "elements written that no token owns: %ld\n",
                machine, in.tokens() - 1, dim, compared, wrong, strays);
    return wrong == 0 && strays == 0;
}

} // namespace

int main()
{
    if (!example::has_machine()) {
        std::puts("SKIPPED: no GPU");
        return 77;
    }
    try {
        inputs const in = make_inputs();
        bool good       = true;
        example::on_each_machine([&](char const* const machine, auto const& stream) {
            good = compose_on(machine, stream, in) && good;
        });
        return good ? 0 : 1;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "compose: %s\n", error.what());
        return 1;
    }
}
