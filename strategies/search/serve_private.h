#pragma once
/* Inside the search for deployments: what a process does with one kind of them. Private to serve_*.c. */
#include "strategies/search/serve_plan.h"

#define RH_SERVE_RATE_STEP 0.01 /* a rate is found to 1 % */

/* What is asked of every deployment. Borrowed, but for `hardest`. */
typedef struct {
    const RhServing *serving;
    const RhRequests *requests;
    const RhServePlanOptions *options;
    RhServeMeans means;
    GPtrArray *draws; /* RhRequests: the others like these, made once for all; none: as recorded */
    guint hardest;    /* of a kind: the draw that broke a rate last */
} RhServeAsked;

/* One that fits, and the closed form of its rate. */
typedef struct {
    RhDeployment deployment;
    double bound_per_s;
    guint place; /* in the space */
} RhServeBounded;

/* What is found of a kind. Plain data; names are interned before processes part. */
typedef struct {
    RhServeEntry best;
    RhServeUnkept unkept;
    RhServeRoomiest roomiest;
    int64_t fit, simulated, runs;
    bool there;
    bool waits;        /* many replicas, at the rate that was given: not tried yet */
    double gpus_least; /* that they take, by the closed form */
} RhServeFound;

RhServeEntry rh_serve_entry_of(const RhDeployment *deployment, double bound_per_s);

/* --- serve_try.c --- */

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
