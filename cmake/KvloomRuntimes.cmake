# SPDX-License-Identifier: MIT
# kvloom_find_runtime(backend libraries missing): what host, hip or cuda links besides the headers.
#
# For kvloom's own build and for an installed kvloom alike. `missing` is empty, or says what was not found.
# A GPU's language, where it is enabled, brings its runtime: enable it before kvloom is brought in.
function(kvloom_find_runtime backend libraries_out missing_out)
  set(libraries "")
  set(missing "")
  if(backend STREQUAL "host")
    find_package(Boost 1.71 QUIET COMPONENTS context)
    if(TARGET Boost::context)
      find_package(Threads QUIET)
    endif()
    if(TARGET Boost::context AND TARGET Threads::Threads)
      set(libraries Boost::context Threads::Threads)
    else()
      set(missing "Boost.Context 1.71 or later, and threads")
    endif()
  elseif(backend STREQUAL "hip" AND NOT CMAKE_HIP_COMPILER)
    if(NOT DEFINED CMAKE_POLICY_VERSION_MINIMUM)
      set(CMAKE_POLICY_VERSION_MINIMUM 3.5) # older packages ask for less, which CMake 4 refuses outright
    endif()
    find_package(hip QUIET)
    if(TARGET hip::host)
      set(libraries hip::host) # hip::device would compile every C++ source of the consumer as HIP
    else()
      set(missing "the language HIP enabled, or ROCm's package hip")
    endif()
  elseif(backend STREQUAL "cuda" AND NOT CMAKE_CUDA_COMPILER)
    find_package(CUDAToolkit QUIET)
    if(TARGET CUDA::cudart)
      set(libraries CUDA::cudart)
    else()
      set(missing "the language CUDA enabled, or a CUDA toolkit")
    endif()
  endif()
  set(${libraries_out} "${libraries}" PARENT_SCOPE)
  set(${missing_out} "${missing}" PARENT_SCOPE)
endfunction()
