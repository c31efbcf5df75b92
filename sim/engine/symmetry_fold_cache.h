#pragma once
/* Cache of folds that programs share. The colours of ranks depend on who sends to whom, by which
 * steps and over which links; not on how often and, mostly, not on how many bytes. A search
 * rehearses layouts of one grid that have these in common: the first is folded, the others reuse
 * its colours and its quotient. */
#include "sim/engine/folded_network.h"
#include "sim/engine/program_flows.h"
#include "sim/engine/symmetry_fold.h"

typedef struct RhFoldedTable RhFoldedTable; /* for one platform, which must not change meanwhile */

typedef struct {
    RhProgram *program;
    RhTraffic *traffic; /* the program's, trimmed */
    RhFold *fold;       /* trimmed */
    RhFoldedNetwork *quotient;
} RhCachedFold;

RhFoldedTable *rh_fold_cache_new(void);
void rh_fold_cache_free(RhFoldedTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhFoldedTable, rh_fold_cache_free)

/* Adds a fold; takes ownership of all four members and trims them. */
void rh_fold_cache_add(RhFoldedTable *table, RhCachedFold folded);
/* Appends all folds to `bytes`, for another process's table, and empties this one. */
void rh_fold_cache_give(RhFoldedTable *table, GByteArray *bytes);
/* Adds the folds that rh_fold_cache_give wrote; `platform` becomes theirs. */
void rh_fold_cache_take(RhFoldedTable *table, const RhPlatform *platform, const void *bytes,
                        size_t length);
/* Returns a cached fold that equals the program's own, and in *traffic the program's traffic in the
 * fold's numbering (rh_traffic_like), which the caller frees; NULL when there is none. `alone` may
 * be NULL. */
const RhCachedFold *rh_fold_cache_find(const RhFoldedTable *table, const RhProgram *p,
                                       RhUncontendedTimes *alone, RhTraffic **traffic);
