# make install: headers, both libraries, the command and its models, the CMake package `tangere` and the pkg-config file.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tangere")

install(TARGETS tangere tangere_static EXPORT tangereTargets)
if(TARGET tangere_cli)
    install(TARGETS tangere_cli)
    install(
        DIRECTORY "${PROJECT_SOURCE_DIR}/models"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/tangere"
        FILES_MATCHING PATTERN "*.xml")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tangere" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

install(EXPORT tangereTargets NAMESPACE tangere:: DESTINATION "${package_dir}")
configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/tangereConfig.cmake.in" "${PROJECT_BINARY_DIR}/tangereConfig.cmake"
    INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/tangereConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(
    FILES "${PROJECT_BINARY_DIR}/tangereConfig.cmake" "${PROJECT_BINARY_DIR}/tangereConfigVersion.cmake"
          "${PROJECT_SOURCE_DIR}/cmake/FindQhullR.cmake"
    DESTINATION "${package_dir}")

set(pc_requires_private "expat")
if(QhullR_FOUND)
    string(APPEND pc_requires_private ", qhull_r")
endif()
# the prefix is found from where the file lies, so that an installed tree can be moved
file(RELATIVE_PATH pc_prefix "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
configure_file("${PROJECT_SOURCE_DIR}/cmake/tangere.pc.in" "${PROJECT_BINARY_DIR}/tangere.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tangere.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
