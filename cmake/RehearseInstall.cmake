# librehearse: everything up to the search as one static library, its headers, a pkg-config file, the
# catalogues, and the program. `cmake --install BUILD --prefix P`; examples/ are compiled against both.
# Public is what rehearse.h names, and what that names: nothing else is installed.
set(public include/rehearse.h)
set(unread ${public})
while(unread)
  list(POP_FRONT unread header)
  file(STRINGS "${CMAKE_SOURCE_DIR}/${header}" lines REGEX "^#include \"")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" named "${line}")
    if(NOT named IN_LIST public)
      list(APPEND public ${named})
      list(APPEND unread ${named})
    endif()
  endforeach()
endwhile()

set(parts base accuracy sweep kernel_names platforms workloads sim engine strategies)
list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:rh_\\1>" OUTPUT_VARIABLE objects)
add_library(librehearse STATIC ${objects})
set_target_properties(librehearse PROPERTIES OUTPUT_NAME rehearse LINKER_LANGUAGE CXX)
target_include_directories(librehearse INTERFACE "${CMAKE_SOURCE_DIR}/include" "${CMAKE_SOURCE_DIR}")
target_link_libraries(librehearse INTERFACE PkgConfig::GLIB PkgConfig::CJSON PkgConfig::YAML
  PkgConfig::GSL PkgConfig::SIMGRID m)

# The same as a shared library, with a version. It exports what public headers declare.
if(RH_SHARED)
  set(exported)
  foreach(header IN LISTS public)
    file(READ "${CMAKE_SOURCE_DIR}/${header}" text)
    string(REGEX MATCHALL "rh_[a-z0-9_]+" names "${text}")
    list(APPEND exported ${names})
  endforeach()
  list(APPEND exported rh_recipe_* rh_adam_moments_* rh_frozen_format_*) # declared by the tables of rows
  list(REMOVE_DUPLICATES exported)
  list(SORT exported)
  list(JOIN exported ";\n" exported)
  file(CONFIGURE OUTPUT librehearse.map @ONLY CONTENT "{ global:\n@exported@;\nlocal: *; };\n")
  set(map "${CMAKE_BINARY_DIR}/librehearse.map")
  add_library(librehearse_shared SHARED ${objects})
  set_target_properties(librehearse_shared PROPERTIES OUTPUT_NAME rehearse LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${map})
  target_link_options(librehearse_shared PRIVATE "-Wl,--version-script=${map}")
  target_link_libraries(librehearse_shared PRIVATE rh_flags PkgConfig::GLIB PkgConfig::CJSON
    PkgConfig::YAML PkgConfig::GSL PkgConfig::SIMGRID m)
  install(TARGETS librehearse_shared COMPONENT rehearse)
endif()

configure_file(cmake/rehearse.pc.in rehearse.pc @ONLY)
install(TARGETS librehearse rehearse COMPONENT rehearse)
if(TARGET rehearse-mpi)
  install(TARGETS rehearse-mpi COMPONENT rehearse OPTIONAL)
endif()
install(FILES include/rehearse.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rehearse COMPONENT rehearse)
list(REMOVE_ITEM public include/rehearse.h)
foreach(header IN LISTS public)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rehearse/${folder} COMPONENT rehearse)
endforeach()
foreach(part platforms workloads calibrate validate)
  install(DIRECTORY ${part}/data DESTINATION ${CMAKE_INSTALL_DATADIR}/rehearse/${part} COMPONENT rehearse)
endforeach()
install(DIRECTORY workloads/families DESTINATION ${CMAKE_INSTALL_DATADIR}/rehearse/workloads COMPONENT rehearse)
install(FILES workloads/multimodal.json workloads/hub.json DESTINATION ${CMAKE_INSTALL_DATADIR}/rehearse/workloads COMPONENT rehearse)
install(DIRECTORY strategies/stacks strategies/frameworks DESTINATION ${CMAKE_INSTALL_DATADIR}/rehearse/strategies COMPONENT rehearse)
install(DIRECTORY strategies/serve/servers strategies/serve/engines DESTINATION ${CMAKE_INSTALL_DATADIR}/rehearse/strategies/serve COMPONENT rehearse)
install(DIRECTORY strategies/a2a_backends DESTINATION ${CMAKE_INSTALL_DATADIR}/rehearse/strategies COMPONENT rehearse)
install(FILES "${CMAKE_BINARY_DIR}/rehearse.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT rehearse)

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/rehearse RENAME copyright COMPONENT rehearse)

file(GLOB examples CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/examples/*.c")
foreach(source IN LISTS examples)
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  target_link_libraries(example_${name} PRIVATE librehearse rh_flags)
  set_target_properties(example_${name} PROPERTIES LINKER_LANGUAGE CXX)
endforeach()

# What the program says of itself: its manual page, and what shells complete.
if(NOT CMAKE_CROSSCOMPILING)
  set(said "${CMAKE_BINARY_DIR}/said")
  add_custom_command(OUTPUT "${said}/rehearse.1" "${said}/rehearse" "${said}/_rehearse" "${said}/rehearse.fish"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${said}"
    COMMAND rehearse help --man > "${said}/rehearse.1"
    COMMAND rehearse completions bash > "${said}/rehearse"
    COMMAND rehearse completions zsh > "${said}/_rehearse"
    COMMAND rehearse completions fish > "${said}/rehearse.fish"
    DEPENDS rehearse VERBATIM)
  add_custom_target(said ALL DEPENDS "${said}/rehearse.1")
  install(FILES "${said}/rehearse.1" DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT rehearse)
  install(FILES "${said}/rehearse" DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT rehearse)
  install(FILES "${said}/_rehearse" DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT rehearse)
  install(FILES "${said}/rehearse.fish" DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT rehearse)
endif()
