// SPDX-License-Identifier: MIT
// What the guide's snippets take for granted: rows, weights, angles and slots in a serving engine's memory.
#pragma once

#include "kvloom/kernel/qk_norm_rope_insert.hpp"
#include "support/buffers.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/machines.hpp"

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

namespace kvloom_test {

/// A formula's key or query, and where its angles come from.
struct row_formula
{
    int dim                  = 128;
    int rotary               = 64;
    kvloom::bf16 const* gain = nullptr; ///< none: no weights
    double offset            = 1.0;     ///< added to each weight
    bool interleaved         = false;
    double mean_square       = -1.0; ///< negative: that of the row itself
};

/// A fixture: its members are the variables of the guide.
class engine
{
    random_source random_{7};
    std::vector<std::shared_ptr<void>> owned_;

public:
    static constexpr int tokens        = 20;
    static constexpr int pages         = 4;
    static constexpr int max_positions = 64;
    static constexpr int lost          = 5; ///< the token without a slot

    kvloom::host::stream<kvloom::host::warp32> stream;
    kvloom::bf16* qkv          = numbers(tokens * 12000, 1.0);
    kvloom::bf16* q_gain       = numbers(64 * 128, 0.25);
    kvloom::bf16* k_gain       = numbers(64 * 128, 0.25);
    kvloom::bf16* index_q_gain = numbers(128, 0.25);
    kvloom::bf16* index_k_gain = numbers(128, 0.25);
    kvloom::i64* positions     = memory<kvloom::i64>(tokens);
    kvloom::i64* slots         = memory<kvloom::i64>(tokens);

    engine()
    {
        for (int t = 0; t < tokens; ++t) {
            positions[t] = t * 13 % max_positions;
            slots[t]     = t == lost ? -1 : 3 + 2 * t;
        }
    }

    /// Zeros, aligned as a launch wants them.
    template <class T>
    T* memory(std::size_t const count)
    {
        auto const bytes = std::make_shared<device_array<T>>(count, T{});
        owned_.push_back(bytes);
        return bytes->data();
    }

    /// The table of angles for `rotary` dims.
    kvloom::bf16* angles_for(int const rotary)
    {
        auto const table = cos_sin_table(max_positions, rotary, 0, 1e4);
        auto* const data = memory<kvloom::bf16>(table.size());
        for (std::size_t i = 0; i < table.size(); ++i) {
            data[i] = kvloom::encode<kvloom::bf16>(float(table[i]));
        }
        return data;
    }

    /// Arguments as any engine has them, every row and cache dense.
    template <class Problem>
    kvloom::insert_args<Problem> usual(kvloom::row_sections const heads)
    {
        using types = kvloom::insert_types<Problem>;
        kvloom::insert_args<Problem> a;
        a.tokens = tokens;
        kvloom::packed_row<Problem>(a, qkv, heads);
        a.q_out.data         = memory<typename types::query>(std::size_t(tokens * heads.q * types::dim));
        a.q_out.heads        = heads.q;
        a.q_out.token_stride = heads.q * types::dim;
        a.q_gain             = q_gain;
        a.k_gain             = k_gain;
        a.angles             = {angles_for(types::rotary), max_positions, types::rotary};
        a.positions          = positions;
        a.slots              = slots;
        a.slot_count         = tokens;
        fill_cache(a.keys, heads.kv);
        fill_cache(a.values, heads.kv);
        return a;
    }

    /// Row `at` of token `token` of the packed projection.
    template <class Problem>
    kvloom::bf16 const* row(kvloom::insert_args<Problem> const& a, int const token, int const at) const
    {
        return qkv + token * a.q.token_stride + at * Problem::head_dim;
    }

    /// A row in double precision: norm, then rotation by the position of each frequency.
    std::vector<double> prepared(kvloom::bf16 const* const row, kvloom::bf16 const* const table,
                                 row_formula const& f, std::function<int(int)> const& position) const
    {
        std::vector<double> y(static_cast<std::size_t>(f.dim));
        double const mean = f.mean_square >= 0 ? f.mean_square : mean_square(row, f.dim);
        for (int d = 0; d < f.dim; ++d) {
            double const weight = f.gain == nullptr ? 1.0 : f.offset + kvloom::decode(f.gain[d]);
            y[std::size_t(d)]   = kvloom::decode(row[d]) / std::sqrt(mean + 1e-6) * weight;
        }
        for (int i = 0; i < f.rotary / 2; ++i) {
            kvloom::bf16 const* const turn = table + position(i) * f.rotary + i;
            double const cosine            = kvloom::decode(turn[0]);
            double const sine              = kvloom::decode(turn[f.rotary / 2]);
            double& low                    = y[std::size_t(f.interleaved ? 2 * i : i)];
            double& high                   = y[std::size_t(f.interleaved ? 2 * i + 1 : i + f.rotary / 2)];
            double const first             = low;
            low                            = first * cosine - high * sine;
            high                           = high * cosine + first * sine;
        }
        return y;
    }
    std::vector<double> prepared(kvloom::bf16 const* const row, kvloom::bf16 const* const table,
                                 row_formula const& f, int const token) const
    {
        return prepared(row, table, f, [&](int) { return int(positions[token]); });
    }

    static double mean_square(kvloom::bf16 const* const row, int const count)
    {
        double sum = 0;
        for (int d = 0; d < count; ++d) {
            sum += double(kvloom::decode(row[d])) * kvloom::decode(row[d]);
        }
        return sum / count;
    }

    /// Whether a stored row is the wanted one, but for the roundings that `relative` allows.
    template <class T>
    static bool agree(std::vector<double> const& want, std::function<T(int)> const& got,
                      double const relative = 1.0 / 128, double const scale = 1.0)
    {
        double const slack = sizeof(T) == 1 ? scale / 1000 : 1e-4; // half of fp8's least step
        for (std::size_t d = 0; d < want.size(); ++d) {
            double const value = kvloom::decode(got(int(d))) * scale;
            if (!(std::fabs(value - want[d]) <= relative * std::fabs(want[d]) + slack)) {
                return false;
            }
        }
        return true;
    }

    /// The same for a token's row in a cache.
    template <class View>
    bool cached(View const& view, std::vector<double> const& want, int const token, int const head,
                double const relative = 1.0 / 128, double const scale = 1.0) const
    {
        auto const at = place(view, slots[token]);
        return agree<typename View::element>(
            want, [&](int d) { return *view.address(at, head, d); }, relative, scale);
    }

    static std::vector<double> decoded(kvloom::bf16 const* const row, int const dim)
    {
        std::vector<double> values;
        for (int d = 0; d < dim; ++d) {
            values.push_back(kvloom::decode(row[d]));
        }
        return values;
    }

private:
    template <class View>
    void fill_cache(View& view, int const heads)
    {
        view.data  = memory<typename View::element>(std::size_t(pages * heads * View::layout::elements));
        view.pages = pages;
        view.heads = heads;
        view.page_stride  = kvloom::i64(heads) * View::layout::elements;
        view.block_stride = view.page_stride * View::block_pages;
    }

    kvloom::bf16* numbers(std::size_t const count, double const size)
    {
        auto* const data = memory<kvloom::bf16>(count);
        for (std::size_t i = 0; i < count; ++i) {
            data[i] = kvloom::encode<kvloom::bf16>(float(size * (2.0 * random_.uniform() - 1.0)));
        }
        return data;
    }
};

} // namespace kvloom_test
