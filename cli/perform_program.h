#pragma once
/* rehearse-perform, the program of its own that stands beside this one. */
#include <glib.h>
#include <stdbool.h>

/* Its path, whether or not it is there; caller frees. Any sibling of this program by `name`. */
char *rh_program_beside(const char *name);
/* False with RH_ERROR_NO_ANSWER when it is not there: not built yet, or configured without MPI. */
bool rh_perform_there(const char *path, GError **error);
