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

// refuses: node_fold: the turns must fall into whole flights
// wrong: std::size_t const ragged = sizeof(fold_of<team<48>>);
std::size_t const ragged = sizeof(fold_of<team<32>>);

/// A fold whose chain has so many places in the scratch.
template <int ChainTurns>
using chained =
    detail::node_fold<team<64>, decode_problem, detail::fold_scratch<4, 16, 64, ChainTurns>, 4, 1, 16>;

// refuses: node_fold: the chain must have a place for each turn
// wrong: std::size_t const room = sizeof(chained<5>);
std::size_t const room = sizeof(chained<8>);
