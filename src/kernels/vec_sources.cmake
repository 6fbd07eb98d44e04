# The elementwise, attention and recurrent rows, one unit per instruction set; only these files get ISA flags.
set(VEC_SOURCES scan.cpp vec.cpp vec_math.cpp ref/scan_plain.cpp ref/vec_plain.cpp)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND VEC_SOURCES x86/scan_avx2.cpp x86/scan_avx512.cpp x86/vec_avx2.cpp x86/vec_avx512.cpp)
  set(VEC_AVX2_FLAGS -O3 -fno-lto -mavx2 -mfma -mf16c)
  set(VEC_AVX512_FLAGS ${VEC_AVX2_FLAGS} -mavx512f -mavx512bw -mavx512vl -mavx512dq)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12's own AVX-512 header reads a variable that it leaves unset on purpose.
    list(APPEND VEC_AVX512_FLAGS -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
  set_source_files_properties(x86/scan_avx2.cpp x86/vec_avx2.cpp PROPERTIES COMPILE_OPTIONS "${VEC_AVX2_FLAGS}")
  set_source_files_properties(x86/scan_avx512.cpp x86/vec_avx512.cpp PROPERTIES COMPILE_OPTIONS "${VEC_AVX512_FLAGS}")
endif()
