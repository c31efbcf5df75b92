#pragma once
/* Where the catalogues lie: $REHEARSE_DATA, beside an installed program (../share/rehearse), the
 * source tree it was built from, or where it was to be installed; the first that is there. */

/* A folder that holds platforms/data and workloads/data. Borrowed, for ever; there or not. */
const char *rh_data_dir(void);
