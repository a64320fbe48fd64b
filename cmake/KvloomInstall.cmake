# SPDX-License-Identifier: MIT
# What an installed kvloom holds: headers, licence, and a relocatable CMake package.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(kvloom_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/kvloom) # not of one architecture, so not below lib

install(TARGETS kvloom EXPORT kvloom INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT kvloom NAMESPACE kvloom:: FILE kvloomTargets.cmake DESTINATION ${kvloom_package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/kvloom DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Before 1.0 each minor version may break what the one before it promised.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kvloomConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/kvloomConfigVersion.cmake ${CMAKE_CURRENT_LIST_DIR}/kvloomConfig.cmake
              ${CMAKE_CURRENT_LIST_DIR}/KvloomRuntimes.cmake
        DESTINATION ${kvloom_package_dir})
