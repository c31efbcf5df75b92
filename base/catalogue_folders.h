#pragma once
/* Finds the catalogues: in $REHEARSE_DATA, beside an installed program (../share/rehearse), in the
 * source tree it was built from, or where it was to be installed; the first that exists. */
#include <glib.h>
#include <stdbool.h>

/* Returns the folder that holds platforms/data and workloads/data. Borrowed, never freed; it need
 * not exist. */
const char *rh_data_dir(void);

/* Returns whether a name means a file: it contains '/' or ends in ".json". */
bool rh_data_is_path(const char *name);

/* A folder of the catalogues with files NAME.json, and a cache of the objects read from them, which
 * are never freed. Initialise the first members statically, those from `lock` on are zero. */
typedef struct {
    const char *noun;   /* kind of object, for errors: "stack" */
    const char *folder; /* below rh_data_dir(): "strategies/stacks" */
    bool takes_paths;   /* the path of a file anywhere stands for a name, too */
    void *(*load)(const char *name, GError **error); /* NULL if only names are used */
    GMutex lock;
    const char *const *names;
    GHashTable *read; /* interned name -> object */
} RhDataCatalogue;
/* Returns the names of the folder's files, sorted, interned, NULL-terminated, never freed; an empty
 * list when there is no such folder. */
const char *const *rh_data_shelf_names(RhDataCatalogue *shelf);
/* Returns the path of the file of that name, which need not exist; a path that the shelf takes, as
 * it is. Caller frees. */
char *rh_data_shelf_path(const RhDataCatalogue *shelf, const char *name);
/* Returns the object of that name, loaded at its first use (`load` may request others that it
 * derives from). Borrowed, never freed. RH_ERROR_USAGE for an unknown name, RH_ERROR_INPUT for a
 * file that derives from itself, and the errors of `load`. */
const void *rh_data_shelf_get(RhDataCatalogue *shelf, const char *name,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
