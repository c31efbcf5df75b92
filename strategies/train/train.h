#pragma once
/* Training: turns a problem and a layout into a program, and computes its memory in closed form.
 *
 * Parallelisms (parallelism/) and schedules (schedules/) compose: each is one file and one table
 * row, and acts only at its own hooks. See ARCHITECTURE.md. */
#include "sim/memory_ledger.h"
#include "sim/program.h"
#include "strategies/layout.h"
#include "strategies/training_problem.h"

/* Can any layout of the job be legal (enough GPUs, positions for the sequence)? If not, returns
 * false with RH_ERROR_USAGE and the reason. */
bool rh_train_job_legal(const RhProblem *c, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Is the layout legal for the problem? If not, returns false with RH_ERROR_USAGE, the reason and
 * the legal values. */
bool rh_train_legal(const RhProblem *c, const RhLayout *layout,
                    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Rules of rh_train_legal, without those of rh_train_job_legal, with the knobs that each reads
 * (RH_KNOB_BIT), so that a search can apply a rule as soon as these are set. Together they refuse
 * the same layouts. */
typedef struct {
    uint64_t given;
    bool (*legal)(const RhProblem *c, const RhLayout *layout);
} RhTrainRules;
extern const RhTrainRules rh_train_rules[]; /* ends with a row without function */

/* Returns the layout in canonical form: a knob without effect takes its default (sp off at tp1,
 * order at dp1 or pp1, zero at dp1), so that equal layouts compare equal. */
RhLayout rh_train_canonical(const RhProblem *c, const RhLayout *layout);
/* Do these knobs (RH_KNOB_BIT) have the values of the canonical form? Takes some tens of
 * nanoseconds. */
bool rh_train_is_canonical(const RhProblem *c, const RhLayout *layout, uint64_t knobs);

/* Returns the defaults of all knobs under the problem's stack; dp is still 0. */
RhLayout rh_train_default(const RhProblem *c);

/* Changes a layout by one word of its text form, "tp=4" or "tp4". dp follows from the other knobs
 * unless it is named; an explicit partition stays while the number of stages does; chunks and
 * schedule are adapted to each other; if tp was 1, sp takes the stack's default. RH_ERROR_USAGE. */
bool rh_train_change(const RhProblem *c, RhLayout *layout, const char *text,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Returns the least number of replicas (dp) over which a stage's experts, ep etp / (tp cp), and the
 * layout's shards of states, shard / cp, can be spread; from 1 to a layout's largest degree. */
int32_t rh_train_least_replicas(const RhLayout *layout);

/* Sets a dp of 0 to gpus / (tp pp cp), at least 1. */
void rh_train_complete(const RhProblem *c, RhLayout *layout);

/* Returns the number of tasks of a step's program; programs over the limit are not built. */
#define RH_TRAIN_TASKS_MAX 4e7
double rh_train_tasks(const RhProblem *c, const RhLayout *layout);
/* Completes a given layout and makes it canonical; RH_ERROR_USAGE where it is not legal. */
bool rh_train_settle_layout(const RhProblem *c, RhLayout *layout,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns whether a layout is legal on a machine with exactly its ranks, with an open dp set to the
 * number of replicas that its experts need; false names the fact that no number of replicas
 * changes. */
bool rh_train_fits_some_machine(const RhProblem *c, const RhLayout *layout,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Builds the program of one optimizer step. The layout must be legal and canonical. The caller
 * frees the program. */
RhProgram *rh_train_build(const RhProblem *c, const RhLayout *layout,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Memory peak of the worst stage in closed form, computed independently of rh_train_build:
 * rh_ledger_walk over its program must find the same. */
typedef struct {
    double peak_bytes;
    int32_t stage;                               /* the stage with the highest peak */
    double at_peak_bytes[RH_MEMORY_LAST];        /* by use */
    double tier_peak_bytes[RH_MEMORY_TIER_LAST]; /* of that stage; HBM: peak_bytes */
    /* Host memory of the node that needs most: sum of the peaks of its ranks. */
    double host_bytes;
    double nvme_bytes; /* of its drives, likewise */
} RhTrainMemory;
RhTrainMemory rh_train_memory(const RhProblem *c, const RhLayout *layout);
/* Return the memory in bytes of the platform's first device, and the least of the devices of a
 * stage's ranks. If devices differ, the worst stage is the one with the least free memory. */
double rh_train_memory_capacity(const RhProblem *c);
double rh_train_stage_capacity(const RhProblem *c, const RhLayout *layout, int32_t stage);

/* Returns how the pictures of a model are cut over context ranks: as the layout says, or else into
 * squares where so many tiles can be, and rows. NONE: it has none, or they are whole. */
RhSlice rh_train_slice(const RhProblem *c, const RhLayout *layout);
/* Returns the number of ranks that hold the same parameters: dp x cp. */
int32_t rh_train_replicas(const RhLayout *layout);
/* Returns the number of ranks that hold one whole copy of the weights between them. */
int32_t rh_train_copy_ranks(const RhLayout *layout);
/* Returns the number of ranks over which an expert is divided. */
int32_t rh_train_expert_tensor(const RhLayout *layout);
/* Are tokens sent between ranks, because ranks hold some of the experts, or divide them in another
 * way than all else? */
bool rh_train_spreads_experts(const RhLayout *layout);
/* Are states sharded inside several groups of replicas (HSDP)? */
bool rh_train_shares_in_groups(const RhLayout *layout);
/* Does a step copy between tiers of memory? */
bool rh_train_copies(const RhLayout *layout);
/* Does each tensor rank send a share of a message to another stage, where all ranks gather it? */
bool rh_train_scatters(const RhProblem *c, const RhLayout *layout);
/* Does this stage wait for samples that take time to load? */
bool rh_stage_loads(const RhProblem *c, int32_t stage);
/* Return the seconds in which the samples of a replica's step are loaded, and their bytes: pictures
 * in fp32, tokens as numbers of 8 bytes. Ranks that share a replica wait for the same ones. */
double rh_step_loading_s(const RhProblem *c, const RhLayout *layout);
double rh_step_sample_bytes(const RhProblem *c, const RhLayout *layout);
/* Returns the number of micro-batches per copy of the model in a pipeline, and step. */
int64_t rh_train_microbatches(const RhProblem *c, const RhLayout *layout);
