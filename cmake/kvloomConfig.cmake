# SPDX-License-Identifier: MIT
# find_package(kvloom [version] [COMPONENTS host hip cuda]): kvloom::kvloom, and kvloom::<component> for each.
#
# Nothing but what is asked for is looked for: the headers alone need neither Boost, nor HIP, nor CUDA.
cmake_policy(VERSION 3.22...3.30)

include(${CMAKE_CURRENT_LIST_DIR}/kvloomTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/KvloomRuntimes.cmake)

foreach(kvloom_component IN LISTS kvloom_FIND_COMPONENTS)
  set(kvloom_${kvloom_component}_FOUND TRUE)
  if(NOT kvloom_component MATCHES "^(host|hip|cuda)$")
    set(kvloom_missing "a kvloom that has it: there are host, hip and cuda")
  elseif(TARGET kvloom::${kvloom_component})
    continue()
  else()
    kvloom_find_runtime(${kvloom_component} kvloom_libraries kvloom_missing)
  endif()
  if(NOT kvloom_missing)
    add_library(kvloom::${kvloom_component} INTERFACE IMPORTED)
    target_link_libraries(kvloom::${kvloom_component} INTERFACE kvloom::kvloom ${kvloom_libraries})
  else()
    set(kvloom_${kvloom_component}_FOUND FALSE)
    if(kvloom_FIND_REQUIRED_${kvloom_component})
      set(kvloom_FOUND FALSE)
      string(APPEND kvloom_NOT_FOUND_MESSAGE "component ${kvloom_component} needs ${kvloom_missing}. ")
    endif()
  endif()
endforeach()
