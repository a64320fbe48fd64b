// SPDX-License-Identifier: MIT
// Every pair of choices that can meet in a problem of the fused insert does meet in one that is tested.
#include "contract/describe.hpp"
#include "support/catch.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

using namespace kvloom_test;

namespace {

using choice = std::pair<std::string, std::string>; // of an axis, the value

/// What a problem chooses on each axis.
template <class Problem>
std::vector<choice> choices()
{
    using types      = insert_types<Problem>;
    auto const p     = describe<Problem>();
    auto const named = [](bool const yes, char const* const one, char const* const other) {
        return yes ? one : other;
    };
    using scalar_model::layout;
    using scalar_model::norm_kind;
    using scalar_model::scale_mode;
    bool const scaled = p.scale != scale_mode::none && p.scale != scale_mode::unit;
    return {
        {"activation", std::to_string(static_cast<int>(p.activation))},
        {"cache", std::to_string(static_cast<int>(p.cache))},
        {"layout", p.key_order == layout::rows
                       ? named(p.page_size == 1, "a row a page", "rows")
                       : named(p.value_order == layout::transposed, "transposed", "shuffled")},
        {"blocks", named(p.block_pages > 1, "packed", "apart")},
        {"head size", std::to_string(p.head_dim)},
        {"rotary", p.rotary_dim == 0            ? "none"
                   : p.rotary_dim == p.head_dim ? "whole"
                                                : named(p.rotary_dim / 2 % 8 == 0, "chunks", "odd")},
        {"scale", p.rule.found    ? "found"
                  : p.head_scales ? "head"
                                  : named(scaled, "given", "none")},
        {"norm", std::to_string(static_cast<int>(p.k_norm))},
        {"v norm", named(p.v_norm == norm_kind::none, "no", "yes")},
        {"scope", named(p.over_vector, "vector", "head")},
        {"index", p.has_index ? named(scalar_model::is_fp8(p.index_cache), "fp8", "16 bits") : "no"},
        {"pairs", named(p.interleaved, "interleaved", "neox")},
        {"sections", named(p.position_sections() == 1, "one", "three")},
        {"heads", named(is_same_v<typename Problem::heads, dense_heads>, "dense", "strided")},
        {"query", named(scalar_model::is_fp8(p.query), "fp8", "16 bits")},
        {"keys out", named(p.keys_out, "yes", "no")},
        {"faults", named(p.counts_faults, "counted", "ignored")},
        {"slot", std::to_string(sizeof(typename types::slot))},
        {"position", std::to_string(sizeof(typename types::position))},
    };
}

template <class... Problems>
std::vector<std::vector<choice>> choices_of_all()
{
    return {choices<Problems>()...};
}

std::string pair_name(choice const& a, choice const& b)
{
    return a.first + " " + a.second + ", " + b.first + " " + b.second;
}

/// Pairs that no problem can have: only fp8 has scales, nothing turns without a rotary size, and a norm over the
/// vector is a norm.
std::set<std::string> const impossible = {
    "cache 1, scale found", "cache 1, scale given", "cache 1, scale head",  "cache 2, scale found",
    "cache 2, scale given", "cache 2, scale head",  "norm 0, scope vector", "rotary none, sections three",
};

} // namespace

TEST_CASE("every pair of choices that can meet meets in a problem", "[contract]")
{
    auto const all = choices_of_all<
        m3_bf16, m3_strided, m3_static, m3_seed, fnuz_static_96, half_fnuz_unit, half_page_64, half_cache_20,
        half_to_bf16_32, half_seed_no_rope, bare_page_64, unit_96, half_fnuz_seed_20, weightless_32,
        own_contract, rows_page_1, rows_page_128, transposed_bf16, transposed_unit_64, rows_static_16,
        native_unit, trtllm_rounded, trtllm_exact, flashinfer_rows, transformers_m3, transformers_qwen3,
        token_scales, token_scales_rows, token_scales_exact, token_writer, quant_shuffle, packed_head_scales,
        packed_bf16, packed_rows, minimax_m2, vector_half, qwen3_vl, sectioned_pairs, qwen3_next,
        wide_token_scales, gemma4, gemma4_fp8, narrow_heads, cover_0, cover_1, cover_2, cover_3, cover_4,
        cover_5, cover_6, cover_7, cover_8, cover_9, cover_10, cover_11, cover_12, cover_13, cover_14>();
    std::map<std::string, std::set<std::string>> values;
    std::set<std::string> met;
    for (auto const& problem : all) {
        for (auto const& a : problem) {
            values[a.first].insert(a.second);
            for (auto const& b : problem) {
                met.insert(pair_name(a, b));
            }
        }
    }
    CHECK(values.size() == 19);
    std::set<std::string> missing;
    for (auto const& a : values) {
        for (auto const& b : values) {
            for (auto const& x : a.second) {
                for (auto const& y : b.second) {
                    auto const name = pair_name({a.first, x}, {b.first, y});
                    if (a.first < b.first && met.count(name) == 0) {
                        missing.insert(name);
                    }
                }
            }
        }
    }
    CHECK(missing == impossible);
}
