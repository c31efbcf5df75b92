#pragma once
/* Finds the built-in devices, clusters and profiles: DIR/platforms/data/KIND/NAME.json, with DIR
 * from REHEARSE_DATA, else the source tree the program was built from. */
#include <glib.h>
#include <stdbool.h>

/* Returns the path of the file for a name or path. Caller frees. */
char *rh_catalogue_path(const char *kind, const char *name);
/* Sets RH_ERROR_INPUT with the known and the near names; returns false. */
bool rh_catalogue_fail_unknown(const char *what, const char *name, const char *const *names,
                               GError **error);
