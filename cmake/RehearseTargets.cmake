# rh_library(NAME [SOURCE_DIR d] [SUBDIRS a b] LIBS ...): one static library per folder.
function(rh_sources out dir)
  file(GLOB found CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${dir}/*.c" "${CMAKE_SOURCE_DIR}/${dir}/*.cpp")
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# rh_precompile(NAME [KIT]): headers of the system that nearly all files read, half of what it takes to compile a file
# without optimisation; as the target KIT has them. Files that ask these headers for more read them themselves.
function(rh_precompile name)
  if(NOT RH_PCH)
    return()
  endif()
  get_target_property(sources ${name} SOURCES)
  list(FILTER sources EXCLUDE REGEX "^${CMAKE_BINARY_DIR}/")
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" asks REGEX "^#define _[A-Z]+_SOURCE" LIMIT_COUNT 1)
    if(asks)
      set_source_files_properties("${source}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
  if(ARGC GREATER 1)
    target_precompile_headers(${name} REUSE_FROM ${ARGV1})
    return()
  endif()
  foreach(header glib math stdio stdlib string)
    target_precompile_headers(${name} PRIVATE "$<$<COMPILE_LANGUAGE:C>:<${header}.h$<ANGLE-R>>")
  endforeach()
endfunction()

# The sources of a folder and of those of its subfolders that are named.
function(rh_folder_sources out folder)
  rh_sources(sources ${folder})
  foreach(sub IN LISTS ARGN)
    rh_sources(more ${folder}/${sub})
    list(APPEND sources ${more})
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

function(rh_library name)
  cmake_parse_arguments(A "" "SOURCE_DIR" "SUBDIRS;LIBS" ${ARGN})
  if(NOT A_SOURCE_DIR)
    set(A_SOURCE_DIR ${name})
  endif()
  rh_folder_sources(sources ${A_SOURCE_DIR} ${A_SUBDIRS})
  if(NOT sources) # a folder of headers only
    add_library(rh_${name} INTERFACE)
    target_link_libraries(rh_${name} INTERFACE ${A_LIBS})
    return()
  endif()
  add_library(rh_${name} STATIC ${sources})
  target_compile_definitions(rh_${name} PRIVATE G_LOG_DOMAIN="rehearse-${name}")
  target_link_libraries(rh_${name} PUBLIC ${A_LIBS})
endfunction()

function(rh_program name)
  cmake_parse_arguments(A "" "SOURCE_DIR" "SUBDIRS;LIBS" ${ARGN})
  rh_folder_sources(sources ${A_SOURCE_DIR} ${A_SUBDIRS})
  if(NOT sources)
    message(STATUS "  ${name}: ${A_SOURCE_DIR}/ holds no source, not built")
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${A_LIBS})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()

# A program for smpirun, as smpicc makes one: a shared object whose libc clock and MPI are SMPI's.
# Compiled from the folders' sources, since every rank needs its own copy of their globals; without optimisation, as
# computation takes no simulated time.
function(rh_smpi_program name)
  set(all)
  foreach(folder IN LISTS ARGN)
    rh_sources(sources ${folder})
    list(APPEND all ${sources})
  endforeach()
  add_library(${name} MODULE EXCLUDE_FROM_ALL ${all})
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX "")
  target_include_directories(${name} BEFORE PRIVATE "${RH_SMPI_INCLUDE}")
  target_compile_options(${name} PRIVATE -w -O0)
  target_compile_definitions(${name} PRIVATE G_LOG_DOMAIN="${name}" _GNU_SOURCE) # some files ask for it: too late here
  target_precompile_headers(${name} PRIVATE <smpi_helpers.h> <glib.h> <math.h> <stdio.h> <stdlib.h> <string.h>)
  target_link_libraries(${name} PRIVATE rh_deps PkgConfig::SIMGRID)
endfunction()

# rh_cuda_program(NAME SOURCE_DIRS d ...): every .c and .cu of the folders, standing on the CUDA Toolkit alone. Vendor
# libraries are opened when it runs.
function(rh_cuda_program name)
  cmake_parse_arguments(A "" "" "SOURCE_DIRS" ${ARGN})
  set(patterns)
  foreach(folder IN LISTS A_SOURCE_DIRS)
    list(APPEND patterns "${CMAKE_SOURCE_DIR}/${folder}/*.c" "${CMAKE_SOURCE_DIR}/${folder}/*.cu")
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>"
    "$<$<COMPILE_LANGUAGE:C>:${RH_WARNINGS};-Wstrict-prototypes;-Wmissing-prototypes>")
  if(RH_WERROR)
    target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Werror>"
      "$<$<COMPILE_LANGUAGE:C>:-Werror>")
  endif()
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS} m)
  set_target_properties(${name} PROPERTIES CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static
    CUDA_ARCHITECTURES "${RH_CUDA_ARCHITECTURES}" LINKER_LANGUAGE CUDA)
endfunction()

# rh_embed_html(NAME FOLDER): the style sheets and scripts of a folder, as arrays of the library NAME.
function(rh_embed_html name folder)
  set(made "${CMAKE_BINARY_DIR}/${folder}_assets.c")
  set(style page)
  set(script base table cards parts gantt main)
  set(study study)
  set(playground base cards play)
  list(TRANSFORM style REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/${folder}/\\1.css")
  list(TRANSFORM script REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/${folder}/\\1.js")
  list(TRANSFORM study REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/${folder}/\\1.js")
  list(TRANSFORM playground REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/${folder}/\\1.js")
  add_custom_command(OUTPUT "${made}"
    COMMAND "${CMAKE_COMMAND}" -D "OUT=${made}" -D "HEADER=report/page/html_assets.h" -D "STYLE=${style}"
            -D "SCRIPT=${script}" -D "STUDY=${study}" -D "PLAYGROUND=${playground}" -P "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS ${style} ${script} ${study} ${playground} "${CMAKE_SOURCE_DIR}/cmake/embed.cmake" VERBATIM)
  target_sources(rh_${name} PRIVATE "${made}")
endfunction()
