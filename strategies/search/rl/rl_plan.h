#pragma once
/* Plans of post-training: which GPUs train and which generate, in which layouts, and how far answers
 * run ahead.
 *
 * A candidate is a placement with its steps ahead, a number of training GPUs with the best layout on
 * them, and a deployment of servers on the rest. Its lower bound is that of the trainer alone and of
 * the servers alone: their sum where they take turns, else the larger. Candidates are simulated best
 * bound first (strategies/rl/rl_step.h) until none that is left can better the best of its placement
 * and steps ahead. */
#include "base/deadline.h"
#include "strategies/rl/rl_step.h"
#include "strategies/rl/transports/transports.h"
#include "strategies/search/rehearsals/rehearse.h"

/* A trainer: the best layout on so many GPUs, and what a step's batch takes there. */
typedef struct {
    int32_t gpus;
    RhLayout layout;
    int64_t sequence, batch; /* packed samples of an update: their tokens and number */
    double update_s;         /* one update of one model */
    double forward_s;        /* one pass forward over a step's tokens */
    double states_bytes;     /* weights and optimizer states of the fullest GPU */
    double weights_bytes;    /* of it */
    double peak_bytes, capacity_bytes, mfu_frac;
    double error_frac; /* of the update, by measured steps; 0: unknown */
    bool fits;
} RhRlTrainer;

/* Servers on so many GPUs. */
typedef struct {
    int32_t gpus;
    RhDeployment deployment;
    double
        work_s; /* no servers like these answer a step's samples in less, however many are at once */
    double bound_s;      /* no batch of a step takes less */
    double tokens_per_s; /* that bound as answer tokens of all servers */
} RhRlServers;

typedef struct {
    const RhRlPlacement *placement;
    double ahead; /* steps */
    RhRlTrainer trainer;
    RhRlServers servers;
    const RhWeightTransport *transport;
    RhWeightTimes weights;
    RhRlTimes times;
    double states_copy_s; /* the trainer's states from host memory, where GPUs are shared */
    double models_bytes;  /* of a GPU: other models that the trainer asks or trains */
    double models_copy_s; /* in a step, from host memory and back; 0: they stay beside the policy */
    double bound_s;
    RhRlStep step;         /* step_s 0: not simulated */
    double gpu_hours, usd; /* of a step; usd 0: no price is known */
    bool pareto;
} RhRlEntry;

typedef struct {
    const RhProblem *problem;   /* model, platform as the stack sees it, GPUs, formats */
    const RhPlatform *hardware; /* the platform itself, on which servers run */
    const RhServer *server;     /* borrowed */
    RhDeployment given;         /* keys of a server's pool that are fixed; 0: searched */
    const char *layout;         /* words of a training layout; NULL: searched */
    const RhRlJob *job;
    const RhRlPlacement *only; /* NULL: all */
    double ahead;              /* of streamed placements alone; 0: those of a list */
    int32_t train_gpus;        /* 0: every split by nodes, or by parts of few nodes */
    int64_t pack_tokens;       /* of a packed sample at most; 0: twice the longest sample */
    const RhWeightTransport *transport; /* between GPUs apart */
    const RhRecipe *sent; /* whose operands are the format on the way; NULL: that of the servers */
    double changed_frac;  /* of the weights, in a step: what deltas send */
    const RhFailures *failures; /* of servers, for the best entry; NULL: none is asked about */
    int32_t top, jobs;
    double timeout_s;
    void (*progress)(const char *stage, int64_t done, int64_t total, double best_s, void *user);
} RhRlPlanOptions;

/* Many steps of an entry with failures of its servers, and the same without. */
typedef struct {
    int32_t steps; /* 0: not simulated */
    double step_s, unharmed_s, age_p99;
} RhRlFailures;

typedef struct {
    GArray *entries; /* RhRlEntry: the best of each placement and steps ahead first, quickest first;
                        then other simulated ones */
    int64_t candidates_count, simulated_count, bounded_count; /* bounded: left out by bounds */
    int64_t trainers_count, servers_count;                    /* that fit */
    int32_t split_gpus; /* splits of the GPUs differ by so many; 0: one was given */
    RhRlTokens tokens;
    RhRlFailures failing; /* of the first entry */
    char *why_not;        /* the last reason that nothing fits; NULL: none; owned */
    bool timed_out;
} RhRlPlan;

/* RH_ERROR_NO_ANSWER: nothing fits. */
RhRlPlan *rh_rl_plan(const RhRlPlanOptions *options, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_rl_plan_free(RhRlPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRlPlan, rh_rl_plan_free)

/* --- parts --- */

/* The trainer on so many GPUs. RH_ERROR_NO_ANSWER: no layout fits. */
bool rh_rl_trainer_find(const RhRlPlanOptions *options, const RhRlTokens *tokens, int32_t gpus,
                        RhRlTrainer *out, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Appends every deployment on so many GPUs (RhRlServers) that fits; *why (may be NULL) gets a reason
 * if none does, caller frees. */
void rh_rl_servers_list(const RhRlPlanOptions *options, const RhRlTokens *tokens, int32_t gpus,
                        GArray *out, char **why);
/* Adds what answers with the log-probabilities of their tokens, as trainers want them, cost a server's host. */
void rh_rl_server_adds_log_probs(RhServer *server);
RhServing rh_rl_serving(const RhRlPlanOptions *options);
/* Sets the times beside generation, and the bound. Returns false where it cannot be: no host memory
 * for the states of a trainer that shares its GPUs. */
bool rh_rl_entry_settle(const RhRlPlanOptions *options, RhRlEntry *entry);
/* Simulates an entry with failures, and without. */
bool rh_rl_entry_fails(const RhRlPlanOptions *options, const RhRlEntry *entry, double timeout_s,
                       RhRlFailures *out, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Simulates an entry's steps. */
bool rh_rl_entry_simulate(const RhRlPlanOptions *options, RhRlEntry *entry, double timeout_s,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
