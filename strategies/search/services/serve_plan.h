#pragma once
/* How to serve this here: deployments that are legal, then those whose weights and cache fit, then
 * a bound on the rate of each in closed form, then what they keep of the service levels when
 * requests are played against them (docs/theory/search.md). The result does not depend on the
 * number of jobs.
 *
 * Deployments are of one *kind* when they differ by the server's limits alone (batch, chunk);
 * the best of a kind stands for it. Models that are asked once (RhModel makes no tokens) have
 * batches and windows in place of these. */
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/service.h"

typedef enum { RH_SERVE_COLOCATED = 1, RH_SERVE_DISAGGREGATED = 2, RH_SERVE_BOTH = 3 } RhServeMode;

typedef struct {
    RhSlos slos; /* at least one, unless a rate is given; their allowance is one of these: */
    RhSloAllowance allowances[2]; /* of one pool, of two */
    double rate_per_s; /* the fewest GPUs that keep the levels at this rate; 0: the highest rate */
    int32_t gpus;      /* at most */
    RhServeMode mode;
    RhPool fixed
        [RH_POOLS_MAX]; /* what is not 0 is given, of equal degrees; `replicas` is not looked at */
    /* At a rate that is given: kinds that cannot be among so many rows are left alone, and where many replicas are
     * needed, those that cannot be the first; 0: all are tried, where few are needed */
    int32_t top;
    /* a rate is held for about so long; 0: forty times the longest limit, two minutes at least */
    double span_s;
    /* How the requests were drawn, borrowed, and if only their times were: a rate is asked of RH_SERVE_DRAWS more
     * draws, too. NULL: they are as recorded. */
    const RhRequestsPlan *drawn;
    bool lengths_given;
    bool most;        /* at a given rate: also the highest that the best keeps, if it is small */
    int32_t jobs;     /* processes; 0: one for each core */
    double timeout_s; /* 0: none */
    void (*progress)(const char *stage, int64_t done, int64_t total, double best, void *user);
    void *user;
} RhServePlanOptions;

/* Number n of random draws that must keep a rate, so that a further draw keeps it with probability
 * n / (n + 1) = 95 %. */
#define RH_SERVE_DRAWS 19

/* Maximum number of replicas that these draws simulate; of a larger service a part this large, at
 * its share of the rate. */
#define RH_SERVE_PART 96

/* A deployment, and how it keeps the levels at its rate. Plain data. */
typedef struct {
    RhDeployment deployment;
    double bound_per_s;  /* no higher rate is possible, by the closed form */
    double rate_per_s;   /* kept; 0: none is */
    double broken_per_s; /* the lowest rate found broken; 0: none was tried */
    int32_t binding;     /* of the levels, the one that breaks there; -1: requests come faster than
                            they can be served */
    bool cache_full;     /* there sequences were put out for want of cache */
    bool fewer_broke; /* at a given rate: `binding` and `cache_full` are of one replica fewer, which
                            does not keep the levels; broken_per_s is 0 */
    int32_t part;     /* replicas that RH_SERVE_DRAWS were played on, at their share; 0: all */
    bool pareto;      /* no other has both a higher rate per GPU and a lower time per token */
    int32_t gpus;
    /* Highest rate at which the best row keeps the levels, where one rate was asked for, and which
     * level breaks above it (as `binding`); 0: not known */
    double rate_most_per_s;
    int32_t most_binding;
    RhServiceMetrics outcome; /* at rate_per_s, of the requests as they were given */
    double kv_peak_frac, busy_frac;
} RhServeEntry;

/* A level that no deployment keeps at any rate, with the deployment that comes nearest. */
typedef struct {
    int32_t level; /* of the options' */
    double least_s;
    RhDeployment deployment;
} RhMissedLevel;

/* Requests that are too long even for the deployment with the largest cache. */
typedef struct {
    int64_t tokens;     /* that a replica's cache holds; 0: no deployment fits */
    int32_t count, all; /* of requests: too long, there are */
    int64_t longest;    /* tokens of prompt and answer of the longest */
    RhDeployment deployment;
} RhServeLargestCache;

typedef struct {
    int64_t legal_count, fit_count, simulated_count, runs_count; /* deployments; runs of them */
    /* RhServeEntry, best first, one of a kind; none when nothing keeps the levels */
    GArray *entries;
    RhServeEntry nearest; /* when there are none: the one of the highest bound */
    RhMissedLevel unkept; /* least_s above 0: that is why there are none */
    RhServeLargestCache largest_cache;
    double gpus_least;    /* at a rate that is given, by the closed form; 0: not known */
    int32_t larger_count; /* kinds left alone, as the closed form says that they need more GPUs */
    char *why_not;        /* of the last that did not fit; NULL; owned */
    bool timed_out;
} RhServePlan;

/* `requests`: in the order of their times, whose rate is stretched. RH_ERROR_USAGE: there is
 * nothing to choose from; RH_ERROR_NO_ANSWER: no deployment has room for the model. */
RhServePlan *rh_serve_plan(const RhServing *serving, const char *server, const RhRequests *requests,
                           const RhServePlanOptions *options,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the allowance that applies to the best entry of the plan; without entries that of one
 * pool, or of two if the options ask only for these. Borrowed from the options. */
const RhSloAllowance *rh_serve_plan_allowance(const RhServePlan *plan,
                                              const RhServePlanOptions *options);
void rh_serve_plan_free(RhServePlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhServePlan, rh_serve_plan_free)

/* Mean tokens of a request: prompt, answer, and the part of the prompt that no cache can hold. */
typedef struct {
    double input, output, unread;
    int32_t shortest; /* prompt */
    bool once;        /* no tokens are made */
    /* By level, if it is about a share of the requests: as many have no more tokens of prompt, of an answer. */
    int32_t input_at[RH_SLOS_MAX], output_at[RH_SLOS_MAX];
} RhServeMeans;
RhServeMeans rh_serve_means(const RhRequests *requests, const RhServer *server, const RhSlos *slos);

/* Seconds that this deployment misses a level by, at least, however few requests come: a prompt
 * is read and tokens are made in an empty server, which has forgotten nothing. 0: none is surely
 * missed. *least_s: the measure at its best. */
double rh_serve_missed_s(const RhService *service, const RhDeployment *deployment,
                         const RhServer *server, const RhServeMeans *means, const RhSlo *slo,
                         int32_t level, double *least_s);

/* Requests per second that this deployment cannot exceed; with limits on the time per token, within
 * them. `service` is of `deployment`. */
double rh_serve_bound_per_s(const RhService *service, const RhDeployment *deployment,
                            const RhServer *server, const RhServeMeans *means, const RhSlos *slos);

/* Fewer requests, though all keep a level, do not show that it is kept surely (Wilson's
 * interval). */
double rh_serve_requests_least(const RhSlos *slos);

/* --- Parts: serve_space.c, serve_bound.c, serve_rate_check.c --- */

/* Every deployment of the options' mode on its GPUs: RhDeployment, those of a kind beside one
 * another, with as many replicas as there is room for. Caller unrefs. */
GArray *rh_serve_space(const RhServing *serving, const char *server,
                       const RhServePlanOptions *options);
bool rh_serve_same_kind(const RhDeployment *a, const RhDeployment *b);
/* Plays the requests at a rate and judges; *entry is of this rate when it is kept. */
bool rh_serve_keeps(RhService *service, const RhRequests *requests,
                    const RhServePlanOptions *options, double rate_per_s, RhServeEntry *entry);
/* The draw `index`, from 1, of requests like these. Caller frees. */
RhRequests *rh_serve_draw(const RhRequests *requests, const RhServePlanOptions *options,
                          int32_t index);
/* Does another draw keep the levels, by what it measures itself? Of *entry only what breaks is
 * noted. */
bool rh_serve_keeps_too(RhService *service, const RhRequests *requests,
                        const RhServePlanOptions *options, double rate_per_s, RhServeEntry *entry);
/* Plays all of the requests at a rate and judges all of them, as serve-simulate does; as
 * rh_serve_keeps(). */
bool rh_serve_settle(RhService *service, const RhRequests *requests,
                     const RhServePlanOptions *options, double rate_per_s, RhServeEntry *entry);
