#pragma once
/* Formats the answer of `run`: goodput, days and money, where the time goes, what would pay. */
#include "report/report.h"
#include "strategies/run/checkpoint_times.h"
#include "strategies/run/run_phases.h"
#include "strategies/run/run_what_if.h"
#include "strategies/search/capacity/elastic_plan.h"

typedef struct {
    const RhQuestion *q;
    const RhTrainingRun *run;
    const RhRunResult *result;
    const RhCheckpointSetup *checkpoint; /* bytes 0: its times were given */
    const GArray *changes;               /* RhRunChange */
    const RhLayout *layout;              /* NULL: the step's time was given */
    const char *rates_about;             /* NULL: a trace */
    const GArray *phases;                /* RhRunPhase */
    const GArray *sizes;  /* RhElasticSize: layouts of the job when it has shrunk; NULL: its own */
    const char *saved_as; /* file with the answer as JSON; NULL: none */
    double tokens, step_s, steps;
    double error_frac;       /* of the step; 0: unknown */
    double usd_per_gpu_hour; /* 0: unknown */
    bool changes_cut;        /* not all were tried in time */
    double goal_frac;        /* goodput that was asked for; 0: none */
} RhRunAnswer;

/* Money of the GPUs of the job and of the spares that are up. */
double rh_run_answer_usd(const RhRunAnswer *answer, double time_s);
double rh_run_answer_gpu_hours(const RhRunAnswer *answer, double time_s);
/* Returns whether a part is large enough to be shown. */
bool rh_report_run_time_shown(const RhRunResult *result, RhRunTime part);
/* Caller frees. */
char *rh_report_run_over_time_text(const RhRunAnswer *answer);
char *rh_report_run_over_time_json(const RhRunAnswer *answer);
