# What `cmake --install` puts into place beside the command line: both libraries, the headers, the CMake package
# `Ingle` and ingle.pc. The prefix may be moved afterwards: nothing installed names it.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Ingle)

install(TARGETS ingle_c ingle_static EXPORT IngleTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
get_property(plugins GLOBAL PROPERTY INGLE_BUILT_PLUGINS)
if(plugins)  # backends that are loaded by name, found beside libingle
  install(TARGETS ${plugins} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ingle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/ingle)
install(EXPORT IngleTargets NAMESPACE Ingle:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/IngleConfig.cmake.in ${PROJECT_BINARY_DIR}/IngleConfig.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Until 1.0 a minor version may change the ABI.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/IngleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/IngleConfig.cmake ${PROJECT_BINARY_DIR}/IngleConfigVersion.cmake
        DESTINATION ${package_dir})

# pkg-config finds the prefix from where ingle.pc lies, as far as the folders allow.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
  set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH up /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/ingle.pc.in ${PROJECT_BINARY_DIR}/ingle.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ingle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
