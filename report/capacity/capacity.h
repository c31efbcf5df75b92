#pragma once
/* The answer to a question of capacity as text, JSON, CSV and Markdown. */
#include "report/report.h"
#include "strategies/search/capacity/capacity.h"

/* A size that a platform cannot be built at. */
typedef struct {
    const char *platform;
    int32_t gpus;
    char *why;
} RhCapacityLeftOut;

typedef struct {
    const RhCapacityTarget *goal;
    const GArray *cells;                /* RhCapacityCell, judged */
    const RhQuestion *const *questions; /* of each cell */
    const GArray *left_out;             /* RhCapacityLeftOut; NULL: none */
    int32_t best;                       /* of the cells; -1: none meets the goal */
} RhCapacityAnswer;

/* What takes most of a step besides its arithmetic: "network" (communication that nothing hides),
 * "batch" (the pipeline's bubble, which more micro-batches fill), "memory" (recomputation); "compute"
 * where none takes 5 %. *frac is its share. */
const char *rh_report_binds(const RhRehearsal *r, double *frac);
/* By how many months a price is older than the newest figure of its platform, 0 where it is not older
 * or says no date. A price of more than a year is called old. */
int rh_report_price_months(const RhPlatform *hardware);
#define RH_PRICE_MONTHS 12
/* "12.4 M$", "840 k$"; "27.3 d", "5.20 h". Caller frees. */
char *rh_report_money(double usd);
char *rh_report_duration(double seconds);
/* Appends what a platform's GPU-hour costs, of when, and whether that is old. */
void rh_report_price(GString *out, const char *name, const RhPlatform *hardware);

/* Each is the caller's to free. */
char *rh_report_capacity_text(const RhCapacityAnswer *answer, const RhReportStyle *style);
char *rh_report_capacity_json(const RhCapacityAnswer *answer);
char *rh_report_capacity_csv(const RhCapacityAnswer *answer);
char *rh_report_capacity_markdown(const RhCapacityAnswer *answer);
