#pragma once
/* Plans by how they cut the model: the best of each family, what ties with the best, what a row stands for. */
#include <stdbool.h>

#include "strategies/search/plan.h"

typedef struct {
    const char *family;
    const RhRehearsal *r; /* of the plan; NULL: known by its bound alone */
    guint rank;           /* 0: no entry */
    bool tie;             /* no further behind the first entry than the error bar of this */
    double step_least_s;  /* 0 where it was rehearsed */
} RhFamilyBest;

/* The best of each family (rh_layout_family) that was found, best first, and behind them those known by a bound:
 * RhFamilyBest, caller frees. */
GArray *rh_report_families(const RhPlan *plan);
/* Entries, and behind them the best of families without one: RhRehearsal*, caller frees the array. */
GPtrArray *rh_report_plan_rows(const RhPlan *plan);
/* "vpp, order and partition": knobs that a row is the best by. Caller frees. */
char *rh_report_variant_knobs(void);
/* Is any row the best of several that differ? */
bool rh_report_has_variants(const RhPlan *plan);
/* "families: #1 fsdp, #3 hybrid +13.1 %; behind: data at least +40.2 %", "tie: ...", "within: ..." */
void rh_report_append_families(GString *out, const RhPlan *plan);
