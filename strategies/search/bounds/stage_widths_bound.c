/* Bounds of layouts whose stages are of unequal widths (RhLayout.cp_stages): the tables of the other
 * bounds have one width for all stages, so here each stage is asked itself, and the graph is that of the
 * whole program. */
#include <math.h>

#include "sim/uncontended_critical_path.h"
#include "strategies/search/bounds/bound_cache.h"

/* Seconds of a stage's kernels in a step: forward and backward of all micro-batches, and what follows
 * the last. */
typedef struct {
    double forward_s, backward_s, after_s;
} StageTimes;

static void time_part(RhBoundCache *cache, const RhLayout *layout, int32_t first, StageTimes *out)
{
    RhLayout l = rh_part_layout(cache->c, layout, first);
    RhShardCost *shard = rh_bound_shard(cache, &l);
    const RhLayerOps *items = rh_bound_passes(shard);
    for (int32_t stage = first; stage < rh_part_end(layout, first); stage++) {
        g_autoptr(RhStageProgram) program = rh_stage_program_new(shard->model_cost, &l, stage);
        RhKernelSums sums = {.flops = 0};
        rh_stage_program_add_kernels(program, items, &sums);
        out[stage] = (StageTimes){
            sums.seconds[RH_PHASE_FORWARD],
            sums.seconds[RH_PHASE_BACKWARD] + sums.seconds[RH_PHASE_RECOMPUTE],
            sums.seconds[RH_PHASE_OPTIMIZER],
        };
    }
}

/* The first micro-batch passes the stages before, the stage does all its slots, and the last gradients
 * go back through the stages before; each stage's optimizer follows its own. */
double rh_unequal_closed_s(RhBoundCache *cache, const RhLayout *l)
{
    double m = (double)rh_train_microbatches(cache->c, l), before_s = 0, worst = 0;
    g_autofree StageTimes *times = g_new(StageTimes, l->pp);
    for (int32_t stage = 0; stage < l->pp; stage = rh_part_end(l, stage))
        time_part(cache, l, stage, times);
    for (int32_t stage = 0; stage < l->pp; stage++) {
        const StageTimes *t = &times[stage];
        double fill_s = before_s / m, drain_s = 0;
        worst = fmax(worst, fill_s + t->forward_s + t->backward_s + t->after_s);
        for (int32_t s = stage - 1; s >= 0; s--) {
            drain_s += times[s].backward_s / m;
            worst = fmax(worst, fill_s + t->forward_s + t->backward_s + drain_s + times[s].after_s);
        }
        before_s += t->forward_s;
    }
    return worst;
}

double rh_unequal_graph_s(RhBoundCache *cache, const RhLayout *l)
{
    double closed_s = rh_unequal_closed_s(cache, l), path_s = 0;
    g_autoptr(RhProgram) program =
        rh_train_build(cache->c, l, NULL); /* NULL: as large as none can be */
    bool there = program && rh_critical_path_s(program, cache->c->platform, &path_s, NULL);
    return there ? fmax(closed_s, path_s) : closed_s;
}
