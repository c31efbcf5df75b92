#pragma once
/* Tables read off the answers of a study: `sweep merge` and the like. */
#include "cli/sweep/sweep_study_load.h"

typedef struct {
    const char *name;
    int32_t studies; /* that it reads; the first is loaded when it runs */
    int (*run)(RhSweepStudy *s, GError **error); /* exit status */
} RhSweepTable;

/* Returns the verb of a word; NULL: it is none. */
const RhSweepTable *rh_sweep_table_by_name(const char *name);
