#pragma once
/* Where the catalogues lie: $REHEARSE_DATA, beside an installed program (../share/rehearse), the
 * source tree it was built from, or where it was to be installed; the first that is there. */
#include <glib.h>

/* A folder that holds platforms/data and workloads/data. Borrowed, for ever; there or not. */
const char *rh_data_dir(void);

/* A folder of the catalogues with files NAME.json, and what is read from them, each once and for ever.
 * Statically initialised with the first three; the rest is zero. */
typedef struct {
    const char *noun;                                /* of one of them, in errors: "stack" */
    const char *folder;                              /* below rh_data_dir(): "strategies/stacks" */
    void *(*load)(const char *name, GError **error); /* NULL: only names are asked for */
    GMutex lock;
    const char *const *names;
    GHashTable *read; /* interned name -> thing */
} RhDataShelf;
/* Names of its files, sorted, interned, NULL-ended, for ever; none where there is no such folder. */
const char *const *rh_data_shelf_names(RhDataShelf *shelf);
/* Where the file of that name is, or would be. Caller frees. */
char *rh_data_shelf_path(const RhDataShelf *shelf, const char *name);
/* The thing of that name, by `load` where it is asked for first (which may ask the shelf for others that
 * this one derives from). Borrowed, for ever. RH_ERROR_USAGE: no such name; else what `load` says; a file
 * that derives from itself is RH_ERROR_INPUT. */
const void *rh_data_shelf_get(RhDataShelf *shelf, const char *name, GError **error);
