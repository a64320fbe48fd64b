// SPDX-License-Identifier: MIT
// What backend/host/block.hpp refuses.
#include "kvloom/backend/host/block.hpp"

using namespace kvloom;

using small_block = host::block<host::cdna, 64>;

struct owner
{
    ~owner();
    int number;
};

// refuses: block: the number of threads must be 1 to 1024
// wrong: int const waves = host::block<host::cdna, 1025>::waves;
// wrong: int const waves = host::block<host::cdna, 0>::waves;
int const waves = host::block<host::cdna, 1024>::waves;

void shares(small_block const& block)
{
    // refuses: shared: nothing destroys the struct
    // wrong: block.shared<owner>();
    block.shared<int>();
}
