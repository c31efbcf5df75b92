#pragma once
/* A training run over time: steps of a known length, components that fail, checkpoints that are
 * written, and a policy that brings the run back. This level knows no model and no layout: the time
 * of the work, the bytes and the rates are given (the planner's, or measured ones).
 *
 *     RhTrainingRun run = {.work_s = 54 * 86400, .nodes_count = 2048, .node_gpus = 8, ...};
 *     rh_training_run_check(&run, &error) && rh_run_replicate(&run, &result, &error);
 *
 * Failures strike while the job runs, starts, or writes; not while it is down (undetected, or waiting
 * for a node), when there is nothing that another failure could end. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/fact.h"
#include "strategies/run/live_migration.h"
#include "strategies/run/spot/spot_trace.h"

typedef enum {
    RH_LAW_NONE,
    RH_LAW_EXPONENTIAL, /* no memory: a unit that has run long fails no sooner */
    RH_LAW_WEIBULL,     /* of each node; a shape below 1: new and repaired nodes fail most */
    RH_LAW_BAD_NODES,   /* exponential, but a share of nodes fails `bad_times` as often */
    RH_LAW_TRACE        /* at the times of a list */
} RhFailureLaw;

/* A time that a component may have of its own. */
typedef struct {
    bool known; /* else the run's */
    double time_s;
} RhOwnTime;

/* One component that can end the job. */
typedef struct {
    const char *name;
    RhFact per_gpu_hour; /* failures of a job per GPU and hour */
    int32_t nodes_away; /* that leave for repair with one failure; 0: they are used again at once */
    RhOwnTime detection, diagnosis, repair;
} RhFailureComponent;

#define RH_FAILURE_COMPONENTS_MAX 16
/* A failure of a list: when, and of which component; -1: drawn by the rates. */
typedef struct {
    double t_s;
    int32_t component;
} RhTimedFailure;

/* How often what fails. */
typedef struct {
    const char *name, *about;
    RhFailureComponent components[RH_FAILURE_COMPONENTS_MAX];
    int32_t components_count;
} RhFailureRates;

typedef struct {
    double every_s;   /* work between two checkpoints; 0: the best interval is searched */
    double write_s;   /* for which the step stops */
    double drain_s;   /* written in the background after that, before it can be read */
    double slow_frac; /* by which steps are slower meanwhile */
    double read_s;    /* at a restart */
    double
        local_read_s; /* from the drives of the nodes, where none of them left; 0: they hold none */
} RhCheckpointTimes;

struct RhRunPolicy;

/* A size at which a shrunk job can run with a layout of its own. */
typedef struct {
    int32_t nodes;
    double speed_frac; /* of the whole job's */
} RhRunSize;

typedef struct {
    double work_s; /* of all steps, one after the other, without a failure */
    double step_s; /* of one of them */
    int32_t nodes_count, node_gpus;
    const RhFailureRates *rates;
    double mtbf_s; /* of the job at its full size; of a trace: not used */
    RhFailureLaw law;
    double weibull_shape;
    double bad_frac, bad_times;
    const RhTimedFailure *trace; /* ascending; after the last one nothing fails */
    int32_t trace_count;
    RhCheckpointTimes checkpoint;
    double detection_s; /* from a failure to the moment at which the job is ended */
    double diagnosis_s; /* from then until it is known what to replace */
    double missed_frac; /* of failures whose cause stays: the restarted job fails again at once */
    double startup_s; /* processes, communicators, first steps; without the checkpoint's reading */
    double
        tuning_s; /* once, on all nodes, before the first start: kernels are tuned; nothing fails */
    double repair_s; /* until a node that left is back */
    double stop_every_s,
        stop_s; /* planned stops of all: how often by the clock, how long; 0: none */
    RhLiveMigration
        moves; /* of all machines, by which such a stop is as short as theirs; memory 0: none */
    const struct RhRunPolicy *policy;
    int32_t hot_spares, cold_spares; /* nodes; hot ones are paid for as long as the run lasts */
    bool spares_endless;             /* a node that left is replaced from a large pool */
    double swap_s;                   /* until a cold spare is booted and checked */
    int32_t group_nodes; /* the fewest nodes by which the job can shrink: a data-parallel replica */
    double reshape_s;    /* to go on at another size, beside the checkpoint's reading */
    double memory_every_s; /* work between two copies into the memory of peers; 0: none */
    double memory_read_s;
    const RhSpotEvent
        *spot; /* nodes that come and go, ascending; NULL: all are there from the start */
    int32_t spot_count;
    const RhSpotPrice *prices; /* of a GPU and hour, by the clock, ascending; NULL: they stay */
    int32_t prices_count;
    double jitter_frac; /* by which the mean step is longer than the median, which work_s has */
    /* A slow GPU that all wait for: how often one of the job begins, by how much steps are longer then, how long it
     * lasts in the mean, and after what time it is found, to be removed at the next checkpoint (0: never). */
    double slow_every_s, slow_frac, slow_lasts_s, slow_found_s;
    double stall_every_s, stall_s; /* pauses, as of data loading: how often, how long; 0: none */
    const double
        *speeds; /* of the job, by the replica groups at work, from 0 to all; NULL: their share */
    /* Other layouts, for fewer nodes; the job runs with whichever is the quickest, and leaves nodes idle that it has
     * no use for. NULL: it keeps its own, with fewer replicas. */
    const RhRunSize *sizes;
    int32_t sizes_count;
    uint64_t seed;
    int32_t least, most;   /* replications */
    double close_frac;     /* the mean's 95 % interval, relative, at which they end */
    double patience_times; /* of its work, after which a run is given up; 0: 100 */
    RhDeadline deadline;   /* by which replications end; zero: never */
    void (*progress)(const char *stage, int64_t done, int64_t total, double best_s,
                     void *user); /* NULL: not wanted */
} RhTrainingRun;

/* Where the time of a run goes. */
typedef enum {
    RH_RUN_COMPUTE,    /* steps that count */
    RH_RUN_SHRUNK,     /* what these took longer at a smaller size */
    RH_RUN_SLOW,       /* jitter, slow GPUs, stalls */
    RH_RUN_CHECKPOINT, /* writing, and what writing slows down */
    RH_RUN_LOST,       /* steps and checkpoints that a failure undid */
    RH_RUN_DETECTION,
    RH_RUN_DIAGNOSIS,
    RH_RUN_WAIT, /* for a node */
    RH_RUN_RESTART,
    RH_RUN_PLANNED, /* stops */
    RH_RUN_TUNING,
    RH_RUN_TIMES_LAST
} RhRunTime;
const char *rh_run_time_name(RhRunTime time);

/* Times of a component: its own, or the run's. */
double rh_run_detection_s(const RhTrainingRun *run, int32_t component);
double rh_run_diagnosis_s(const RhTrainingRun *run, int32_t component);
double rh_run_repair_s(const RhTrainingRun *run, int32_t component);
/* Nodes in repair at once that a job without spares has to do without, seldom more. */
int32_t rh_run_missing_most(const RhTrainingRun *run);
/* Mean time after a failure in which nothing runs and nothing fails: detection and diagnosis. */
double rh_run_down_s(const RhTrainingRun *run);

/* RH_ERROR_USAGE or RH_ERROR_INPUT: work of more than a thousand years, rates of zero, a trace out of order, a pool of spares larger than
 * the cluster; RH_ERROR_NO_ANSWER: a job that makes no progress. */
bool rh_training_run_check(const RhTrainingRun *run, GError **error) G_GNUC_WARN_UNUSED_RESULT;
