#pragma once
/* Search for deployments: evaluation of one kind by a process. Private to serve_*.c. */
#include "strategies/search/services/serve_plan.h"

#define RH_SERVE_RATE_STEP 0.01 /* a rate is found to 1 % */

/* Query that is put to every deployment. Pointers are borrowed. */
typedef struct {
    const RhServing *serving;
    const RhRequests *requests;
    const RhServePlanOptions *options;
    RhServeMeans means;
    GPtrArray *draws;   /* RhRequests: further draws like these; none: a recorded trace */
    guint hardest;      /* index of the draw that failed last for this kind */
    double least_per_s; /* lower rates are not searched */
    double gpus_most;   /* more GPUs are not searched at the given rate */
} RhServeSearch;

/* A deployment that fits, with the closed form of its rate. */
typedef struct {
    RhDeployment deployment;
    double bound_per_s;
    double each_per_s[RH_POOLS_MAX]; /* of one replica, if the other pool is large enough */
    guint place;                     /* index in the space */
} RhBoundedDeployment;

/* Results for one kind of deployments. Plain data; names are interned before processes fork. */
typedef struct {
    RhServeEntry best;
    RhMissedLevel unkept;
    RhServeLargestCache largest_cache;
    int64_t fit, simulated, runs;
    bool there;
    /* Results at a given rate. */
    bool waits;        /* not tried yet */
    bool large;        /* needs many replicas */
    double gpus_least; /* lower bound of the number of GPUs, by the closed form */
} RhServeKindResult;

RhServeEntry rh_serve_entry_of(const RhDeployment *deployment, double bound_per_s);

/* --- serve_legal.c --- */

/* Returns the deployments (RhBoundedDeployment) that fit, of `count` of a kind, highest bound first;
 * `place`: index of the first one in the space. The caller unrefs. */
GArray *rh_serve_list_legal(const RhServeSearch *asked, const RhDeployment *kind, guint count,
                            guint place, RhServeKindResult *found);
/* Gets upper bounds of the rate of one replica of each pool, if the other pool is large enough;
 * `service` has the same limits. */
void rh_serve_bound_pools(const RhServeSearch *asked, const RhService *service,
                          const RhDeployment *deployment, double *each_per_s);
/* Returns the bound of the deployment's rate from those of its replicas. */
double rh_serve_bound_of(const RhDeployment *deployment, const double *each_per_s);
/* Does `a` miss its level by a smaller fraction than `b`? */
bool rh_serve_is_nearer(const RhMissedLevel *a, const RhMissedLevel *b, const RhSlos *slos);

/* --- serve_highest_rate.c --- */

/* Finds the highest rate at which the deployment keeps all levels, for all draws, if it exceeds the
 * best so far. */
void rh_serve_try_rate(RhServeSearch *asked, const RhDeployment *deployment, double bound_per_s,
                       RhServeKindResult *found);
/* Do other draws keep the rate? Each as many times as it takes: they lower it, by steps, no
 * further than `least`. */
bool rh_serve_draws_keep(RhServeSearch *asked, RhService *service, double least,
                         RhServeEntry *entry, RhServeKindResult *found);
/* Do all draws keep a rate? */
bool rh_serve_all_keep(RhServeSearch *asked, RhService *service, double rate_per_s,
                       RhServeEntry *entry, RhServeKindResult *found);
/* Do all the requests that were given keep it, as serve-simulate judges them? They lower the
 * rate likewise. *entry is then of that run. */
bool rh_serve_confirm(RhServeSearch *asked, RhService *service, double least, RhServeEntry *entry,
                      RhServeKindResult *found);

/* --- serve_fewest_replicas.c --- */

/* Returns a lower bound of the number of GPUs for the given rate, by the closed form. */
double rh_serve_gpus_least(const RhServeSearch *asked, const GArray *bounded);
/* Is the service so large that its size is extrapolated from a few replicas? */
bool rh_serve_is_large(const RhServeSearch *asked, const GArray *bounded);
/* Finds the least number of replicas that keeps the given rate, for deployments of one kind
 * (RhBoundedDeployment, highest bound first). */
void rh_serve_try_size(RhServeSearch *asked, const GArray *bounded, RhServeKindResult *found);

/* --- serve_replica_rate.c --- */

/* Limits, and what one replica of each pool keeps of one draw, beside a few like it. */
typedef struct {
    RhDeployment deployment; /* of some replicas */
    double kept_per_s[RH_POOLS_MAX], bound_per_s[RH_POOLS_MAX];
    bool there;
} RhServeReplicaRate;

/* Returns the deployment with these numbers of replicas in each pool. */
RhDeployment rh_serve_sized(const RhDeployment *deployment, const double *replicas);
RhServeReplicaRate rh_serve_replica_rate(RhServeSearch *asked, const GArray *bounded,
                                         RhServeKindResult *found);

/* --- serve_pool_sizes.c --- */

#define RH_SERVE_SHRINK_MOST                                                                       \
    1.5 /* times what a slice keeps by itself, no share of the whole keeps (assumed) */

/* The fewest replicas, alike, that keep the rate that was given. */
void rh_serve_size_whole(RhServeSearch *asked, const RhServeReplicaRate *sliced,
                         RhServeKindResult *found);
