# A room is one folder of src: a static library that may use only the rooms named after USES.
# tests/arrows.py checks that its #include lines keep to the same arrows.
option(INGLE_WERROR "Treat warnings as errors" OFF)
option(INGLE_COVERAGE "Instrument for gcov" OFF)
option(INGLE_LIBFUZZER "Build the fuzz targets with libFuzzer (clang)" OFF)
option(INGLE_PRECOMPILE "Precompile the standard headers for the rooms: quicker, but hides a forgotten #include" OFF)
set(INGLE_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")

function(ingle_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wno-missing-field-initializers
                                           -ffp-contract=off -fvisibility=hidden)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
  if(INGLE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
endfunction()

# What users link in should be small, and most of it runs once: release code is compiled for size, but what runs for each
# token or byte (FAST: the whole room; FAST_SOURCES: these files) for speed.
function(ingle_compile_for_size target)
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-Os;-ffunction-sections;-fdata-sections>")
endfunction()

function(ingle_room name)
  cmake_parse_arguments(ROOM "FAST" "" "SOURCES;FAST_SOURCES;USES;PACKAGES" ${ARGN})
  add_library(ingle_${name} STATIC ${ROOM_SOURCES} ${ROOM_FAST_SOURCES})
  ingle_compile_options(ingle_${name})
  if(NOT ROOM_FAST)
    ingle_compile_for_size(ingle_${name})
  endif()
  if(ROOM_FAST_SOURCES)
    set_property(SOURCE ${ROOM_FAST_SOURCES} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
  endif()
  target_include_directories(ingle_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  foreach(used IN LISTS ROOM_USES)
    target_link_libraries(ingle_${name} PUBLIC ingle_${used})
  endforeach()
  target_link_libraries(ingle_${name} PRIVATE ${ROOM_PACKAGES})
  if(INGLE_PRECOMPILE AND name STREQUAL core)  # all rooms are compiled alike, so one will do
    target_precompile_headers(ingle_core PRIVATE <algorithm> <array> <functional> <map> <memory> <optional> <span>
                                                 <string> <string_view> <unordered_map> <variant> <vector>)
  elseif(INGLE_PRECOMPILE AND NOT name STREQUAL kernels)  # whose units see next to nothing
    target_precompile_headers(ingle_${name} REUSE_FROM ingle_core)
  endif()
  set_property(GLOBAL APPEND PROPERTY INGLE_ROOMS ingle_${name})
  set_property(GLOBAL APPEND PROPERTY INGLE_ROOM_PACKAGES ${ROOM_PACKAGES})
endfunction()
