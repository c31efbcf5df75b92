#pragma once
/* One layout's closed form, segment graph and rehearsal, for tests that bounds hold. */
#include <math.h>

#include "base/error.h"
#include "sim/engine/workers/isolated_run.h"
#include "strategies/search/bounds/bound_cache.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define BOUNDS_TOLERANCE 1e-9

typedef struct {
    double closed, segment; /* over the rehearsal */
} BoundsRatio;

/* Longer rehearsals are left out: many kinds of ranks on one fabric take minutes. */
#define BOUNDS_PATIENCE_S 4.0

/* Rehearses a program; NULL if time ran out, any other failure ends the test. The caller frees the
 * run. */
RhRun *bounds_rehearse(const RhProgram *p, const RhPlatform *platform, double patience_s);

bool bounds_rehearsed(BoundsRatio ratio);

/* Checks one layout, and says which when it fails. NaN where its rehearsal was left out. */
BoundsRatio bounds_check_within(const RhProblem *c, const char *question, const RhLayout *l,
                                double patience_s);

BoundsRatio bounds_check(const RhProblem *c, const char *question, const RhLayout *l);

/* Checks that both bounds hold and are at least so large a share of the rehearsed step; returns
 * false if the rehearsal was left out. */
bool bounds_check_tight(const RhProblem *c, const char *question, const RhLayout *l,
                        BoundsRatio least);

/* Checks bounds of a layout whose rehearsal is short, unless the machine is busy with much else. */
BoundsRatio bounds_check_surely(const RhProblem *c, const char *question, const RhLayout *l);

/* A test that has left out every rehearsal shows nothing: on a slow machine some take too long, not all. */
void bounds_check_some(int32_t rehearsed);
