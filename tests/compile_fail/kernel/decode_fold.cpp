// SPDX-License-Identifier: MIT
// What kernel/decode_fold.hpp refuses.
#include "kvloom/backend/host/block.hpp"
#include "kvloom/core/bf16.hpp"
#include "kvloom/kernel/decode_segment.hpp"

using namespace kvloom;

template <int Threads>
using team = detail::block_team<host::block<host::cdna, Threads>>;

/// The fold of four waves over tokens, 16 rows of 64 dims at a time: 16 threads to a row.
template <class Team>
using fold_of = detail::node_fold<Team, decode_problem, detail::fold_scratch<4, 16, 64>, 4, 1, 16>;

// refuses: node_fold: a turn must have whole rows
// wrong: std::size_t const bytes = sizeof(fold_of<team<8>>);
// wrong: std::size_t const bytes = sizeof(fold_of<team<72>>);
std::size_t const bytes = sizeof(fold_of<team<80>>);
