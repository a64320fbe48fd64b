#!/bin/bash
# SPDX-License-Identifier: MIT
# Every test of kvloom: installs what is missing (see setup.sh), then runs the stages below.
#
#   scripts/test.sh                  all stages
#   scripts/test.sh --stage NAME     one stage; may be repeated
#   scripts/test.sh --list           their names
#
# A stage whose compiler is missing is skipped by name; under CI=true a missing AMD compiler is a failure.
# Build trees are build/host, asan, tsan, amd (or rocm) and cuda. The last line gives the totals of ctest's results.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source scripts/setup.sh

all_stages=(checks host asan tsan amd cuda rtc)
declare -A about=(
    [checks]='format and repository checks'
    [host]='CPU: every test, each header alone'
    [asan]='CPU: address and undefined behaviour'
    [tsan]='CPU: races, and the proof that one is found'
    [amd]='AMD: compile, headers, assembly rules'
    [cuda]='NVIDIA: compile, headers, tests on a GPU'
    [rtc]='run-time compilers: NVRTC and hipRTC'
)

stages=()
while [ $# -gt 0 ]; do
    case $1 in
        --stage)
            if [ -z "${2:-}" ] || [ -z "${about[${2:-none}]:-}" ]; then
                echo "test.sh: --stage needs one of: ${all_stages[*]}" >&2
                exit 2
            fi
            stages+=("$2")
            shift 2
            ;;
        --list)
            for name in "${all_stages[@]}"; do echo "$name: ${about[$name]}"; done
            exit 0
            ;;
        *)
            sed -n '3,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
            exit 2
            ;;
    esac
done
[ ${#stages[@]} -gt 0 ] || stages=("${all_stages[@]}")

results=$PWD/build/results
rm -rf "$results"
mkdir -p "$results"
cores=$(nproc)

# For the run of one stage: sets skip_reason, or builds and tests.
configure() { # PRESET ARGUMENT...
    local preset=$1
    shift
    if ! cmake --preset "$preset" "$@" > "$results/configure-$preset.log" 2>&1; then
        cat "$results/configure-$preset.log"
        return 1
    fi
    grep -h 'is not built' "$results/configure-$preset.log" || true
}

build() { # PRESET
    cmake --build --preset "$1" --parallel "$cores"
}

run_tests() { # PRESET NAME ARGUMENT...: ctest over the preset's tree, results into NAME.xml
    local preset=$1 name=$2
    shift 2
    # The results name lies outside the tree's own folder, and a run in which no test is found has failed.
    ctest --preset "$preset" --parallel "$cores" --no-tests=error --output-junit "$results/$name.xml" "$@"
}

without_randomised_addresses() { # COMMAND...: ThreadSanitizer of GCC 12 and older fails under many random bits
    if setarch -R true 2> /dev/null; then setarch -R "$@"; else "$@"; fi
}

stage_checks() {
    configure host && run_tests host checks --label-regex '^check$'
}

stage_host() {
    configure host && build host && run_tests host host --label-exclude '^(check|rtc)$'
}

stage_asan() {
    configure asan && build asan && run_tests asan asan --label-exclude '^(check|rtc)$'
}

stage_tsan() {
    # Clang's ThreadSanitizer is a tenth of the time of GCC 12's where there are as many threads as a block has.
    configure tsan ${kvloom_clang_tsan:+"-DCMAKE_CXX_COMPILER=$kvloom_clang_tsan"} && export -f build run_tests && export cores results &&
        without_randomised_addresses bash -c "build tsan && run_tests tsan tsan --label-exclude '^(check|rtc)\$'"
}

amd_arguments() {
    if [ "$kvloom_amd_preset" = amd ]; then echo "-DKVLOOM_CLANG=$kvloom_clang"; fi
    # Without a GPU the test programs are only compiled: for one processor and without the longest, to save time. Headers,
    # the kernels under tests/codegen and the programs of tests/amd are compiled for all, and the latter run on the model.
    if [ -e /dev/kfd ]; then
        echo -DKVLOOM_PROGRAM_HIP_ARCHITECTURES= -DKVLOOM_BUILD_LONG_GPU_TESTS=ON
    else
        echo -DKVLOOM_PROGRAM_HIP_ARCHITECTURES=gfx942 -DKVLOOM_BUILD_LONG_GPU_TESTS=OFF
    fi
}

cuda_arguments() {
    if nvidia-smi -L > /dev/null 2>&1; then
        echo -DKVLOOM_BUILD_LONG_GPU_TESTS=ON
    else
        echo -DKVLOOM_BUILD_LONG_GPU_TESTS=OFF
    fi
}

stage_amd() {
    if [ -z "$kvloom_amd_preset" ]; then
        skip_reason=$kvloom_amd_missing
        return
    fi
    local preset=$kvloom_amd_preset
    configure "$preset" $(amd_arguments) && build "$preset" &&
        run_tests "$preset" amd --label-exclude '^(check|rtc)$'
}

stage_cuda() {
    if [ -n "$kvloom_cuda_missing" ]; then
        skip_reason=$kvloom_cuda_missing
        return
    fi
    configure cuda "$(cuda_arguments)" && build cuda && run_tests cuda cuda --label-exclude '^(check|rtc)$'
}

stage_rtc() {
    local failed=0
    if [ -n "$kvloom_cuda_missing" ]; then
        echo "NVRTC: skipped: $kvloom_cuda_missing"
    else
        configure cuda "$(cuda_arguments)" && run_tests cuda rtc-cuda --label-regex '^rtc$' || failed=1
    fi
    if [ -z "$kvloom_amd_preset" ]; then
        echo "hipRTC: skipped: $kvloom_amd_missing"
    else
        configure "$kvloom_amd_preset" $(amd_arguments) &&
            run_tests "$kvloom_amd_preset" rtc-amd --label-regex '^rtc$' || failed=1
    fi
    if [ -n "$kvloom_cuda_missing" ] && [ -z "$kvloom_amd_preset" ]; then
        skip_reason='neither NVRTC nor hipRTC'
    fi
    return $failed
}

table=()
broken_stages=0
skipped_stages=0

run_stage() { # NAME TITLE FUNCTION
    local name=$1 title=$2 began=$SECONDS outcome=passed
    skip_reason=''
    printf '\n=== %s: %s\n' "$name" "$title"
    if ! "$3"; then
        outcome=FAILED
        # What ctest did not see, such as a failed build, is counted here.
        [ -e "$results/$name.xml" ] || compgen -G "$results/$name-*.xml" > /dev/null || broken_stages=$((broken_stages + 1))
    elif [ -n "$skip_reason" ] && [ "$name" = amd ] && [ "${CI:-}" = true ]; then
        outcome="FAILED: $skip_reason"
        broken_stages=$((broken_stages + 1))
    elif [ -n "$skip_reason" ]; then
        outcome="SKIPPED: $skip_reason"
        skipped_stages=$((skipped_stages + 1))
    fi
    table+=("$(printf '%-8s %5d s  %-44s %s' "$name" $((SECONDS - began)) "$title" "$outcome")")
    echo "=== $name: $outcome"
}

set_up_status=0
began=$SECONDS
kvloom_setup tests || set_up_status=$?
if [ "$set_up_status" != 0 ]; then
    exit "$set_up_status"
fi
table+=("$(printf '%-8s %5d s  %-44s %s' set-up $((SECONDS - began)) 'compilers and libraries' passed)")

for name in "${stages[@]}"; do
    run_stage "$name" "${about[$name]}" "stage_$name"
done

printf '\n'
printf '%s\n' "${table[@]}"
printf '%-8s %5d s\n\n' all "$SECONDS"
python3 scripts/totals.py --failed "$broken_stages" --skipped "$skipped_stages" "$results"
