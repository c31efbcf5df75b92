#pragma once
/* A page on which model, cluster and layout are sliders: every answer of a grid, computed before,
 * in one file without network access. */
#include "strategies/search/layout_grid_estimates.h"

/* Answers of one job. */
typedef struct {
    int32_t model, cluster, gpus; /* indices */
    const GArray *cells;          /* RhGridCell */
} RhPlaygroundJob;

/* Everything is borrowed. */
typedef struct {
    const char *version;
    const char *const *argv;
    const char *const *models, *const *clusters; /* NULL-terminated */
    const int32_t *gpus;
    int32_t gpus_count;
    int64_t global_batch, sequence;
    const RhLayoutAxis *axes;  /* of the grid, a slider each */
    const char *const *labels; /* of each: "tensor parallelism" */
    int32_t axes_count;
    const RhPlaygroundJob *jobs;
    int32_t jobs_count;
} RhPlayground;

/* Returns the document behind the page, and the page. Caller frees. */
char *rh_report_playground_json(const RhPlayground *p);
char *rh_report_playground_page(const RhPlayground *p, const char *answer);
