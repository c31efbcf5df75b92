#pragma once
/* Folds that programs share. Which ranks behave alike follows from who sends to whom, by which steps and
 * over which links; not from how often nor, mostly, from how much. A search rehearses layouts of one
 * grid that differ in nothing else: the first of them is folded, the others take its colours and its
 * quotient. */
#include "sim/engine/fold.h"
#include "sim/engine/folded_network.h"
#include "sim/engine/traffic.h"

typedef struct RhFoldedTable RhFoldedTable; /* of one platform, which must not change meanwhile */

typedef struct {
    RhProgram *program;
    RhTraffic *traffic; /* of the program, trimmed */
    RhFold *fold;       /* trimmed */
    RhFoldedNetwork *quotient;
} RhCachedFold;

RhFoldedTable *rh_fold_cache_new(void);
void rh_fold_cache_free(RhFoldedTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhFoldedTable, rh_fold_cache_free)

/* Takes all four over and trims them. */
void rh_fold_cache_add(RhFoldedTable *table, RhCachedFold folded);
/* All as bytes behind those that `bytes` has, for another process's table; this one is empty then. */
void rh_fold_cache_give(RhFoldedTable *table, GByteArray *bytes);
/* Adds those of another table to this one; the platform is theirs. */
void rh_fold_cache_take(RhFoldedTable *table, const RhPlatform *platform, const void *bytes,
                        size_t length);
/* The fold that a program like this one would have by itself, and in *traffic the program's own traffic in its numbers
 * (rh_traffic_like), which the caller frees; NULL when there is none. `alone` may be NULL. */
const RhCachedFold *rh_fold_cache_find(const RhFoldedTable *table, const RhProgram *p,
                                       RhUncontendedTimes *alone, RhTraffic **traffic);
