#pragma once
/* The rehearsal: performs a program on a platform with SimGrid's clock and max-min shared links.
 *
 * Fold (fold.h): ranks are coloured by role and by the links their flows use until all ranks of a
 * colour behave the same; one representative per colour is performed, on quotient links. `unfolded`
 * gives every rank its own colour. One SimGrid engine lives per process and cannot be made again,
 * so a process has one rehearsal: isolated_run.h performs each in a child. Nothing here forks or touches
 * stdio.
 *
 * Kernels are timers. While communication holds SMs of a device, its running kernel is stretched by
 * sms / (sms - held). Flows wait their latency on a timer, then move on SimGrid links; a flow that
 * is alone on all its links is a timer too, until another arrives (revocable collapse; `collapse`
 * off gives the same times). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/platform.h"
#include "sim/collective/uncontended_times.h"
#include "sim/engine/fold_cache.h"
#include "sim/program.h"
#include "sim/run.h"

typedef struct {
    bool unfolded;
    bool collapse_disabled;
    bool sm_sharing_disabled;
    bool timeline;      /* record every task of every performer */
    double jitter_frac; /* standard deviation of kernel durations; 0 while planning. Folded runs
                           correct by order statistics */
    /* Kernels take longer by this fraction. What it moves besides is how sensitive a step is
     * (docs/develop/engine.md). */
    double nudge_frac;
    uint64_t seed;
    /* A step that is sure to take longer than this is left there (RhRun.left); 0: none is. Heeded of one job and
     * one step, without jitter and nudge, on links that are shared as a fluid. */
    double enough_s;
    int32_t steps;    /* how many times to run the program back to back; 0 means 1 */
    double timeout_s; /* wall clock of the whole call, kept by isolated_run.h; 0 = none */
    RhUncontendedTimes
        *alone; /* of this platform, where many rehearsals share them; or NULL; borrowed */
    const RhFoldedTable *folded; /* of this platform, likewise */
} RhEngineOptions;

/* In this process, once: another call fails with RH_ERROR_INPUT. */
RhRun *rh_engine_run(const RhProgram *p, const RhPlatform *platform, const RhEngineOptions *options,
                     GError **error);
