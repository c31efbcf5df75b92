#pragma once
/* A run under way, which policies see and change when something fails. */
#include "sim/event_queue.h"
#include "strategies/run/training_run_spec.h"

typedef enum {
    RH_RUN_NODE_BACK = 1, /* from repair: `who` nodes */
    RH_RUN_GROUP_BACK     /* a replica group has caught up: `who` nodes */
} RhRunEvent;

/* A stretch of a replication that was not plain computing. */
typedef struct {
    double from_s, to_s;
    RhRunTime what;
} RhRunInterval;

typedef struct {
    const RhTrainingRun *run;
    double t_s;
    double done_s;      /* work that is safe */
    double position_s;  /* work after that */
    double open_s;      /* time since then ... */
    double open_slow_s; /* ... of which steps were slow */
    int32_t hot, cold;  /* spares at hand */
    int32_t missing;    /* nodes that the job goes on without */
    RhEvents *events;
    GArray *spans; /* RhRunInterval, in order of their ends; NULL: not wanted */
    double spent_s[RH_RUN_TIMES_LAST];
    int64_t failures_count, failures_hidden_count; /* those that struck a restart are hidden */
} RhRunState;

/* A failure, once it is diagnosed. */
typedef struct {
    int32_t nodes_away; /* for repair; 0: none */
    bool by_pool;       /* a pool took the node, and says itself what is missing */
    double repair_s;
} RhRunFailure;

/* Consequences of a failure. */
typedef struct {
    double wait_s;        /* nothing runs and nothing fails */
    double restart_s;     /* a failure in it begins it again */
    bool keeps_work;      /* steps since the last checkpoint count ... */
    double keeps_every_s; /* ... up to a multiple of this; 0: all */
} RhRunRecovery;

/* One replication of a run. */
typedef struct {
    double time_s;                     /* of the whole run */
    double spent_s[RH_RUN_TIMES_LAST]; /* sums to it */
    int64_t failures_count;
    double node_s; /* for which nodes are held: those of the job and hot spares, or of the trace */
    double
        paid;   /* for them by the run's prices, in USD of a GPU and hour times seconds of a node */
    bool cut;   /* the run's deadline passed before its end */
    bool stuck; /* it was given up: no progress in a hundred times its work */
    bool starved; /* ... as the trace ends with fewer nodes than it needs */
} RhRunOutcome;

typedef struct RhRunPolicy {
    const char *name, *about;
    bool takes_spares;   /* from a pool of --spares */
    bool goes_on;        /* without the nodes that it misses */
    bool joins_any_time; /* nodes that come back; else at a checkpoint, with a restart */
    /* Follows a failure; NULL: the policy has a run of its own. */
    void (*recover)(RhRunState *state, const RhRunFailure *failure, RhRunRecovery *out);
    void (*simulate)(const RhTrainingRun *run, double every_s, int32_t replication,
                     RhRunOutcome *out);
} RhRunPolicy;

/* --- what policies do --- */
/* Start-up and reading the last checkpoint from storage. */
double rh_run_restart_s(const RhTrainingRun *run);
/* Seconds of a restart after a failure: nodes that all stayed read their own drives. */
double rh_run_restart_after_s(const RhTrainingRun *run, const RhRunFailure *failure);
/* Sends the nodes of a failure to repair. */
void rh_run_repair(RhRunState *state, const RhRunFailure *failure);
/* Takes so many nodes from the pool: the time to wait for the last one. */
double rh_run_replace_s(RhRunState *state, int32_t nodes);
/* Nodes that came back by now are in the pool. */
void rh_run_collect(RhRunState *state);
/* Speed of the job without `missing` nodes, which leave by whole groups: with its own layout, and with the best of
 * all that it has. */
double rh_run_speed_frac_of_replicas(const RhTrainingRun *run, int32_t missing);
double rh_run_speed_frac(const RhTrainingRun *run, int32_t missing);
