// SPDX-License-Identifier: MIT
// A consumer's plain C++ file: layouts, arguments and their validation, and no kernel.
#include <kvloom/kernel/qk_norm_rope_insert.hpp>
#include <kvloom/layout/span.hpp>
#include <kvloom/version.hpp>

static_assert(kvloom::shuffled_keys<kvloom::bf16, 128>::offset(3, 9) == 153);

bool is_valid(kvloom::insert_args<kvloom::insert_problem> const& args)
{
    return kvloom::qk_norm_rope_insert<kvloom::insert_problem>::validate(args).ok();
}
