#pragma once
/* Where the built-in devices, clusters and profiles lie: DIR/platforms/data/KIND/NAME.json, DIR being
 * REHEARSE_DATA, else the source tree the program was built from. */
#include <glib.h>
#include <stdbool.h>

/* True when the user means a file: a '/' in it, or the ending ".json". */
bool rh_catalogue_is_path(const char *name);
/* The file behind a name or path. Caller frees. */
char *rh_catalogue_path(const char *kind, const char *name);
/* Sets RH_ERROR_INPUT, naming what there is and what is near; false. */
bool rh_catalogue_fail_unknown(const char *what, const char *name, const char *const *names,
                               GError **error);
