#pragma once
/* A launch beside the plan that was found for it: what it runs, the one change that helps most, and
 * the settings that differ. */
#include "base/json/json.h"
#include "strategies/search/plan.h"

typedef struct RhLaunchedBeside {
    RhRehearsal *theirs;                   /* owned */
    RhRehearsal *one;                      /* owned; NULL: the best differs in one alone, or none
                                              helps */
    GPtrArray *one_changes, *best_changes; /* char*: "--flag a -> b"; owned; NULL: there is none */
} RhLaunchedBeside;

void rh_launched_beside_free(RhLaunchedBeside *beside);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLaunchedBeside, rh_launched_beside_free)
/* Writes "launched"; nothing where `beside` is NULL. */
void rh_put_launched(RhJsonWriter *w, const RhLaunchedBeside *beside);
