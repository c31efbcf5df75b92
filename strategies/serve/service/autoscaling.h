#pragma once
/* Autoscaling: which replicas of a pool are there, by its load. At every look the policy says
 * how many it wants; when it has wanted more for long enough, replicas begin to start, which
 * takes the time to bring their weights and to get ready; when it has wanted fewer for longer,
 * some get no more requests, and go when theirs have ended. */
#include "strategies/serve/replica/replica.h"

/* Policies, as a deployment's text names them: NULL-ended; the first one is none: all are there. */
extern const char *const rh_scaler_names[];

typedef struct RhScaling RhScaling;

/* RH_ERROR_USAGE: keys of scaling that say nothing, or more replicas at least than there can be. */
bool rh_scaling_check(const RhPool *pool, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The first `least` replicas of a pool with a scaler are there at 0, all of one without. Borrows
 * the replicas. */
RhScaling *rh_scaling_new(RhReplica *const *replicas, const RhPool *pool, double start_s);
void rh_scaling_free(RhScaling *scaling);
/* Returns the replicas that take requests; *places: their indices in the pool. Both are borrowed
 * until the next change. */
RhReplica *const *rh_scaling_serving(const RhScaling *scaling, int32_t *count,
                                     const int32_t **places);
double rh_scaling_look_s(const RhScaling *scaling); /* between looks */
/* A look. Those that begin to start now are appended to `starting` (int32_t): they serve start_s
 * later. */
void rh_scaling_look(RhScaling *scaling, double t_s, GArray *starting);
void rh_scaling_started(RhScaling *scaling, int32_t place);
/* Does it work, taking requests or ending those that it has? */
bool rh_scaling_works(const RhScaling *scaling, int32_t place);
/* One that works fails. True: it starts again (rh_scaling_started); false: it was to go, and is
 * gone. */
bool rh_scaling_fail(RhScaling *scaling, int32_t place, double t_s);

/* That replicas were there until now, starting and emptying included. */
double rh_scaling_replica_s(const RhScaling *scaling, double t_s);

typedef struct {
    double replica_s; /* that replicas were there, starting and emptying included, until the end */
    int32_t most;     /* at once */
    int32_t starts;
} RhScaled;
RhScaled rh_scaling_end(RhScaling *scaling, double t_s);
