// SPDX-License-Identifier: MIT
// How V of the fused insert becomes what is stored: the rules of insert_values for each kind of scale.
#pragma once

#include "kvloom/kernel/insert_store.hpp"
#include "kvloom/op/insert_values.hpp"

namespace kvloom {
inline namespace v0 {
namespace detail {

/// Given scales, one for each head.
template <class Problem, class Wave>
struct scale_a_head
{
    static constexpr bool whole_row = false;

    Wave wave;
    float const* scales;

    KVLOOM_FN auto for_head(int head) const
    {
        return cache_quantiser<Problem>(given_scale<Problem>(wave, scales, head));
    }
};

/// A value of V on its way to the cache: norm, rounding points, quantiser.
template <class Problem, class Quantiser>
struct value_quantiser
{
    using types = insert_types<Problem>;

    float r;
    float scale; ///< as it is written, where scales are found
    Quantiser inner;

    static constexpr auto gives = kvloom::detail::given_by<Quantiser>;

    KVLOOM_FN auto short_form() const
    {
        auto const by = kvloom::detail::short_form(inner);
        return value_quantiser<Problem, remove_const_t<decltype(by)>>{r, scale, by};
    }

    template <int N>
    KVLOOM_FN vec<float, N> operator()(vec<float, N> values) const
    {
        if constexpr (!is_same_v<typename types::v_norm, no_norm>) {
            using activation = typename types::activation;
            constexpr bool to =
                types::numerics::keys_through_activation && !is_same_v<typename types::element, activation>;
            KVLOOM_UNROLL
            for (int i = 0; i < N; ++i) {
                float const y = normalised_value(values[i], r);
                values[i]     = to ? rotation_in<activation>::rounded(y) : y;
            }
        }
        return inner(values);
    }

    KVLOOM_FN static float normalised_value(float value, float r)
    {
        float const y = multiply(value, r);
        return types::numerics::round_after_norm ? rotation_in<typename types::activation>::rounded(y) : y;
    }
};

/// Rows that are normalised, or that find their own scale, or both.
template <class Problem>
struct scale_a_row
{
    using types = insert_types<Problem>;

    static constexpr bool whole_row = true;
    static constexpr bool squares   = !is_same_v<typename types::v_norm, no_norm>;
    static constexpr bool largest   = types::found_scales;

    float eps;
    scale_view scales;
    float given; ///< the scale, where it is given

    KVLOOM_FN auto of_row(float sum, float most) const
    {
        using inner      = decltype(cache_quantiser<Problem>(1.0F));
        using quantiser  = value_quantiser<Problem, inner>;
        using activation = typename types::activation;
        float r          = 1.0F;
        if constexpr (squares) {
            r    = reciprocal(square_root(fma(sum, 1.0F / float(types::dim), eps)));
            most = larger(0.0F, quantiser::normalised_value(most, r)); // rounding keeps the order of values
        }
        float scale = given;
        if constexpr (largest) {
            if constexpr (scale_of_rounded<typename types::scaling>) {
                most = rotation_in<activation>::rounded(most);
            }
            scale = scale_of_row<Problem>(most);
        }
        return quantiser{r, scale, cache_quantiser<Problem>(scale)};
    }

    template <class Wave, class Quantiser>
    KVLOOM_FN void record(Wave wave, token_place where, int head, Quantiser const& by) const
    {
        if constexpr (largest) {
            wave.store(scales.address(where, head), bit_cast<u32>(by.scale));
        }
    }
};

/// The rule of a launch's V.
template <class Problem, class Wave>
KVLOOM_FN auto value_rule(Wave wave, insert_args<Problem> const& args)
{
    using types = insert_types<Problem>;
    if constexpr (types::whole_values) {
        return scale_a_row<Problem>{args.eps, args.value_scales,
                                    given_scale<Problem>(wave, args.value_scale, 0)};
    } else if constexpr (types::head_scales) {
        return scale_a_head<Problem, Wave>{wave, args.value_scale};
    } else {
        auto const by = cache_quantiser<Problem>(given_scale<Problem>(wave, args.value_scale, 0));
        return same_for_all<remove_const_t<decltype(by)>>{by};
    }
}

} // namespace detail
} // namespace v0
} // namespace kvloom
