#!/bin/bash
# SPDX-License-Identifier: MIT
# stage.sh ROOT CLANG: lays out in ROOT what CMake and CLANG expect of a ROCm installation, from Debian's packages.
#
# Debian's device libraries know processors up to gfx90a and gfx940. The newer ones differ in one constant, so this
# writes that file for each. Clang 20 and later no longer links hip.bc and oclc_daz_opt_off.bc, which HIP 5.2 calls
# into; their contents then ride along in the per-processor file.
set -euo pipefail

root=$1
clang=$2
libraries=$root/amdgcn/bitcode
tools=$(dirname "$(readlink -f "$clang")")
major=$("$clang" -dumpversion)
major=${major%%.*}

source_folder=${ROCM_DEVICE_LIBS:-}
for folder in /usr/lib/*/amdgcn/bitcode /usr/lib/amdgcn/bitcode "$("$clang" -print-resource-dir)/amdgcn/bitcode"; do
    if [ -z "$source_folder" ] && [ -e "$folder/ockl.bc" ]; then
        source_folder=$folder
    fi
done
if [ -z "$source_folder" ]; then
    echo "stage.sh: no ROCm device libraries found: install rocm-device-libs, or set ROCM_DEVICE_LIBS" >&2
    exit 1
fi

tool() { # an LLVM tool of clang's own version
    if [ -x "$tools/$1" ]; then echo "$tools/$1"; else echo "$1-$major"; fi
}

constant() { # SYMBOL VALUE FILE: a file that holds one constant
    local qualifiers='__attribute__((address_space(4), weak, visibility("protected")))'
    printf 'extern const %s int %s;\nconst __attribute__((address_space(4))) int %s = %d;\n' \
        "$qualifiers" "$1" "$1" "$2" |
        "$clang" --target=amdgcn-amd-amdhsa -nogpulib -Xclang -mcode-object-version=none -x c -c -emit-llvm - -o "$3"
}

rm -rf "$root"
mkdir -p "$libraries" "$root/share/hip" "$root/lib/cmake/hip-lang"
ln -sf "$source_folder"/*.bc "$libraries"/

extra=()
if [ "$major" -ge 20 ]; then
    for name in hip oclc_daz_opt_off; do
        [ -e "$source_folder/$name.bc" ] || continue
        # A linkonce definition would be dropped by llvm-link.
        "$(tool llvm-dis)" "$source_folder/$name.bc" -o - | sed 's/linkonce_odr/weak_odr/' |
            "$(tool llvm-as)" -o "$libraries/.$name.bc"
        extra+=("$libraries/.$name.bc")
    done
fi

for processor in 90a:9010 942:9402 950:9500 1100:11000 1101:11001 1102:11002 1151:11501 1200:12000 1201:12001; do
    file=$libraries/oclc_isa_version_${processor%:*}.bc
    rm -f "$file"
    constant __oclc_ISA_version "${processor#*:}" "$file"
    if [ ${#extra[@]} -gt 0 ]; then
        "$(tool llvm-link)" "$file" "${extra[@]}" -o "$file.tmp"
        mv "$file.tmp" "$file"
    fi
done
for abi in 500 600; do
    if [ ! -e "$libraries/oclc_abi_version_$abi.bc" ]; then
        constant __oclc_ABI_version "$abi" "$libraries/oclc_abi_version_$abi.bc"
    fi
done

if [ -e /usr/share/hip/version ]; then
    ln -sf /usr/share/hip/version "$root/share/hip/version"
fi
# Last, since its presence says that the stage is complete.
cat > "$root/lib/cmake/hip-lang/hip-lang-config.cmake" <<'END'
add_library(hip-lang::device INTERFACE IMPORTED)
set_target_properties(hip-lang::device PROPERTIES INTERFACE_LINK_LIBRARIES amdhip64)
set(_CMAKE_HIP_DEVICE_RUNTIME_TARGET "hip-lang::device")
END
