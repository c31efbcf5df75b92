#pragma once
/* The rehearsal: simulates a program on a platform with SimGrid's clock and max-min shared links.
 *
 * Fold (symmetry_fold.h): ranks are coloured by role and by the links their flows use until all ranks of a
 * colour behave the same; one representative per colour is simulated, on quotient links. `unfolded`
 * gives every rank its own colour. One SimGrid engine lives per process and cannot be made again,
 * so a process can run one rehearsal: isolated_run.h runs each in a child. Nothing here forks or
 * touches stdio.
 *
 * Kernels are timers. While communication holds SMs of a device, its running kernel is stretched by
 * sms / (sms - held). Flows wait for their latency on a timer, then move on SimGrid links; a flow
 * that is alone on all its links is a timer too, until another arrives (revocable collapse;
 * `collapse_disabled` gives the same times). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/platform.h"
#include "sim/collective/uncontended_times.h"
#include "sim/engine/symmetry_fold_cache.h"
#include "sim/program.h"
#include "sim/program_result.h"

typedef struct {
    bool unfolded;
    bool collapse_disabled;
    bool sm_sharing_disabled;
    bool timeline; /* record every task of every performer */
    /* relative standard deviation of kernel durations; 0 while planning. Folded runs correct by
     * order statistics */
    double jitter_frac;
    /* Relative increase of all kernel durations, to measure how sensitive a step is
     * (docs/develop/engine.md). */
    double nudge_frac;
    uint64_t seed;
    /* Cutoff in seconds: a step that is certain to take longer is stopped early (RhRun.left); 0:
     * none. Applies to one step of one job without jitter and nudge, on fluid links. */
    double cutoff_s;
    int32_t steps;    /* steps to run back to back; 0 means 1 */
    double timeout_s; /* wall-clock limit of the whole call, enforced by isolated_run.h; 0: none */
    RhUncontendedTimes *alone;   /* shared by rehearsals on this platform; or NULL; borrowed */
    const RhFoldedTable *folded; /* shared folds of this platform; or NULL; borrowed */
} RhEngineOptions;

/* Runs the rehearsal in this process, once: another call fails with RH_ERROR_INPUT. */
RhRun *rh_engine_run(const RhProgram *p, const RhPlatform *platform, const RhEngineOptions *options,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
