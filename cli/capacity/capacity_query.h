#pragma once
/* Which cells a question of capacity has. Where no sizes are said, a platform of several nodes is taken whole; of one node
 * it is as many as the date takes. */
#include "cli/inputs/inputs.h"
#include "report/capacity/capacity.h"

/* A platform, format and batches: the cells of one series differ in size alone. */
typedef struct {
    const char *platform, *dtype;
    int64_t batch_least, batch_most;
    int32_t gpus_per_node;
    bool open; /* of as many nodes as it takes */
} RhCapacitySeries;

typedef struct {
    const RhArguments *a;
    RhCapacityTarget goal;
    GPtrArray *names;  /* char*: platforms, owned */
    GArray *sizes;     /* int64_t: GPUs, ascending; none: see above */
    GStrv dtypes;      /* NULL-ended */
    GArray *series;    /* RhCapacitySeries */
    GPtrArray *inputs; /* RhInputs*, of each cell */
    GArray *cells;     /* RhCapacityCell, ordered by series and size */
    GArray *left_out;  /* RhCapacityLeftOut */
} RhCapacityQuery;

/* Reads the words; clear it whatever is returned. RH_ERROR_USAGE. */
bool rh_capacity_query_read(RhCapacityQuery *q, GError **error);
/* The cells that are known from the words alone, loaded and not yet planned. */
bool rh_capacity_query_load(RhCapacityQuery *q, GError **error);
/* Loads the next cells of open series, by what those at hand came to; *count of them. */
bool rh_capacity_query_next(RhCapacityQuery *q, guint *count, GError **error);
void rh_capacity_query_clear(RhCapacityQuery *q);
