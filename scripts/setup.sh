#!/bin/bash
# SPDX-License-Identifier: MIT
# What kvloom's tests and demo need, on Debian 12 or later and Ubuntu 22.04 or later: installed with apt-get where missing.
#
#   scripts/setup.sh [demo]       demo: only what scripts/demo.sh needs
#
# Never asks: it installs as root or by 'sudo -n', or else says which packages are missing and exits with status 3.
# Sourced by test.sh and demo.sh, which then call kvloom_setup; it sets
#   kvloom_amd_preset    preset that builds for AMD ('amd', or 'rocm' where a ROCm is installed); '' where none can
#   kvloom_amd_missing   why none can
#   kvloom_clang         the newest clang++ from version 19 on; '' where there is none
#   kvloom_clang_tsan    the same, if ThreadSanitizer's library for it is there
#   kvloom_cuda_missing  why nothing can be built for NVIDIA; '' where it can

kvloom_clang_preferred=22
kvloom_clang_oldest=19

kvloom_has_header() { # HEADER
    printf '#include <%s>\n' "$1" | "${CXX:-g++}" -std=c++17 -E -x c++ - > /dev/null 2>&1
}

kvloom_missing_base() { # WHAT (tests or demo): the packages that are missing
    command -v "${CXX:-g++}" > /dev/null || echo g++
    command -v cmake > /dev/null || echo cmake
    command -v ninja > /dev/null || echo ninja-build
    kvloom_has_header boost/context/detail/fcontext.hpp || echo libboost-context-dev
    if [ "$1" = tests ]; then
        command -v python3 > /dev/null || echo python3
        kvloom_has_header benchmark/benchmark.h || echo libbenchmark-dev
        kvloom_has_header catch2/catch.hpp || kvloom_has_header catch2/catch_all.hpp || echo catch2
    fi
}

kvloom_find_clang() { # sets kvloom_clang and kvloom_clang_major
    local major
    kvloom_clang=''
    kvloom_clang_major=$kvloom_clang_preferred
    for major in "$kvloom_clang_preferred" $(seq 29 -1 "$kvloom_clang_oldest"); do
        if command -v "clang++-$major" > /dev/null; then
            kvloom_clang=clang++-$major
            kvloom_clang_major=$major
            return
        fi
    done
}

kvloom_missing_amd() { # the packages that are missing to compile HIP with kvloom_clang_major
    local major=$kvloom_clang_major
    command -v "clang++-$major" > /dev/null || echo "clang-$major"
    [ -x "/usr/lib/llvm-$major/bin/clang-offload-bundler" ] || echo "clang-tools-$major"
    [ -x "/usr/lib/llvm-$major/bin/lld" ] || echo "lld-$major"
    [ -x "/usr/lib/llvm-$major/bin/llvm-link" ] || echo "llvm-$major"
    [ -e /usr/include/hip/hip_runtime.h ] || echo libamdhip64-dev
    compgen -G '/usr/lib/*/amdgcn/bitcode/ockl.bc' > /dev/null || echo rocm-device-libs
}

kvloom_missing_sanitizers() { # ThreadSanitizer of kvloom_clang_major
    compgen -G "/usr/lib/llvm-$kvloom_clang_major/lib/clang/*/lib/*/libclang_rt.tsan*.a" > /dev/null ||
        echo "libclang-rt-$kvloom_clang_major-dev"
}

kvloom_missing_format() {
    command -v clang-format-14 > /dev/null || clang-format --version 2> /dev/null | grep -q 'version 14\.' ||
        echo clang-format-14
}

kvloom_missing_optional() { # what a stage of test.sh can be skipped or run differently for
    kvloom_missing_format
    kvloom_missing_sanitizers
    [ -n "$kvloom_amd_preset" ] || kvloom_missing_amd
}

kvloom_as_root() { # COMMAND...
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

kvloom_may_install() {
    command -v apt-get > /dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2> /dev/null; }
}

kvloom_apt() { # ARGUMENT...: apt-get without questions; its words only where it fails
    local log
    log=$(mktemp)
    if ! kvloom_as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" > "$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

kvloom_available() { # PACKAGE: whether apt-get could install it
    apt-cache policy "$1" 2> /dev/null | grep -q 'Candidate: [^(]'
}

kvloom_choose_clang() { # where no clang is installed: the preferred version, or else the newest that can be installed
    local major
    [ -z "$kvloom_clang" ] || return 0
    for major in "$kvloom_clang_preferred" $(seq 29 -1 "$kvloom_clang_oldest"); do
        if kvloom_available "clang-$major"; then
            kvloom_clang_major=$major
            return
        fi
    done
}

kvloom_install() { # WHAT: installs what is missing and can be had
    local wanted=() package
    echo "set-up: bringing the package lists up to date"
    kvloom_apt update || return 1
    kvloom_choose_clang
    for package in $(kvloom_missing_base "$1"); do
        wanted+=("$package")
    done
    if [ "$1" = tests ]; then
        for package in $(kvloom_missing_optional); do
            if kvloom_available "$package"; then
                wanted+=("$package")
            fi
        done
    fi
    if [ ${#wanted[@]} -gt 0 ]; then
        echo "set-up: installing ${wanted[*]}"
        kvloom_apt install -y --no-install-recommends "${wanted[@]}" || return 1
    fi
}

kvloom_setup() { # [tests|demo]
    local what=${1:-tests} missing optional
    kvloom_amd_preset=''
    kvloom_amd_missing=''
    kvloom_cuda_missing=''
    kvloom_find_clang
    if [ -x "${ROCM_PATH:-/opt/rocm}/llvm/bin/clang++" ]; then
        kvloom_amd_preset=rocm
    fi

    missing=$(kvloom_missing_base "$what")
    optional=''
    if [ "$what" = tests ]; then
        optional=$(kvloom_missing_optional)
    fi
    if [ -n "$missing$optional" ] && kvloom_may_install; then
        kvloom_install "$what" || return 3
        kvloom_find_clang
        missing=$(kvloom_missing_base "$what")
    fi
    if [ -n "$missing" ]; then
        echo "set-up: these packages are missing, and may not be installed from here:" >&2
        echo "    $(echo $missing)" >&2
        echo "Install them with:" >&2
        echo "    sudo apt-get update && sudo apt-get install --no-install-recommends $(echo $missing $optional)" >&2
        return 3
    fi

    if [ -z "$kvloom_amd_preset" ]; then
        optional=$(kvloom_missing_amd)
        if [ -z "$optional" ]; then
            kvloom_amd_preset=amd
        else
            kvloom_amd_missing="no AMD compiler: missing $(echo $optional)"
        fi
    fi
    kvloom_clang_tsan=''
    if [ -z "$(kvloom_missing_sanitizers)" ]; then
        kvloom_clang_tsan=$kvloom_clang
    fi
    if ! command -v nvcc > /dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then
        kvloom_cuda_missing='no nvcc on PATH or in /usr/local/cuda/bin'
    fi
    if command -v ninja > /dev/null; then
        export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
    fi
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    kvloom_setup "$@" || exit
    echo "AMD: ${kvloom_amd_missing:-preset $kvloom_amd_preset}"
    echo "NVIDIA: ${kvloom_cuda_missing:-preset cuda}"
fi
