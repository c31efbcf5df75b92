#pragma once
/* Formats what changes of a run are worth: goodput, time and GPU-hours with one thing changed, and what that takes. */
#include "report/report.h"
#include "strategies/run/checkpoint_times.h"
#include "strategies/run/run_what_if.h"

typedef struct {
    const RhQuestion *q;
    const RhTrainingRun *run;
    const RhRunResult *result;
    const RhCheckpointSetup *checkpoint; /* bytes 0: its times were given */
    const GArray *changes;               /* RhRunChange, of all kinds */
    bool cut;                            /* not all were tried in time */
    double usd_per_gpu_hour;             /* 0: unknown */
} RhRunValue;

/* Callers free. */
char *rh_report_run_value_text(const RhRunValue *worth);
char *rh_report_run_value_json(const RhRunValue *worth); /* rehearse.run-changes/1 */
