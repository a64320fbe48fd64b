# SPDX-License-Identifier: MIT
# kvloom_program(target backend source...)              a program of this project's own, in <build>/bin
# kvloom_wrap_sources(out backend source...)            sources compiled in the language of a backend; plain is HIP too,
#                                                       for the programs of tests/amd
# kvloom_warnings(target)                               the flags of this project's own programs
# kvloom_program_backends lists the backends that they are built for.
set(kvloom_program_backends ${kvloom_backends})
if(KVLOOM_PROGRAMS_FOR)
  list(TRANSFORM KVLOOM_PROGRAMS_FOR PREPEND "^" OUTPUT_VARIABLE wanted)
  list(TRANSFORM wanted APPEND "$")
  list(JOIN wanted "|" wanted)
  list(FILTER kvloom_program_backends INCLUDE REGEX "${wanted}")
endif()

set(kvloom_language_host CXX)
set(kvloom_language_cuda CUDA)
set(kvloom_language_hip HIP)
set(kvloom_language_plain HIP)

if(KVLOOM_SANITIZER STREQUAL "address")
  set(kvloom_sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(KVLOOM_SANITIZER STREQUAL "thread")
  set(kvloom_sanitizer_flags -fsanitize=thread)
elseif(KVLOOM_SANITIZER)
  message(FATAL_ERROR "KVLOOM_SANITIZER is ${KVLOOM_SANITIZER}; it must be empty, address or thread")
endif()
if(KVLOOM_SANITIZER)
  list(APPEND kvloom_sanitizer_flags -g1 -O0 -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND kvloom_sanitizer_flags -Wno-maybe-uninitialized) # wrong about instrumented code of the standard library
  endif()
endif()

function(kvloom_warnings target)
  set(warnings -Wall -Wextra -Werror)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX,HIP>:${warnings};-Wundef>
    # Clang's HIP wrappers of <algorithm> show it what libstdc++ 12 itself calls.
    $<$<COMPILE_LANGUAGE:HIP>:-Wno-deprecated-declarations>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;--compiler-options=-Wall,-Wextra,-Werror>)
  if(KVLOOM_SANITIZER)
    target_compile_options(${target} PRIVATE ${kvloom_sanitizer_flags})
    target_link_options(${target} PRIVATE ${kvloom_sanitizer_flags})
  endif()
endfunction()

# One source may be built as several languages, which a source's LANGUAGE property cannot say; so each build gets a
# source of its own that includes the real one.
function(kvloom_wrap_sources out backend)
  set(wrapped "")
  set(defined_host 0)
  set(defined_cuda 0)
  set(defined_hip 0)
  set(defined_plain 0)
  set(defined_${backend} 1)
  if(backend STREQUAL "plain")
    set(defined_hip 1)
  endif()
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE absolute)
    file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${absolute})
    set(wrapper ${PROJECT_BINARY_DIR}/wrapped/${backend}/${relative})
    file(CONFIGURE OUTPUT ${wrapper} @ONLY CONTENT [[
#define KVLOOM_TEST_BACKEND_HOST @defined_host@
#define KVLOOM_TEST_BACKEND_CUDA @defined_cuda@
#define KVLOOM_TEST_BACKEND_HIP @defined_hip@
#define KVLOOM_TEST_PLAIN @defined_plain@
#if defined(__CUDACC__) != @defined_cuda@ || defined(__HIP__) != @defined_hip@
#error "this source was compiled for another backend than was asked for"
#endif
#include "@absolute@"
]])
    list(APPEND wrapped ${wrapper})
  endforeach()
  set_source_files_properties(${wrapped} PROPERTIES LANGUAGE ${kvloom_language_${backend}})
  set(${out} ${wrapped} PARENT_SCOPE)
endfunction()

function(kvloom_language_settings target)
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 17 CUDA_STANDARD 17 HIP_STANDARD 17
    CXX_EXTENSIONS OFF CUDA_EXTENSIONS OFF HIP_EXTENSIONS OFF)
  if(KVLOOM_PROGRAM_HIP_ARCHITECTURES)
    set_target_properties(${target} PROPERTIES HIP_ARCHITECTURES "${KVLOOM_PROGRAM_HIP_ARCHITECTURES}")
  endif()
endfunction()

# For the host's models of a wave: a half to an eighth of the time to compile, and hardly more to run.
function(kvloom_host_optimisation target)
  if(NOT KVLOOM_SANITIZER)
    target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
  endif()
endfunction()

# kvloom_program(target backend source...): a program of this project's own, to be run from <build>/bin.
function(kvloom_program target backend)
  kvloom_wrap_sources(wrapped ${backend} ${ARGN})
  add_executable(${target} ${wrapped})
  kvloom_warnings(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  kvloom_language_settings(${target})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  kvloom_host_optimisation(${target})
  if(TARGET kvloom_host)
    target_link_libraries(${target} PRIVATE kvloom::host)
  endif()
  if(NOT backend STREQUAL "host")
    target_link_libraries(${target} PRIVATE kvloom::${backend})
  endif()
endfunction()
