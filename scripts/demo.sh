#!/bin/bash
# SPDX-License-Identifier: MIT
# The main job on real shapes: installs what is missing (see setup.sh), builds examples/demo (insert) and examples/decode
# (insert, decode) and runs both on the CPU, and on each GPU kind for which this machine has both a compiler and a device.
# Arguments are handed on to the first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

run_on() { # TITLE PRESET SUFFIX ARGUMENT... -- PROGRAM ARGUMENT...
    local title=$1 preset=$2 suffix=$3 log=build/demo-$2.log
    shift 3
    local configure=()
    while [ "$1" != -- ]; do
        configure+=("$1")
        shift
    done
    shift
    printf '\n=== %s\n' "$title"
    mkdir -p build
    if ! { cmake --preset "$preset" -B "build/demo-$preset" -DKVLOOM_BUILD_TESTS=OFF -DKVLOOM_BUILD_BENCHMARKS=OFF \
        -DKVLOOM_BUILD_EXAMPLES=ON "${configure[@]}" &&
        cmake --build "build/demo-$preset" --target "kvloom_demo$suffix" "kvloom_decode$suffix"; } > "$log" 2>&1; then
        cat "$log"
        return 1
    fi
    "build/demo-$preset/bin/kvloom_demo$suffix" "$@"
    "build/demo-$preset/bin/kvloom_decode$suffix"
}

kvloom_setup demo
run_on 'CPU' host '' -- "$@"

if [ -n "$kvloom_cuda_missing" ]; then
    printf '\nNVIDIA: skipped: %s\n' "$kvloom_cuda_missing"
elif ! command -v nvidia-smi > /dev/null || ! nvidia-smi -L > /dev/null 2>&1; then
    printf '\nNVIDIA: skipped: no GPU\n'
else
    run_on 'NVIDIA' cuda _cuda -- "$@"
fi

if [ -z "$kvloom_amd_preset" ]; then
    printf '\nAMD: skipped: %s\n' "$kvloom_amd_missing"
elif [ ! -e /dev/kfd ]; then
    printf '\nAMD: skipped: no GPU\n'
else
    arguments=()
    [ "$kvloom_amd_preset" = rocm ] || arguments=(-DKVLOOM_CLANG="$kvloom_clang")
    run_on 'AMD' "$kvloom_amd_preset" _hip "${arguments[@]}" -- "$@"
fi
