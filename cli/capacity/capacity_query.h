#pragma once
/* Determines the cells of a capacity question. Without sizes, a platform of several nodes is taken
 * whole, and one of a single node with as many nodes as the date requires. */
#include "cli/inputs/inputs.h"
#include "report/capacity/capacity.h"

/* A platform, dtype and batches: cells of one series differ only in size. */
typedef struct {
    const char *platform, *dtype;
    const char *profile; /* of the platform's device; NULL: none */
    int64_t batch_least, batch_most;
    int32_t gpus_per_node;
    bool open; /* with as many nodes as needed */
} RhCapacitySeries;

typedef struct {
    const RhArguments *a;
    RhCapacityTarget goal;
    GPtrArray *names;  /* char*: platforms, owned */
    GArray *sizes;     /* int64_t: GPUs, ascending; none: see above */
    GStrv dtypes;      /* NULL-ended */
    GArray *series;    /* RhCapacitySeries */
    GPtrArray *inputs; /* RhInputs*, per cell */
    GArray *cells;     /* RhCapacityCell, ordered by series and size */
    GArray *left_out;  /* RhCapacityLeftOut */
} RhCapacityQuery;

/* Returns an empty query of these arguments, which it borrows; clear it. */
RhCapacityQuery rh_capacity_query_new(const RhArguments *arguments);
/* Reads the options. RH_ERROR_USAGE. */
bool rh_capacity_query_read(RhCapacityQuery *q, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Loads the cells that follow from the options alone, without planning them. */
bool rh_capacity_query_load(RhCapacityQuery *q, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Loads the next cells of open series by the results so far; their number in *count. */
bool rh_capacity_query_next(RhCapacityQuery *q, guint *count,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_capacity_query_clear(RhCapacityQuery *q);
