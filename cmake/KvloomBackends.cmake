# SPDX-License-Identifier: MIT
# The targets kvloom::kvloom, kvloom::host, kvloom::hip and kvloom::cuda, and the compilers that this project's own
# tests, benchmarks and examples use. Afterwards kvloom_backends lists which of host, hip and cuda can be built.

add_library(kvloom INTERFACE)
add_library(kvloom::kvloom ALIAS kvloom)
target_compile_features(kvloom INTERFACE cxx_std_17)
target_include_directories(kvloom INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)

set(kvloom_backends "")

function(kvloom_add_backend backend) # library...
  add_library(kvloom_${backend} INTERFACE)
  add_library(kvloom::${backend} ALIAS kvloom_${backend})
  target_link_libraries(kvloom_${backend} INTERFACE kvloom ${ARGN})
endfunction()

# kvloom::host: fibers (Boost.Context) over threads.
if(KVLOOM_HOST)
  if(kvloom_is_top_level)
    set(Boost_USE_STATIC_LIBS ON) # test programs can be carried to a machine without Boost
  endif()
  kvloom_find_runtime(host libraries missing)
  if(NOT missing)
    kvloom_add_backend(host ${libraries})
    list(APPEND kvloom_backends host)
  elseif(NOT KVLOOM_HOST STREQUAL "AUTO")
    message(FATAL_ERROR "KVLOOM_HOST is ${KVLOOM_HOST}, but kvloom::host needs ${missing}")
  endif()
endif()

# kvloom::hip. Where HIP is enabled as a language it brings the runtime; elsewhere the ROCm package does.
if(KVLOOM_HIP AND NOT KVLOOM_SANITIZER)
  if(kvloom_is_top_level)
    if(NOT DEFINED CMAKE_HIP_ARCHITECTURES)
      set(CMAKE_HIP_ARCHITECTURES gfx90a gfx942 gfx950 CACHE STRING "AMD processors to compile for")
    endif()
    if(KVLOOM_HIP STREQUAL "AUTO")
      include(CheckLanguage)
      check_language(HIP)
    endif()
    if(CMAKE_HIP_COMPILER OR NOT KVLOOM_HIP STREQUAL "AUTO")
      enable_language(HIP)
      if(NOT CMAKE_HIP_COMPILER_ID)
        message(FATAL_ERROR "${CMAKE_HIP_COMPILER} cannot build a HIP program; see CMakeFiles/CMakeError.log or "
                            "CMakeConfigureLog.yaml. With Debian's clang, clang-tools of its version must be installed.")
      endif()
      list(APPEND kvloom_backends hip)
    endif()
  endif()
  kvloom_find_runtime(hip libraries missing)
  kvloom_add_backend(hip ${libraries})
endif()

# kvloom::cuda. Where CUDA is enabled as a language it brings the runtime, static or shared as
# CMAKE_CUDA_RUNTIME_LIBRARY says.
if(KVLOOM_CUDA AND NOT KVLOOM_SANITIZER)
  if(kvloom_is_top_level)
    if(NOT CMAKE_CUDA_COMPILER)
      find_program(kvloom_nvcc nvcc PATHS /usr/local/cuda/bin)
      mark_as_advanced(kvloom_nvcc)
      if(kvloom_nvcc)
        set(CMAKE_CUDA_COMPILER ${kvloom_nvcc})
      endif()
    endif()
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 90a CACHE STRING "NVIDIA architectures to compile for")
    endif()
    if(CMAKE_CUDA_COMPILER OR NOT KVLOOM_CUDA STREQUAL "AUTO")
      enable_language(CUDA)
      list(APPEND kvloom_backends cuda)
    endif()
  endif()
  kvloom_find_runtime(cuda libraries missing)
  kvloom_add_backend(cuda ${libraries})
endif()

if(kvloom_is_top_level)
  string(REPLACE ";" ", " kvloom_backends_text "${kvloom_backends}")
  message(STATUS "kvloom ${PROJECT_VERSION}: backends ${kvloom_backends_text}")
endif()
