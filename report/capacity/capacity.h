#pragma once
/* Formats the answer of a training capacity question as text, JSON, CSV and Markdown. */
#include "report/report.h"
#include "strategies/search/capacity/capacity.h"

/* A size in which a platform cannot be built. */
typedef struct {
    const char *platform;
    int32_t gpus;
    char *why;
} RhCapacityLeftOut;

typedef struct {
    const RhCapacityTarget *goal;
    const GArray *cells;                /* RhCapacityCell, evaluated */
    const RhQuestion *const *questions; /* per cell */
    const GArray *left_out;             /* RhCapacityLeftOut; NULL: none */
    int32_t best;                       /* index into cells; -1: none meets the target */
    bool sizes_chosen;                  /* by the date; else they were given */
} RhCapacityAnswer;

/* Returns the largest cost of a step besides compute: "network" (exposed communication), "batch"
 * (the pipeline bubble, which more micro-batches fill), "memory" (recomputation); "compute" where
 * none takes 5 %. *frac is its share. */
const char *rh_report_binds(const RhRehearsal *r, double *frac);
/* Returns by how many months a price is older than the newest figure of its platform; 0 where it is
 * newer or has no date. A price of more than a year is called old. */
int rh_report_price_months(const RhPlatform *hardware);
#define RH_PRICE_MONTHS 12
/* "12.4 M$", "840 k$"; "27.3 d", "5.20 h". Caller frees. */
char *rh_report_money(double usd);
char *rh_report_duration(double seconds);
/* Appends the price of a platform's GPU-hour, its date, and whether it is old. */
void rh_report_price(GString *out, const char *name, const RhPlatform *hardware);

/* Format the answer; caller frees. */
char *rh_report_capacity_text(const RhCapacityAnswer *answer, const RhReportStyle *style);
char *rh_report_capacity_json(const RhCapacityAnswer *answer);
char *rh_report_capacity_csv(const RhCapacityAnswer *answer);
char *rh_report_capacity_markdown(const RhCapacityAnswer *answer);
