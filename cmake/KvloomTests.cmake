# SPDX-License-Identifier: MIT
# kvloom_add_test(NAME source... BACKENDS host cuda hip [SANITIZE] [FAST_MATH] [LONG])
#
# Builds the sources, paths below tests/, once for each of the listed backends that this build has, as the programs
# NAME.host (C++, compiled by the host compiler), NAME.cuda and NAME.hip in <build>/bin. All of them run the same
# Catch2 main; those for a GPU say loudly that they skip, with exit code 77, where there is none. In each source
# KVLOOM_TEST_BACKEND_HOST, KVLOOM_TEST_BACKEND_CUDA and KVLOOM_TEST_BACKEND_HIP are 0 or 1.
#   SANITIZE   also built with KVLOOM_SANITIZER, but for its test cases tagged [large]
#   FAST_MATH  a program NAME.cuda_fast_math compiled with -use_fast_math too
#   LONG       takes long to compile: for a GPU only with KVLOOM_BUILD_LONG_GPU_TESTS

find_package(Catch2 REQUIRED)
if(NOT COMMAND catch_discover_tests)
  list(APPEND CMAKE_MODULE_PATH ${Catch2_DIR})
  include(Catch)
endif()

# The Catch2 main is compiled once, as plain C++, whatever the backend; it is most of Catch2 itself, so it is neither
# optimised much nor instrumented.
if(NOT TARGET kvloom_test_main)
  add_library(kvloom_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
  target_link_libraries(kvloom_test_main PUBLIC Catch2::Catch2)
  set_target_properties(kvloom_test_main PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF)
  target_compile_options(kvloom_test_main PRIVATE -Wall -Wextra -Werror -O1)
endif()

# Whether the backend's device is there.
foreach(backend IN LISTS kvloom_program_backends)
  kvloom_wrap_sources(probe ${backend} ${PROJECT_SOURCE_DIR}/tests/support/device_probe.cpp)
  add_library(kvloom_device_probe_${backend} OBJECT ${probe})
  target_include_directories(kvloom_device_probe_${backend} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support)
  kvloom_language_settings(kvloom_device_probe_${backend})
endforeach()

# Catch2's header is a second of each source's time: the programs of the host take it precompiled.
if("host" IN_LIST kvloom_program_backends)
  add_library(kvloom_test_headers OBJECT ${PROJECT_SOURCE_DIR}/tests/support/precompiled.cpp)
  kvloom_warnings(kvloom_test_headers)
  kvloom_language_settings(kvloom_test_headers)
  kvloom_host_optimisation(kvloom_test_headers)
  target_link_libraries(kvloom_test_headers PRIVATE kvloom::host Catch2::Catch2)
  target_precompile_headers(kvloom_test_headers PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/catch.hpp)
endif()

function(kvloom_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SANITIZE;FAST_MATH;LONG" "" "BACKENDS")
  if(KVLOOM_SANITIZER AND NOT arg_SANITIZE)
    return()
  endif()
  set(spec "")
  if(KVLOOM_SANITIZER)
    set(spec TEST_SPEC "~[large]")
  endif()
  set(variants ${arg_BACKENDS})
  if(arg_FAST_MATH AND cuda IN_LIST variants)
    list(APPEND variants cuda_fast_math)
  endif()
  foreach(variant IN LISTS variants)
    string(REPLACE "_fast_math" "" backend ${variant})
    if(NOT backend IN_LIST kvloom_program_backends)
      continue()
    endif()
    set(target ${name}.${variant})
    if(arg_LONG AND NOT backend STREQUAL "host" AND NOT KVLOOM_BUILD_LONG_GPU_TESTS)
      message(STATUS "kvloom: ${target} is not built, for KVLOOM_BUILD_LONG_GPU_TESTS is off")
      continue()
    endif()
    kvloom_program(${target} ${backend} ${arg_UNPARSED_ARGUMENTS})
    target_link_libraries(${target} PRIVATE kvloom_test_main kvloom_device_probe_${backend} Catch2::Catch2)
    if(variant STREQUAL "host")
      target_precompile_headers(${target} REUSE_FROM kvloom_test_headers)
    endif()
    if(variant STREQUAL "cuda_fast_math")
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-use_fast_math>)
    endif()
    if(backend STREQUAL "cuda")
      set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY Static)
      target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
    endif()
    catch_discover_tests(${target} ${spec} TEST_PREFIX "${target}/"
                         PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 LABELS ${variant})
  endforeach()
endfunction()
