#pragma once
/* Inside the search for deployments: what a process does with one kind of them. Private to serve_*.c. */
#include "strategies/search/services/serve_plan.h"

#define RH_SERVE_RATE_STEP 0.01 /* a rate is found to 1 % */

/* What is asked of every deployment. Borrowed, but for `hardest`. */
typedef struct {
    const RhServing *serving;
    const RhRequests *requests;
    const RhServePlanOptions *options;
    RhServeMeans means;
    GPtrArray *draws; /* RhRequests: the others like these, made once for all; none: as recorded */
    guint hardest;    /* of a kind: the draw that broke a rate last */
    double least_per_s; /* lower rates are of no use, and not looked for */
    double gpus_most;   /* likewise more GPUs, at the rate that was given */
} RhServeAsked;

/* One that fits, and the closed form of its rate. */
typedef struct {
    RhDeployment deployment;
    double bound_per_s;
    double each_per_s[RH_POOLS_MAX]; /* of one replica, were there enough of the other pool */
    guint place;                     /* in the space */
} RhServeBounded;

/* What is found of a kind. Plain data; names are interned before processes part. */
typedef struct {
    RhServeEntry best;
    RhServeMissed unkept;
    RhServeLargestCache roomiest;
    int64_t fit, simulated, runs;
    bool there;
    /* At the rate that was given: */
    bool waits;        /* not tried yet */
    bool large;        /* it takes many replicas */
    double gpus_least; /* that they take, by the closed form */
} RhServeFound;

RhServeEntry rh_serve_entry_of(const RhDeployment *deployment, double bound_per_s);

/* --- serve_legal.c --- */

/* Which of `count` deployments of a kind fit (RhServeBounded), the highest bound first; `place`: of the first of them in
 * the space. Caller unrefs. */
GArray *rh_serve_list_legal(const RhServeAsked *asked, const RhDeployment *kind, guint count,
                            guint place, RhServeFound *found);
/* Of one replica of each pool, were there enough of the other; `service`: of these limits. */
void rh_serve_bound_pools(const RhServeAsked *asked, const RhService *service,
                          const RhDeployment *deployment, double *each_per_s);
/* Of all of its replicas. */
double rh_serve_bound_of(const RhDeployment *deployment, const double *each_per_s);
/* By less of its level. */
bool rh_serve_is_nearer(const RhServeMissed *a, const RhServeMissed *b, const RhSlos *slos);

/* --- serve_highest_rate.c --- */

/* The rate that this one keeps, of other draws too, if it is higher than the best so far. */
void rh_serve_try_rate(RhServeAsked *asked, const RhDeployment *deployment, double bound_per_s,
                       RhServeFound *found);
/* Do other draws keep the rate? Each as many times as it takes: they lower it, by steps, no further than `least`. */
bool rh_serve_draws_keep(RhServeAsked *asked, RhService *service, double least, RhServeEntry *entry,
                         RhServeFound *found);
/* Do all draws keep a rate? */
bool rh_serve_all_keep(RhServeAsked *asked, RhService *service, double rate_per_s,
                       RhServeEntry *entry, RhServeFound *found);
/* Do all the requests that were given keep it, as serve-simulate judges them? They lower the rate likewise. *entry is
 * then of that run. */
bool rh_serve_confirm(RhServeAsked *asked, RhService *service, double least, RhServeEntry *entry,
                      RhServeFound *found);

/* --- serve_size.c --- */

/* GPUs that the given rate takes at least, by the closed form. */
double rh_serve_gpus_least(const RhServeAsked *asked, const GArray *bounded);
/* So many GPUs, and more, are found from what a few replicas keep: the others are like them. */
bool rh_serve_is_large(const RhServeAsked *asked, const GArray *bounded);
/* The fewest replicas that keep the rate that was given, of deployments of one kind (RhServeBounded, the highest bound
 * first). */
void rh_serve_try_size(RhServeAsked *asked, const GArray *bounded, RhServeFound *found);

/* --- serve_replica_rate.c --- */

/* Limits, and what one replica of each pool keeps of one draw, beside a few like it. */
typedef struct {
    RhDeployment deployment; /* of some replicas */
    double kept_per_s[RH_POOLS_MAX], bound_per_s[RH_POOLS_MAX];
    bool there;
} RhServeReplicaRate;

/* As many replicas of each pool. */
RhDeployment rh_serve_sized(const RhDeployment *deployment, const double *replicas);
RhServeReplicaRate rh_serve_replica_rate(RhServeAsked *asked, const GArray *bounded,
                                         RhServeFound *found);

/* --- serve_replicas.c --- */

#define RH_SERVE_SHRINK_MOST                                                                       \
    1.5 /* times what a slice keeps by itself, no share of the whole keeps (assumed) */

/* The fewest replicas, alike, that keep the rate that was given. */
void rh_serve_size_whole(RhServeAsked *asked, const RhServeReplicaRate *sliced,
                         RhServeFound *found);
