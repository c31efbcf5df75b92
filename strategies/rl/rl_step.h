#pragma once
/* A step of post-training in time: a small event simulation of the trainer beside the servers.
 *
 * Servers are a service (strategies/serve/service), whose requests a pacer releases in groups; the
 * trainer takes the oldest groups that have their rewards, works for a time that is known, and sends
 * its weights. A group is under way from its start until servers have the update that it was used
 * for: at most prompts x (ahead + 1) are at any time, so by Little's law one is under way for at
 * most ahead + 1 steps in the mean, and at most ahead steps old when it is trained on. */
#include "strategies/rl/rl_job.h"
#include "strategies/serve/service/service.h"

/* Placement of trainer and servers: who works when. A row of placements/. */
typedef struct {
    const char *name, *title, *about;
    bool shares_gpus; /* trainer and servers take turns on the same GPUs */
    bool streams;     /* groups begin one by one, and weights come while servers work; else a
                         batch begins at once, and weights are sent between batches */
    int32_t ahead_least, ahead_most; /* steps that answers may run ahead of the trainer */
} RhRlPlacement;

/* Seconds of a step beside generation. */
typedef struct {
    double to_train_s; /* before training: states are brought back where GPUs are shared */
    double forward_s;  /* passes forward over the step's tokens */
    double update_s;   /* all updates */
    double sync_s;     /* new weights to the servers, the trainer waits */
    double pause_s;    /* part of it in which servers stand still; between batches all of it */
} RhRlTimes;

typedef struct {
    const RhRlJob *job;
    const RhRlPlacement *placement;
    double ahead;  /* steps; a share of one, too */
    int32_t takes; /* batches of a step that a streamed trainer takes one by one; 0: 1 */
    RhRlTimes times;
    const RhFailures *failures; /* of servers, borrowed; NULL: none fails */
    int32_t warm, steps;        /* steps that are simulated before those that count; these */
    double timeout_s;           /* of the computation; 0: none */
} RhRlStepSpec;

/* Act of the trainer, from t_begin_s on. */
typedef enum { RH_RL_WAITS, RH_RL_LOADS, RH_RL_TRAINS, RH_RL_SENDS, RH_RL_ACTS_LAST } RhRlAct;
typedef struct {
    double t_begin_s, t_end_s;
    RhRlAct act;
} RhRlSpan;

/* Groups from a time on. */
typedef struct {
    double t_s;
    int32_t answered, ready; /* whose answers are under way; with rewards, not taken yet */
} RhRlLevel;

#define RH_RL_AGES_MOST 128

/* Means over the steps that count. */
typedef struct {
    double step_s;
    double spent_s[RH_RL_ACTS_LAST]; /* of the trainer, in a step; their sum is step_s */
    double generation_s;             /* from a group's start to its last answer */
    double batch_s; /* the same of a batch, its rewards included; 0: groups are streamed */
    double age_mean, age_p99; /* updates of the weights between a group's start and its training */
    int32_t
        ages[RH_RL_AGES_MOST + 1]; /* groups by that number of updates; the last: so many or more */
    double under_way_mean;         /* groups that are started, and whose update servers lack */
    int32_t under_way_most;
    double under_way_s; /* from a group's start until servers have its update */
    double begun,
        dropped;    /* groups a step: that began; that were dropped, with all answers or without */
    int32_t groups; /* that were trained on in these steps */
    GArray *spans;  /* RhRlSpan, of all simulated steps; owned */
    GArray *levels; /* RhRlLevel, likewise */
    double t_begin_s, t_end_s; /* of the steps that count */
} RhRlStep;

/* Simulates the steps of a job on a service of one pool. RH_ERROR_NO_ANSWER: an answer does not fit
 * the servers' cache, or not in time. */
bool rh_rl_step_simulate(RhService *service, const RhRlStepSpec *spec, RhRlStep *out,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_rl_step_clear(RhRlStep *step);
const char *rh_rl_act_name(RhRlAct act);
