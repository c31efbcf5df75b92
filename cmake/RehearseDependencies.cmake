# What we stand on. SimGrid has no CMake package in Debian 12; its pkg-config file works.
include(GNUInstallDirs)
find_package(PkgConfig REQUIRED)
pkg_check_modules(GLIB REQUIRED IMPORTED_TARGET glib-2.0>=2.74 gio-2.0)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson>=1.7.15)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1>=0.2.5)
pkg_check_modules(GSL REQUIRED IMPORTED_TARGET gsl>=2.7)
pkg_check_modules(SIMGRID REQUIRED IMPORTED_TARGET simgrid>=3.32)

if(RH_SQLITE STREQUAL "ON")
  pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.36)
elseif(NOT RH_SQLITE STREQUAL "OFF")
  pkg_check_modules(SQLITE QUIET IMPORTED_TARGET sqlite3>=3.36) # in memory and as bytes since then
endif()

add_library(rh_deps INTERFACE)
target_link_libraries(rh_deps INTERFACE rh_flags PkgConfig::GLIB PkgConfig::CJSON PkgConfig::YAML PkgConfig::GSL m)
target_include_directories(rh_deps INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_definitions(rh_deps INTERFACE
  GLIB_VERSION_MIN_REQUIRED=GLIB_VERSION_2_74 GLIB_VERSION_MAX_ALLOWED=GLIB_VERSION_2_74
  RH_VERSION="${PROJECT_VERSION}" RH_DATA_DIR="${CMAKE_SOURCE_DIR}"
  RH_INSTALLED_DATA_DIR="${CMAKE_INSTALL_FULL_DATADIR}/rehearse")

if(RH_CUDA STREQUAL "OFF")
  unset(RH_NVCC CACHE)
else()
  find_program(RH_NVCC nvcc HINTS /usr/local/cuda/bin)
endif()
if(NOT RH_MPI STREQUAL "OFF")
  find_program(RH_MPICC mpicc)
endif()
if(RH_MPICC AND NOT RH_SANITIZE AND NOT RH_FUZZ) # SMPI's ranks are threads of its own making
  find_path(RH_SMPI_INCLUDE smpi_helpers.h PATHS ${SIMGRID_INCLUDE_DIRS} PATH_SUFFIXES smpi)
endif()
if(RH_CUDA STREQUAL "ON" AND NOT RH_NVCC)
  message(FATAL_ERROR "RH_CUDA=ON but nvcc was not found; install the CUDA Toolkit or say RH_CUDA=OFF")
endif()
if(RH_MPI STREQUAL "ON" AND NOT RH_MPICC)
  message(FATAL_ERROR "RH_MPI=ON but mpicc was not found; install libopenmpi-dev or say RH_MPI=OFF")
endif()

if(RH_NVCC)
  set(CMAKE_CUDA_COMPILER "${RH_NVCC}")
  set(CMAKE_CUDA_ARCHITECTURES OFF) # each target says its own
  enable_language(CUDA)
  # CUDA 13 dropped Volta, CUDA 12.8 brought Blackwell. The last one also as PTX, for what comes after it.
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    set(RH_CUDA_ARCHITECTURES_USUAL 75-real 80-real 89-real 90-real 100)
  elseif(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
    set(RH_CUDA_ARCHITECTURES_USUAL 70-real 75-real 80-real 89-real 90-real 100)
  elseif(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
    set(RH_CUDA_ARCHITECTURES_USUAL 70-real 75-real 80-real 89-real 90)
  elseif(RH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "RH_CUDA=ON needs CUDA 12 or 13; ${RH_NVCC} is ${CMAKE_CUDA_COMPILER_VERSION}")
  else()
    set(RH_NVCC_OLD "${CMAKE_CUDA_COMPILER_VERSION}")
    set(RH_NVCC "")
  endif()
  set(RH_CUDA_ARCHITECTURES "${RH_CUDA_ARCHITECTURES_USUAL}" CACHE STRING "what rehearse-kernels is built for")
endif()
