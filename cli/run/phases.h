#pragma once
/* The phases of `run --phase`: read, and the step of each one rehearsed. */
#include "cli/inputs/inputs.h"
#include "strategies/run/run_phases.h"
#include "strategies/search/plan.h"

typedef struct {
    RhInputs *in;
    const GPtrArray
        *texts;    /* "tokens=100B,batch=512,seq=2048", the given phases in order; NULL: none */
    double tokens; /* of the whole run: the last phase has the rest */
    double step_s; /* of the job as it is */
    const RhLayout *layout;       /* NULL: steps are given, and those of phases must be, too */
    const RhRehearsal *rehearsal; /* of the job as it is; NULL: its step is given */
    uint64_t seed;
} RhPhaseQuestion;

/* Appends the phases to `out` (RhRunPhase) and returns the work of all in `work_s`. RH_ERROR_USAGE, and the errors of
 * rehearsals. */
bool rh_run_phases_read(const RhPhaseQuestion *question, GArray *out, double *work_s,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
