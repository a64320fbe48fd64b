# SPDX-License-Identifier: MIT
# Configures, builds and tests PROJECT in BUILD, from nothing, with the options after "--".

# Flags of the environment would be a consumer's own; they are not what is looked at here.
foreach(name IN ITEMS CXXFLAGS CUDAFLAGS HIPFLAGS LDFLAGS kvloom_DIR kvloom_ROOT)
  unset(ENV{${name}})
endforeach()

set(options "")
set(beyond_dashes FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(number RANGE ${last})
  if(beyond_dashes)
    list(APPEND options "${CMAKE_ARGV${number}}")
  elseif(CMAKE_ARGV${number} STREQUAL "--")
    set(beyond_dashes TRUE)
  endif()
endforeach()

file(REMOVE_RECURSE ${BUILD})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${PROJECT} -B ${BUILD} -G ${GENERATOR} ${options}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CTEST} --output-on-failure --no-tests=error WORKING_DIRECTORY ${BUILD}
                COMMAND_ERROR_IS_FATAL ANY)
