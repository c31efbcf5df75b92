#pragma once
/* Training: a case (what is asked) and a layout become a program, and a memory account in closed
 * form.
 *
 * Parallelisms (parallelism/) and schedules (schedules/) compose: each is one file and a row, and acts only at its
 * own places. See ARCHITECTURE.md. */
#include "sim/ledger.h"
#include "sim/program.h"
#include "strategies/layout.h"
#include "strategies/problem.h"

/* Is there a layout of the job that could be legal: enough GPUs, positions for the sequence? False
 * with RH_ERROR_USAGE and the fact, when not. */
bool rh_train_job_legal(const RhProblem *c, GError **error);
/* Is the layout legal for the case? False with RH_ERROR_USAGE, the fact and the legal values, when
 * not. */
bool rh_train_legal(const RhProblem *c, const RhLayout *layout, GError **error);

/* rh_train_legal's rules but for the job's, by the knobs that they look at (RH_KNOB_BIT): who walks over
 * layouts knob by knob asks each as soon as it can. Together they refuse what it does. */
typedef struct {
    uint64_t given;
    bool (*legal)(const RhProblem *c, const RhLayout *layout);
} RhTrainRules;
extern const RhTrainRules rh_train_rules[]; /* the last has no function */

/* The layout in canonical form: a knob without effect takes its default (sp off at tp1, order at
 * dp1 or pp1, zero at dp1 ...), so that equal layouts compare equal. */
RhLayout rh_train_canonical(const RhProblem *c, const RhLayout *layout);
/* Do these knobs (RH_KNOB_BIT) stand as it has them? Some tens of nanoseconds. */
bool rh_train_is_canonical(const RhProblem *c, const RhLayout *layout, uint64_t knobs);

/* What keys left out mean under this case's stack; dp is still open. */
RhLayout rh_train_default(const RhProblem *c);

/* Changes a layout by a word of its text form, "tp=4" or "tp4". dp follows the others unless it is named;
 * stages that are given stay while they are as many; chunks and schedule follow each other; where there
 * were no tensor ranks, whether sequences are divided too is the stack's. RH_ERROR_USAGE. */
bool rh_train_change(const RhProblem *c, RhLayout *layout, const char *text, GError **error);

/* The fewest replicas (dp) whose ranks a stage's experts can be spread over, ep etp / (tp cp), and among
 * which states are shared out as the layout says, shard / cp; 1 at least and a layout's largest degree at
 * most. */
int32_t rh_train_least_replicas(const RhLayout *layout);

/* Fills dp left at 0: gpus / (tp pp cp), 1 at least. */
void rh_train_complete(const RhProblem *c, RhLayout *layout);

/* How many tasks the program of a step has; more than the limit are not built. */
#define RH_TRAIN_TASKS_MAX 4e7
double rh_train_tasks(const RhProblem *c, const RhLayout *layout);
/* The program of one optimizer step. The layout must be legal and canonical. Caller frees. */
RhProgram *rh_train_build(const RhProblem *c, const RhLayout *layout, GError **error);

/* Closed form of the worst stage's peak, computed apart from the program that rh_train_build makes:
 * rh_ledger_walk over that program must find the same. */
typedef struct {
    double peak_bytes;
    int32_t stage;                               /* the stage with the highest peak */
    double at_peak_bytes[RH_MEMORY_LAST];        /* by use */
    double tier_peak_bytes[RH_MEMORY_TIER_LAST]; /* of that stage; HBM: peak_bytes */
    /* of the host's memory, all ranks of the node that needs most, each at its peak */
    double host_bytes;
} RhTrainMemory;
RhTrainMemory rh_train_memory(const RhProblem *c, const RhLayout *layout);
/* Bytes of a GPU, of the platform's first device; and the least of the devices that a stage's ranks are
 * on. Where they differ, the worst stage is that which has least room. */
double rh_train_memory_capacity(const RhProblem *c);
double rh_train_stage_capacity(const RhProblem *c, const RhLayout *layout, int32_t stage);

/* Ranks that hold the same parameters: data and context parallel. */
int32_t rh_train_replicas(const RhLayout *layout);
/* Ranks that an expert is divided over; and do ranks have some experts, or parts of other shape than
 * their part of everything else, so that tokens travel? */
int32_t rh_train_expert_tensor(const RhLayout *layout);
bool rh_train_spreads_experts(const RhLayout *layout);
/* Do ranks that hold the same parameters share them out in several groups, each for itself? */
bool rh_train_shares_in_groups(const RhLayout *layout);
/* Do steps copy between tiers of memory? */
bool rh_train_copies(const RhLayout *layout);
/* Does each tensor rank send a share of what goes to another stage, for all of them to gather there? */
bool rh_train_scatters(const RhProblem *c, const RhLayout *layout);
/* Micro-batches per pipeline and step. */
int64_t rh_train_microbatches(const RhProblem *c, const RhLayout *layout);
