#pragma once
/* Where the catalogues lie: $REHEARSE_DATA, beside an installed program (../share/rehearse), the
 * source tree it was built from, or where it was to be installed; the first that is there. */
#include <glib.h>

/* A folder that holds platforms/data and workloads/data. Borrowed, for ever; there or not. */
const char *rh_data_dir(void);
/* Names of a folder's .json files without that ending, sorted, interned, NULL-ended; none where there
 * is no such folder. Caller frees the list, or keeps it for ever. */
const char *const *rh_data_names(const char *folder);

/* Things that are read from such files by name, each once and for ever; statically zero. */
typedef struct {
    GMutex lock;
    GHashTable *read; /* interned name -> thing */
} RhDataShelf;
/* The thing of that name among `names`, by `load` where it is asked for first (which may ask the shelf for
 * others); NULL: no such name, or it cannot be read. */
const void *rh_data_shelf(RhDataShelf *shelf, const char *name, const char *const *names,
                          void *(*load)(const char *name));
