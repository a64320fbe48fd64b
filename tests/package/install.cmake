# SPDX-License-Identifier: MIT
# Installs the build tree BUILD of SOURCE into INSTALLED, renames that to MOVED, and looks at what lies there.
unset(ENV{DESTDIR})
file(REMOVE_RECURSE ${INSTALLED} ${MOVED})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${INSTALLED} COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${INSTALLED} ${MOVED})

# Every header, and nothing but headers, the package and the licence.
file(GLOB_RECURSE headers RELATIVE ${SOURCE}/include ${SOURCE}/include/*.hpp)
file(GLOB_RECURSE installed_headers RELATIVE ${MOVED}/include ${MOVED}/include/*)
if(NOT headers OR NOT headers STREQUAL installed_headers)
  message(FATAL_ERROR "installed headers:\n${installed_headers}\nheaders:\n${headers}")
endif()
file(GLOB_RECURSE others RELATIVE ${MOVED} ${MOVED}/*)
list(FILTER others EXCLUDE REGEX "^include/|^share/(cmake/kvloom/[A-Za-z]+\\.cmake|doc/kvloom/LICENSE)$")
if(others)
  message(FATAL_ERROR "installed, but neither header, package nor licence: ${others}")
endif()

# No file of the package names a place of this machine.
file(GLOB_RECURSE package ${MOVED}/share/cmake/*)
foreach(file IN LISTS package)
  file(READ ${file} text)
  foreach(place IN ITEMS ${SOURCE} ${BUILD} ${INSTALLED})
    string(FIND "${text}" "${place}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} names ${place}")
    endif()
  endforeach()
endforeach()
