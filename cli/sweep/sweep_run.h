#pragma once
/* Runs a study, or the part of it that is this process's. */
#include "cli/parse/parsed_arguments.h"
#include "sweep/coordinator_message.h"
#include "sweep/shard.h"
#include "sweep/study.h"

/* Inputs of a sweep: what is to be run. */
typedef struct {
    const RhArguments *arguments;
    const RhStudy *study;
    const char *folder; /* of the journals */
    RhStudyShard shard;
    RhJobRank rank;
} RhSweepRun;

/* Outcome of a sweep. */
typedef struct {
    int64_t count;    /* questions of this part */
    int64_t known;    /* of which were answered before */
    int64_t answered; /* now, and the answer is a result */
    int64_t no;       /* now, and the answer is no */
    int64_t refused;  /* now: the command does not take the question */
    int64_t failed;
    double seconds;      /* of the wall clock */
    double busy_s;       /* of questions, summed */
    GPtrArray *troubles; /* char*, owned: what failed, with why; the first few */
    GPtrArray *refusals; /* char*, owned: what was refused, with why; one for a reason, a few */
    bool stopped;        /* by a signal */
} RhSweepOutcome;

/* Returns the outcome, also of a run that was stopped; NULL when it could not be done: RH_ERROR_IO,
 * RH_ERROR_REFUSED; RH_ERROR_USAGE for answers that are there and were not to be. */
RhSweepOutcome *rh_sweep_run(const RhSweepRun *run, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the number of questions that are not asked yet. */
int64_t rh_sweep_left(const RhSweepOutcome *outcome);
void rh_sweep_outcome_free(RhSweepOutcome *outcome);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhSweepOutcome, rh_sweep_outcome_free)
