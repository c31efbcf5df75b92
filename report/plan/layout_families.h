#pragma once
/* Reports plans by family of layouts: the best of each family, ties with the best, and the variants
 * behind a row. */
#include <stdbool.h>

#include "strategies/search/plan.h"

typedef struct {
    const char *family;
    const RhRehearsal *r; /* member of the plan; NULL: only its bound is known */
    guint rank;           /* 0: no entry */
    bool tie;             /* within the error bar of the first entry */
    double step_least_s;  /* lower bound; 0 where it was rehearsed */
} RhFamilyBest;

/* Returns the best found layout of each family (rh_layout_family), best first, followed by families
 * with only a bound: RhFamilyBest, caller frees. */
GArray *rh_report_families(const RhPlan *plan);
/* Returns the entries, followed by the best of families without one: RhRehearsal*, caller frees the
 * array. */
GPtrArray *rh_report_plan_rows(const RhPlan *plan);
/* Names the knobs over which a row is the best: "vpp, order and partition". Caller frees. */
char *rh_report_variant_knobs(void);
/* Returns whether any row is the best of several variants. */
bool rh_report_has_variants(const RhPlan *plan);
/* "families: #1 fsdp, #3 hybrid +13.1 %; behind: data at least +40.2 %", "tie: ...", "within: ..." */
void rh_report_append_families(GString *out, const RhPlan *plan, bool verbose);
