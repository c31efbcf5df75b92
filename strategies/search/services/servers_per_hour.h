#pragma once
/* Servers over a day: of one kind, or of two pools, as many as each hour's rate asks for, up in time, so that the
 * levels are kept with the fewest GPU-hours. Days follow one another alike. */
#include "strategies/search/services/serve_plan.h"

/* A part of the day with one rate. */
typedef struct {
    double from_s, to_s, per_s;
} RhDayRate;

#define RH_DAY_S 86400.0

/* Reads a table of hours,per_s: from when on so many requests come in a second, the first one from hour 0. Or a trace
 * of requests (workloads/requests/requests.h) of 24 hours or more, counted from its first: the mean of each hour, over the days
 * that it has; an hour without a request counts one. Appends RhDayRate. RH_ERROR_INPUT with file:line:col: no rate above 0,
 * hours out of order or beyond 24; a shorter trace. */
bool rh_day_rates_load(const char *path, GArray *rates, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Time and starts of replicas over a day in whose parts `needed` of them serve. */
typedef struct {
    double replica_s; /* that they are up or starting, in a day */
    int32_t starts;   /* in a day */
} RhDayReplicas;
/* A replica that is not needed goes, unless it is needed again before it could start anew. */
RhDayReplicas rh_day_replicas(const RhDayRate *rates, const int32_t *needed, guint count,
                              double start_s);

/* Replicas of each pool that serve in one part of a day. */
typedef struct {
    int32_t replicas[RH_POOLS_MAX]; /* 0: there is no such pool */
} RhDayServers;

/* The day of one kind of deployments. */
typedef struct {
    RhDeployment deployment; /* at the highest rate */
    GArray *rates;           /* RhDayRate; borrowed */
    GArray *needed;          /* RhDayServers, by part; owned */
    double start_s;          /* of a replica, weights included; of two pools the longer one */
    int32_t starts;          /* in a day, of all pools */
    double gpu_hours;        /* in a day, starts included */
    double gpu_hours_flat;   /* with the replicas of the highest rate all the time */
    /* of a day, at the mean lengths of the requests that it was planned with */
    double requests_count, input_tokens_count, output_tokens_count;
} RhServeDay;
void rh_serve_day_clear(RhServeDay *day);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhServeDay, rh_serve_day_clear)

/* The day with the fewest GPU-hours, of the kinds of `plan` (which is of the highest rate) that may have it: each is
 * planned again at the rates in between, whose fewest replicas keep the levels as `options` has it. Fails like
 * rh_serve_plan; RH_ERROR_NO_ANSWER: time ran out. */
bool rh_serve_plan_day(const RhServing *serving, const RhRequests *requests,
                       const RhServePlanOptions *options, const RhServePlan *plan, GArray *rates,
                       RhServeDay *out, GError **error) G_GNUC_WARN_UNUSED_RESULT;
