#pragma once
/* Answers `rehearse --version`: the version of the program, and with -v or --json the schemas of what it writes. */
#include <glib.h>

/* `words` are those after --version. Returns the exit status; an option other than these two is RH_ERROR_USAGE. */
int rh_version_run(int count, char **words, GError **error) G_GNUC_WARN_UNUSED_RESULT;
