# The Debian package: `cpack -G DEB --config BUILD/CPackConfig.cmake`, after a build. It holds what `cmake --install`
# does, and its dependencies are those of the programs and libraries in it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rehearse)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "The rehearse developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "plan training and serving of models on clusters")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Simulates the training of a model, or an LLM service, on a cluster that need
not exist, and searches for the best parallel layout or deployment. Holds the
program, its catalogues of devices, clusters and models, and the C library
with its headers.")
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};${PROJECT_NAME};rehearse;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/cmake/debian-folders.cmake")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
  "libglib2.0-dev, libcjson-dev, libyaml-dev, libgsl-dev, libsimgrid-dev, pkg-config, mpi-default-bin")
include(CPack)
