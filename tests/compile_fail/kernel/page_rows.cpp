// SPDX-License-Identifier: MIT
// What kernel/page_rows.hpp refuses.
#include "kvloom/kernel/page_rows.hpp"
#include "machine.hpp"

using namespace kvloom;

float scale(machine_wave wave, token_place where, float const* number)
{
    // refuses: scale_at: scales are no_scale, cache_scale, head_scale or scale_view
    // wrong: return detail::scale_at(wave, number, where, 0);
    return detail::scale_at(wave, cache_scale{number}, where, 0);
}
