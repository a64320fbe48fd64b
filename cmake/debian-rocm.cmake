# SPDX-License-Identifier: MIT
# Toolchain file: HIP as a CMake language with Debian's packages of ROCm 5.2 and a newer clang. A real ROCm needs none.
#
#   cmake -S . -B build -DCMAKE_TOOLCHAIN_FILE=cmake/debian-rocm.cmake [-DKVLOOM_CLANG=clang++-22]
#
# CMake looks for ROCM_ROOT/lib/cmake/hip-lang, and clang for ROCM_ROOT/amdgcn/bitcode and ROCM_ROOT/share/hip/version.
# Debian has the first under a multiarch name (and its dependencies are not found inside try_compile), the second for
# older processors only. So this file stages such a root in the build directory.
set(KVLOOM_CLANG "" CACHE STRING "The HIP compiler; empty: the newest clang++ of versions 19 to 29")
set(KVLOOM_ROCM_STAGE ${CMAKE_BINARY_DIR}/rocm-stage CACHE INTERNAL "")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KVLOOM_CLANG KVLOOM_ROCM_STAGE)

set(kvloom_clang_names ${KVLOOM_CLANG})
if(NOT KVLOOM_CLANG)
  foreach(major RANGE 29 19 -1)
    list(APPEND kvloom_clang_names clang++-${major})
  endforeach()
endif()
find_program(KVLOOM_CLANG_PATH NAMES ${kvloom_clang_names} NAMES_PER_DIR REQUIRED)
mark_as_advanced(KVLOOM_CLANG_PATH)

if(NOT EXISTS ${KVLOOM_ROCM_STAGE}/lib/cmake/hip-lang/hip-lang-config.cmake)
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/debian-rocm/stage.sh ${KVLOOM_ROCM_STAGE} ${KVLOOM_CLANG_PATH}
                  COMMAND_ERROR_IS_FATAL ANY)
endif()

set(CMAKE_HIP_COMPILER ${KVLOOM_CLANG_PATH})
set(CMAKE_HIP_COMPILER_ROCM_ROOT ${KVLOOM_ROCM_STAGE})
string(CONCAT CMAKE_HIP_FLAGS_INIT "--rocm-path=${KVLOOM_ROCM_STAGE} -mcode-object-version=5 "
                                   "-include ${CMAKE_CURRENT_LIST_DIR}/debian-rocm/hip_5_2.hpp")
