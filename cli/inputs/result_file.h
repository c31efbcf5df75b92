#pragma once
/* A result written by `plan` or `simulate`, read again: what was asked and which layouts it holds.
 */
#include "cli/inputs/inputs.h"
#include "strategies/search/explain/replan.h"

typedef struct {
    char *path;
    bool is_plan;          /* else: simulate */
    RhObjective objective; /* of the plan; of a run: time */
    char *workload, *platform, *stack, *dtype;
    char *workload_hash, *platform_hash;
    int64_t global_batch, sequence, gpus, seed;
    GStrv sets, argv;
    GArray *plans; /* RhResultPlan */
} RhResult;

/* Is the schema ("rehearse.plan/1") of a version that is read? What is not rehearse's is another's to refuse; else
 * RH_ERROR_INPUT. */
bool rh_result_check_version(const char *path, const char *schema,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* RH_ERROR_INPUT when the file is no result of ours. */
RhResult *rh_result_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_result_free(RhResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhResult, rh_result_free)

/* Is a layout named by a result, as RESULT.json#RANK or its file, and not written out? */
bool rh_result_is_named(const char *strategy);
/* "plan.json#2" -> path and 2; without '#', or the name of a file: 1. RH_ERROR_USAGE. */
bool rh_result_split(const char *spec, char **path, int64_t *rank,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The plan of that rank; RH_ERROR_USAGE names the ranks there are. */
const RhResultPlan *rh_result_plan(const RhResult *result, int64_t rank,
                                   GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The layout behind "plan.json#2". */
bool rh_result_layout(const char *spec, RhLayout *out, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* That the layout behind it is refused: `why`, at the place where the file says the key at fault. Takes `why`;
 * RH_ERROR_INPUT; false. */
bool rh_result_refuse(const char *spec, GError *why, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns a workload or platform that is named by a path relative to where the result was made: as it stands, else beside
 * the result. Caller frees. */
char *rh_result_input_file(const RhResult *result, const char *spec) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the options that ask the question behind "plan.json#2" with that layout: "--workload", its value and so on,
 * NULL-ended; caller frees. */
char **rh_result_options(const char *spec, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Loads the inputs that the result was made from, with more `--set`s. A file that changed since is
 * a warning, told through *changed. */
RhInputs *rh_result_inputs(const RhResult *result, const GPtrArray *more_sets, bool *changed,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* A plan of a result, performed again from its recorded inputs; owned. */
typedef struct {
    RhResult *result;
    const RhResultPlan *plan;
    RhInputs *in;
    RhProgram *program;
    RhRun *run; /* with its timeline; NULL where it is not to be drawn */
    RhRehearsal *r;
} RhReplay;

/* Tells where an input changed since, or the step is not the recorded one. Clear in either case. */
bool rh_result_perform(const char *path, int64_t rank, bool drawn, RhReplay *out,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_replay_clear(RhReplay *again);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhReplay, rh_replay_clear)
