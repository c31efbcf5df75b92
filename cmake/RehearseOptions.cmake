# Build options and the flags every target of ours is compiled with.
option(RH_TESTS "Build the tests" ON)
option(RH_BENCH "Build the benchmarks" ON)
option(RH_ONE_TEST_PROGRAM "Link the unit tests into one program, tests/unit_tests NAME (a build from nothing takes less)" OFF)
option(RH_FUZZ "Build the fuzz targets (needs clang)" OFF)
option(RH_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(RH_DEBUG_INFO "Debugging information in a release build (the code is the same without)" ON)
option(RH_SHARED "Build librehearse as a shared library, too" ON)
option(RH_WERROR "Treat warnings as errors (CI does)" OFF)
option(RH_PCH "Precompile the system's headers (a build from nothing takes less; ccache keeps no such file)" OFF)
set(RH_CUDA AUTO CACHE STRING "CUDA calibration kernels: AUTO, ON or OFF")
set(RH_SQLITE AUTO CACHE STRING "Studies as databases of SQLite: AUTO, ON or OFF")
set(RH_MPI AUTO CACHE STRING "MPI performer: AUTO, ON or OFF")

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
# Assertions stay on in release builds: they cost nothing measurable and guard every answer.
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
if(RH_DEBUG_INFO)
  string(APPEND CMAKE_C_FLAGS_RELEASE " -g")
  string(APPEND CMAKE_CXX_FLAGS_RELEASE " -g")
endif()

# Code of the shared library may lie anywhere; calls inside of it stay direct.
if(RH_SANITIZE OR RH_FUZZ)
  set(RH_SHARED OFF)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ${RH_SHARED})

add_library(rh_flags INTERFACE)
if(RH_SHARED)
  target_compile_options(rh_flags INTERFACE -fno-semantic-interposition)
endif()
set(RH_WARNINGS -Wall -Wextra -Wshadow -Wpointer-arith -Wwrite-strings -Wformat=2 -Wvla -Wundef
    -Wswitch-enum -Wdouble-promotion)
target_compile_options(rh_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C>:${RH_WARNINGS};-Wstrict-prototypes;-Wmissing-prototypes>"
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>")
# No fused multiply-add and no fast-math: the same inputs give the same bytes everywhere.
target_compile_options(rh_flags INTERFACE -ffp-contract=off -fno-common)
# A rehearsal runs in a forked child: symbols bound as they are called would be bound in each anew.
include(CheckLinkerFlag)
check_linker_flag(C -Wl,-z,now RH_LINKER_BINDS_NOW)
if(RH_LINKER_BINDS_NOW)
  target_link_options(rh_flags INTERFACE -Wl,-z,now)
endif()
# Programs are linked with whole libraries: mold takes a fraction of the time.
find_program(RH_MOLD mold)
if(RH_MOLD)
  check_linker_flag(C -fuse-ld=mold RH_LINKER_IS_MOLD)
endif()
if(RH_LINKER_IS_MOLD)
  target_link_options(rh_flags INTERFACE -fuse-ld=mold)
endif()
if(RH_WERROR)
  target_compile_options(rh_flags INTERFACE -Werror)
endif()
# -O1: tests take less than a third of the time, and stacks still read. What calls others all the time is compiled
# without (RH_CALLER), which takes a third less.
define_property(TARGET PROPERTY RH_CALLER)
if(RH_SANITIZE)
  target_compile_options(rh_flags INTERFACE $<IF:$<BOOL:$<TARGET_PROPERTY:RH_CALLER>>,-O0,-O1>
    $<$<COMPILE_LANG_AND_ID:C,Clang>:-fsanitize-address-use-after-return=never> # off by default: its code is in the way
    -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(rh_flags INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(rh_flags INTERFACE RH_SANITIZED) # clang has no macro for it
endif()
# What reads a user's files tells the fuzzers which of its branches were taken; telling costs everything else time.
define_property(TARGET PROPERTY RH_READER)
if(RH_FUZZ)
  target_compile_options(rh_flags INTERFACE $<$<BOOL:$<TARGET_PROPERTY:RH_READER>>:-fsanitize=fuzzer-no-link>)
endif()
