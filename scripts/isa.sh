#!/bin/bash
# SPDX-License-Identifier: MIT
# Registers, occupancy and code size of each kernel of tests/codegen/kernels, or of the given sources or .s files.
#
#   scripts/isa.sh [--arch gfx942]... [--match REGEX] [--figures] [FILE...]
#   scripts/isa.sh --tables [--write PAGE]     the tables of docs/performance.md, with the prediction for three machines
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/scripts/setup.sh"

kvloom_find_clang
if [ -x "${ROCM_PATH:-/opt/rocm}/llvm/bin/clang++" ]; then
    command=("${ROCM_PATH:-/opt/rocm}/llvm/bin/clang++")
elif [ -n "$kvloom_clang" ]; then
    stage=$root/build/rocm-stage
    "$root/cmake/debian-rocm/stage.sh" "$stage" "$kvloom_clang"
    command=("$kvloom_clang" "--rocm-path=$stage" -mcode-object-version=5
        -include "$root/cmake/debian-rocm/hip_5_2.hpp")
else
    echo "isa.sh: no AMD compiler; run scripts/setup.sh" >&2
    exit 3
fi

flags=(-x hip -std=c++17 -O3 "-I$root/include")
if [ "${1:-}" = --tables ]; then
    exec python3 "$root/tests/codegen/performance.py" "${@:2}" -- "${command[@]}" "${flags[@]}"
fi

files=0
for argument in "$@"; do
    [ ! -f "$argument" ] || files=1
done
[ "$files" = 1 ] || set -- "$@" "$root"/tests/codegen/kernels/*.cpp
exec python3 "$root/tests/codegen/isa.py" "$@" -- "${command[@]}" "${flags[@]}"
