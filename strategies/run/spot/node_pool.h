#pragma once
/* The nodes that a trace gives a job: they come and go, and those that are used are known. Of those that are
 * there, the ones that came first are used first. */
#include "strategies/run/spot/spot_trace.h"

typedef struct {
    const RhSpotEvent *events; /* ascending; borrowed */
    int32_t count, next;
    GArray *nodes;             /* those that are there */
    double t_s;                /* until which `node_s` counts */
    double node_s;             /* that nodes were there */
    const RhSpotPrice *prices; /* borrowed */
    int32_t prices_count;
    double paid; /* for them, in USD of a GPU and hour times seconds of a node */
} RhNodePool;

RhNodePool *rh_node_pool_new(const RhSpotEvent *events, int32_t count);
void rh_node_pool_free(RhNodePool *pool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhNodePool, rh_node_pool_free)

/* Time of the next change; HUGE_VAL: none follows. */
double rh_node_pool_next_s(const RhNodePool *pool);
/* Lets the changes until then happen; returns how many used nodes left. */
int32_t rh_node_pool_advance(RhNodePool *pool, double t_s);
/* Uses so many of them, or all; returns how many. */
int32_t rh_node_pool_use(RhNodePool *pool, int32_t wanted);
