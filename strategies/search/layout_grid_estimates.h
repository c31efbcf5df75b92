#pragma once
/* Answers of a whole grid of layouts of one job, by lower bounds and the ledger's closed form: for
 * a page on which somebody moves knobs and sees figures at once. Nothing is rehearsed. */
#include "strategies/search/rehearsals/rehearse.h"

/* A knob with the values that are looked at, as they stand in a layout's text. */
typedef struct {
    const char *key;           /* "tp", "recompute=" */
    const char *const *values; /* NULL-terminated: "1", "2"; "none", "full" */
} RhLayoutAxis;

/* A layout that the job and its framework allow. */
typedef struct {
    int32_t at;       /* index of the combination: mixed radix, the last axis fastest */
    double step_s;    /* lower bound by the segment graph, slow nodes included */
    double compute_s; /* of it, kernels of the mean rank */
    double slow_s;    /* of it, the allowance for slow nodes */
    double mfu_frac;  /* of a step that long */
    double peak_bytes, capacity_bytes; /* of the fullest stage */
    bool fits;
} RhGridCell;

/* Returns RhGridCell of every legal combination, `at` ascending. Caller frees. */
GArray *rh_layout_grid(const RhProblem *c, const RhLayoutAxis *axes, int32_t axes_count);
