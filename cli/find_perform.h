#pragma once
/* Finds rehearse-perform, a separate program beside this one. */
#include <glib.h>
#include <stdbool.h>

/* Returns the path of a sibling program by `name`, which need not exist; caller frees. */
char *rh_program_beside(const char *name);
/* Checks that it exists. RH_ERROR_NO_ANSWER: not built yet, or configured without MPI. */
bool rh_perform_there(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
