#pragma once
/* Where the catalogues lie: $REHEARSE_DATA, beside an installed program (../share/rehearse), the
 * source tree it was built from, or where it was to be installed; the first that is there. */

/* A folder that holds platforms/data and workloads/data. Borrowed, for ever; there or not. */
const char *rh_data_dir(void);
/* Names of a folder's .json files without that ending, sorted, interned, NULL-ended; none where there
 * is no such folder. Caller frees the list, or keeps it for ever. */
const char *const *rh_data_names(const char *folder);
