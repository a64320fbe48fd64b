// SPDX-License-Identifier: MIT
// The host backend: a functional model of GPU blocks on a CPU, for tests and for machines without a GPU.
//
// Each GPU thread is a fiber. A block stays on one CPU thread, where a thread runs until it waits at a
// collective; blocks are spread over the stream's workers. Misuse that hangs or corrupts on a GPU aborts with
// a message that names the places. Needs Boost.Context (link boost_context) and threads: the CMake target
// kvloom::host.
//
// The memory model is what the sanitizers check. Under ThreadSanitizer each GPU thread is a thread of its
// own, ordered only by barriers (the block) and wave operations (the wave): a missing barrier is a reported
// race whatever the schedule.
#pragma once

#include "kvloom/backend/host/block.hpp"
#include "kvloom/backend/host/launch.hpp"
#include "kvloom/backend/host/wave.hpp"
