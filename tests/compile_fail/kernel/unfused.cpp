// SPDX-License-Identifier: MIT
// What kernel/unfused.hpp refuses.
#include "kvloom/kernel/unfused.hpp"

struct problem : kvloom::insert_problem
{
    // refuses: index_insert: the problem has no index branch
    // wrong: using index = kvloom::no_index;
    using index = kvloom::index_branch<>;
};
template struct kvloom::index_insert<problem>;
