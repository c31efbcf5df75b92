#pragma once
/* Formats the answer of `rl-plan`: the best placement, all that were simulated, what binds. */
#include "report/report.h"
#include "strategies/search/rl/rl_plan.h"

typedef struct {
    const RhQuestion *q;
    const RhRlPlanOptions *options;
    const RhRlPlan *plan;
    int verbosity;
} RhRlAnswer;

/* Part of the job that a step waits for. */
typedef enum { RH_RL_BINDS_SERVERS, RH_RL_BINDS_TRAINER, RH_RL_BINDS_WEIGHTS } RhRlBinds;
/* Returns what takes most of an entry's step, and its share of it. */
RhRlBinds rh_rl_binds(const RhRlEntry *entry, double *frac);

/* Caller frees. */
char *rh_report_rl_text(const RhRlAnswer *answer);
char *rh_report_rl_json(const RhRlAnswer *answer);
