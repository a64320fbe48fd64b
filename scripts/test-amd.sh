#!/bin/bash
# SPDX-License-Identifier: MIT
# For a machine with an AMD GPU (gfx90a, gfx942 or gfx950): builds the plain test programs of tests/amd, which need nothing of
# HIP but memory, copies and launches, and runs each on the first GPU. Arguments are handed on to them: with --model the CPU
# model of a wave takes the GPU's place.
#
# Installs what is missing to build (see setup.sh). The programs, in build/test-amd/bin, can be carried to another machine and
# run there. The last line gives the totals of all programs' last lines.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source scripts/setup.sh

kvloom_setup tests || exit
if [ -z "$kvloom_amd_preset" ]; then
    echo "test-amd.sh: $kvloom_amd_missing" >&2
    exit 3
fi
tree=build/test-amd
arguments=(-DKVLOOM_BUILD_BENCHMARKS=OFF -DKVLOOM_BUILD_EXAMPLES=OFF -DKVLOOM_BUILD_LONG_GPU_TESTS=ON)
[ "$kvloom_amd_preset" = rocm ] || arguments+=(-DKVLOOM_CLANG="$kvloom_clang")
cmake --preset "$kvloom_amd_preset" -B "$tree" "${arguments[@]}" > /dev/null &&
    cmake --build "$tree" --parallel "$(nproc)" --target kvloom_plain_tests || exit 1

totals=(0 0 0)
broken=()
for program in "$tree"/bin/amd.*; do
    printf '\n=== %s\n' "${program##*/}"
    output=$("$program" "$@" 2>&1)
    status=$?
    printf '%s\n' "$output"
    if [[ ${output##*$'\n'} =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        for i in 0 1 2; do totals[i]=$((totals[i] + BASH_REMATCH[i + 1])); done
        [ "$status" = 0 ] || broken+=("${program##*/}")
    else # it came to no end
        totals[1]=$((totals[1] + 1))
        broken+=("${program##*/} (status $status)")
    fi
done

printf '\n'
[ ${#broken[@]} = 0 ] || printf 'FAILED %s\n' "${broken[@]}"
printf '%d passed, %d failed, %d skipped\n' "${totals[@]}"
[ ${#broken[@]} = 0 ]
