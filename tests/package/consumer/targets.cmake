# SPDX-License-Identifier: MIT
# What every consumer builds, however kvloom came: a program that launches a kernel on the CPU, a plain C++
# file linked to each target that there is, and the check that nothing of kvloom got into their flags.
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
list(REMOVE_ITEM languages NONE)
if(NOT languages STREQUAL "CXX")
  message(FATAL_ERROR "the consumer enabled CXX alone; now there are ${languages}")
endif()

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
enable_testing()

add_executable(consumer ../consumer/main.cpp)
target_link_libraries(consumer PRIVATE kvloom::host)
if(kvloom_VERSION)
  target_compile_definitions(consumer PRIVATE CONSUMER_FOUND_VERSION="${kvloom_VERSION}")
endif()
add_test(NAME consumer COMMAND consumer)

# The flags of this one are what C++17 alone asks for.
add_library(reference OBJECT ../consumer/reference.cpp)
target_compile_features(reference PRIVATE cxx_std_17)

set(plain "")
foreach(name IN ITEMS kvloom host hip cuda)
  if(TARGET kvloom::${name})
    add_library(plain_${name} OBJECT ../consumer/plain.cpp)
    target_link_libraries(plain_${name} PRIVATE kvloom::${name})
    list(APPEND plain plain_${name})
  endif()
endforeach()

find_package(Python3 3.8 REQUIRED COMPONENTS Interpreter)
add_test(NAME flags
         COMMAND Python3::Interpreter ${PACKAGE_FLAGS_CHECK} ${CMAKE_BINARY_DIR}/compile_commands.json
                 --reference reference --exact plain_kvloom --targets ${plain})

# No test, benchmark or example of kvloom's own is built here.
function(list_targets out folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS subfolders)
    list_targets(below ${subfolder})
    list(APPEND targets ${below})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()
list_targets(targets ${CMAKE_CURRENT_SOURCE_DIR})
list(FILTER targets EXCLUDE REGEX "^(consumer|reference|plain_[a-z]+|kvloom(_host|_hip|_cuda)?)$")
if(targets)
  message(FATAL_ERROR "the consumer got targets that are none of its business: ${targets}")
endif()
