#pragma once
/* Formats the answer of `rl-plan`: the best placement, all that were simulated, what binds. */
#include "base/json/json.h"
#include "report/report.h"
#include "strategies/search/rl/rl_growth.h"

typedef struct {
    const RhQuestion *q;
    const RhRlPlanOptions *options;
    const RhRlPlan *plan;
    const RhRlGrowth *growth; /* NULL: not asked */
    int verbosity;
} RhRlAnswer;

/* Part of the job that a step waits for. */
typedef enum { RH_RL_BINDS_SERVERS, RH_RL_BINDS_TRAINER, RH_RL_BINDS_WEIGHTS } RhRlBinds;
/* Returns what takes most of an entry's step, and its share of it. */
RhRlBinds rh_rl_binds(const RhRlEntry *entry, double *frac);

/* Return GPUs that train and generate, "8:24", or "32" where all do both; and the steps ahead, "-"
 * there. Caller frees. */
char *rh_report_rl_split(const RhRlEntry *entry);
char *rh_report_rl_ahead(const RhRlEntry *entry);
/* Appends what becomes of placements while answers grow. */
void rh_report_rl_growth(GString *out, const RhRlGrowth *growth);
void rh_put_rl_growth(RhJsonWriter *writer, const RhRlGrowth *growth);

/* Caller frees. */
char *rh_report_rl_text(const RhRlAnswer *answer);
char *rh_report_rl_json(const RhRlAnswer *answer);
