// SPDX-License-Identifier: MIT
// Paged decode of fp8 caches without scales.
#include "contract/decode_check.hpp"

using namespace kvloom;
using namespace kvloom_test;

namespace {

template <class T>
struct unscaled : decode_problem
{
    using key_cache   = shuffled_keys<T, 128>;
    using value_cache = shuffled_values<T, 128>;
    using lse         = natural_lse;
};

/// Few rows to a head, many, gaps, pages that do not exist, and every cut.
template <class T>
void check_fp8()
{
    decode_options o;
    o.lengths  = {0, 1, 17, 63, 64, 65, 300, 1400};
    o.heads    = 6;
    o.kv_heads = 2;
    for (int const blocks : {1, 5}) {
        o.blocks = blocks;
        check_decode<unscaled<T>>(o);
    }
    o.lengths  = {530, 31};
    o.count    = 3;
    o.heads    = 11;
    o.kv_heads = 1;
    o.caches   = page_form::apart;
    o.faulty   = true;
    check_decode<unscaled<T>>(o);
}

/// Codes in slots that hold no token change no bit.
template <class Problem>
void check_stale(std::vector<int> const& codes)
{
    decode_options o;
    o.lengths        = {13};
    o.stale          = 0;
    auto const zeros = scene_for<Problem>(o);
    for (int const code : codes) {
        o.stale          = code;
        auto const other = scene_for<Problem>(o);
        on_every_machine([&](char const* machine, auto const& stream) {
            CAPTURE(machine, code);
            CHECK((bytes_of<Problem>(stream, other) == bytes_of<Problem>(stream, zeros)));
        });
    }
}

} // namespace

TEST_CASE("paged_decode: fp8 without scales", "[contract][decode]")
{
    check_fp8<fp8_e4m3>();
    check_fp8<fp8_e4m3_fnuz>();
}

TEST_CASE("NaN in fp8 slots that hold no token changes no bit", "[contract][cases]") // B34
{
    check_stale<unscaled<fp8_e4m3>>({0x7F, 0xFF, 0x7E, 0x80});
    check_stale<unscaled<fp8_e4m3_fnuz>>({0x80, 0x7F, 0xFF});
}
