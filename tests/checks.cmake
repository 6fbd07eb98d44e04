# Checks that are no executables of ours: arrows, public headers, and what was built (label `static`), the command line.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(ingle_check name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS static)
endfunction()

ingle_check(arrows ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/arrows.py ${PROJECT_SOURCE_DIR})
ingle_check(documents ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/docs.py ${PROJECT_SOURCE_DIR})
ingle_check(arrows_self_test ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/arrows.py --self-test)

# Each public header compiles alone; those of the C API as strict C11 too.
set(strict -fsyntax-only -Wall -Wextra -Wpedantic -pedantic-errors -Werror -I${PROJECT_SOURCE_DIR}/include)
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/ingle/*.h ${PROJECT_SOURCE_DIR}/include/ingle/*.hpp)
foreach(header IN LISTS headers)
  get_filename_component(name ${header} NAME)
  ingle_check(header_cxx_${name} ${CMAKE_CXX_COMPILER} -std=c++20 ${strict} -x c++
              -include ${header} /dev/null)
  if(name MATCHES "\\.h$")
    ingle_check(header_c_${name} ${CMAKE_C_COMPILER} -std=c11 ${strict} -Wstrict-prototypes -x c -include ${header} /dev/null)
  endif()
endforeach()

# Sanitizers and coverage bring symbols and libraries of their own.
if(NOT INGLE_SANITIZE AND NOT INGLE_COVERAGE)
  if(TARGET ingle_kernels)
    set(objects "$<FILTER:$<TARGET_OBJECTS:ingle_kernels>,INCLUDE,/(x86|arm)/>")
    add_test(NAME units_without_weak_symbols COMMAND_EXPAND_LISTS
             COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/binaries.py weak "${objects}")
    set_tests_properties(units_without_weak_symbols PROPERTIES LABELS static)
  endif()
  if(TARGET ingle_c)
    set(checks exports needs silent)
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
      list(APPEND checks size)
    endif()
    foreach(check IN LISTS checks)
      ingle_check(shared_library_${check}
                  ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/binaries.py ${check} $<TARGET_FILE:ingle_c>)
    endforeach()
    add_test(NAME library_is_quiet COMMAND_EXPAND_LISTS
             COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/binaries.py quiet $<TARGET_FILE:ingle_static>
                     "$<TARGET_OBJECTS:ingle_capi>")
    set_tests_properties(library_is_quiet PROPERTIES LABELS static)
    # Skipped where llama.cpp is not at hand.
    add_test(NAME beside_llama COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/neighbours/beside_llama.py
                                       $<TARGET_FILE:ingle_c> ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER})
    set_tests_properties(beside_llama PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endif()

# The kernels on other processors, by qemu-user where that is installed.
if(TARGET ingle_cli AND TARGET test_kernels AND NOT INGLE_SANITIZE AND NOT INGLE_COVERAGE)
  foreach(what arm x86)
    add_test(NAME emulated_${what} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/emulated.py
                                           ${what} ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
    set_tests_properties(emulated_${what} PROPERTIES LABELS long SKIP_RETURN_CODE 77 TIMEOUT 3600)
  endforeach()
endif()

# The command line as its users run it.
if(TARGET ingle_cli)
  add_test(NAME cli COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/cli/cli_test.py
                            $<TARGET_FILE:ingle_cli> ${CMAKE_CURRENT_SOURCE_DIR}/data/models)
endif()

# A real model as a Hugging Face folder, where transformers is here to make it.
if(TARGET ingle_cli)
  add_test(NAME real_folder COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/golden/folder_test.py
                                    $<TARGET_FILE:ingle_cli> SmolLM2-135M-Instruct.Q4_1.gguf)
  set_tests_properties(real_folder PROPERTIES LABELS long SKIP_RETURN_CODE 77)
endif()

# The Python package, where it is built. Its tools are fetched once; where they cannot be had the tests say so.
if(TARGET ingle_python)
  foreach(what prepare test debug types)
    add_test(NAME python_${what} COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/python/run.py
                                         ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${what})
    set_tests_properties(python_${what} PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED python_tools)
  endforeach()
  set_tests_properties(python_prepare PROPERTIES FIXTURES_REQUIRED "" FIXTURES_SETUP python_tools)
endif()

# What is installed serves a project outside the tree; below another project the whole is built once more.
if(TARGET ingle_c AND NOT INGLE_SANITIZE AND NOT INGLE_COVERAGE)
  add_test(NAME install COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/install/install_test.py
                                ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME install_subdirectory COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/install/install_test.py
                                             ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} --subdirectory)
  set_tests_properties(install_subdirectory PROPERTIES LABELS long TIMEOUT 3600)
endif()
