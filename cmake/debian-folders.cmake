# Where Debian looks for things that other systems have elsewhere; run by cpack on the tree that becomes the package.
set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}")
if(EXISTS "${root}/share/zsh/site-functions/_rehearse")
  file(MAKE_DIRECTORY "${root}/share/zsh/vendor-completions")
  file(RENAME "${root}/share/zsh/site-functions/_rehearse" "${root}/share/zsh/vendor-completions/_rehearse")
  file(REMOVE_RECURSE "${root}/share/zsh/site-functions")
endif()
execute_process(COMMAND gzip -9 -n "${root}/share/man/man1/rehearse.1" COMMAND_ERROR_IS_FATAL ANY)
