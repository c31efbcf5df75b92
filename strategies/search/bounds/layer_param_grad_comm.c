/* Communication of parameters and gradients that a layer adds to its stage, at the least, whatever layers stand
 * beside it.
 *
 * What a stage sends of its parameters and gradients is in proportion to how many of them it has: layers share
 * buckets, but not bytes. A call of b bytes takes at least b times the seconds a byte of very large calls, since
 * smaller ones only add latencies, or go by algorithms that move bytes more slowly. So the bytes of any stage of the
 * grid, divided by its parameters, bound what every layer adds in every split, and no stage programs of other splits
 * need be written. Of layouts whose layers are not all trained nothing is claimed. */
#include <string.h>

#include "strategies/search/bounds/bound_cache.h"

#define LARGE_BYTES 1e12 /* of a call whose latencies are next to nothing */

/* Is a group one in which a class of parameters is gathered or its gradients are summed? */
static bool has_group(const RhLayout *l, RhParamsClass cls, int32_t group)
{
    return group == (int32_t)rh_params_group(cls) ||
           group == (int32_t)rh_params_shard_group(l, cls) ||
           group == (int32_t)rh_params_same_share_group(cls) ||
           (rh_params_second_shards(l, cls) > 0 && group == (int32_t)rh_params_second_group(cls));
}

/* Returns the seconds a byte of very large calls. */
static double s_per_byte(RhBoundCache *cache, const RhGroupNetwork *net, int32_t stage,
                         const RhInstr *step)
{
    RhGroupKind group = (RhGroupKind)step->group;
    RhOp op = (RhOp)step->op;
    double all_s = rh_bound_collective_s(cache, net, stage, group, op, LARGE_BYTES);
    double latency_s = rh_bound_latency_s(cache, net, stage, group, op, LARGE_BYTES);
    return rh_max_d(0, all_s - latency_s) / LARGE_BYTES;
}

/* Returns the part of the embedding's and head's gathered bytes a parameter that layers have, at most 1. */
static double narrow_frac(const RhProblem *c)
{
    return rh_min_d(1, rh_gathered_weight_bytes(c, true) / rh_gathered_weight_bytes(c, false));
}

/* Returns the parameters of a class that a stage has. */
static double stage_params(const RhStageProgram *s, RhParamsClass cls)
{
    double sum = 0;
    for (guint i = 0; i < s->items->len; i++)
        sum += rh_stage_program_layer(s, (int32_t)i)->params.of[cls];
    return sum;
}

/* Fills in the seconds of each instruction of a stage for one parameter of a class. */
static void price_steps(RhBoundCache *cache, const RhCommSteps *f, int32_t stage, RhParamsClass cls,
                        double *step_s)
{
    const RhLayout *l = f->layout;
    const RhGroupNetwork *net = rh_bound_network(cache, l);
    for (guint i = 0; i < f->stage_program->steps->len; i++) {
        const RhInstr *step = rh_stage_program_instr(f->stage_program, (int32_t)i);
        bool gather = step->lane == RH_LANE_GATHER;
        double params = 0;
        if (step->kind != RH_INSTR_COMMUNICATE || !(gather || step->lane == RH_LANE_DP) ||
            !has_group(l, cls, step->group))
            continue;
        for (int other = 0; other < RH_PARAMS_LAST; other++)
            if (has_group(l, (RhParamsClass)other, step->group))
                params += stage_params(f->stage_program, (RhParamsClass)other);
        if (params > 0)
            step_s[i] = step->bytes / params * s_per_byte(cache, net, stage, step) *
                        (gather ? narrow_frac(cache->c) : 1);
    }
}

/* Lowers each of the sums to the other's. */
static void keep_least(RhStageCommTime *sums, const RhStageCommTime *other)
{
    sums->step.gathers_s = rh_min_d(sums->step.gathers_s, other->step.gathers_s);
    sums->step.gradients_s = rh_min_d(sums->step.gradients_s, other->step.gradients_s);
    sums->step_each.gathers_s = rh_min_d(sums->step_each.gathers_s, other->step_each.gathers_s);
    sums->step_each.gradients_s =
        rh_min_d(sums->step_each.gradients_s, other->step_each.gradients_s);
    sums->last_s = rh_min_d(sums->last_s, other->last_s);
    sums->each &= other->each;
}

static void add(RhStageCommTime *sums, const RhStageCommTime *other, double times)
{
    sums->step.gathers_s += times * other->step.gathers_s;
    sums->step.gradients_s += times * other->step.gradients_s;
    sums->step_each.gathers_s += times * other->step_each.gathers_s;
    sums->step_each.gradients_s += times * other->step_each.gradients_s;
    sums->last_s += times * other->last_s;
    sums->each |= times > 0 && other->each;
}

/* Returns what one parameter of a class adds on a stage. */
static RhStageCommTime of_parameter(RhBoundCache *cache, const RhCommSteps *f, int32_t stage,
                                    RhParamsClass cls)
{
    RhCommSteps one = {.stage_program = f->stage_program,
                       .one_microbatch = f->one_microbatch,
                       .layout = f->layout};
    guint count = f->stage_program->steps->len + 1;
    g_autofree double *seconds = g_new0(double, 2 * count);
    one.step_s = seconds;
    one.moving_s = seconds + count;
    price_steps(cache, f, stage, cls, seconds);
    rh_comm_steps_sum(&one);
    return one.sums;
}

/* Returns the least that one parameter of a class adds on any stage. */
static RhStageCommTime least_of_parameter(RhBoundCache *cache, const RhLayout *l,
                                          RhCommSteps *const *flows, RhParamsClass cls)
{
    RhStageCommTime sums = {0};
    bool any = false;
    for (int32_t stage = 0; stage < l->pp; stage++) {
        if (flows[stage]->like != flows[stage] ||
            stage_params(flows[stage]->stage_program, cls) <= 0)
            continue;
        RhStageCommTime here = of_parameter(cache, flows[stage], stage, cls);
        if (any)
            keep_least(&sums, &here);
        else
            sums = here;
        any = true;
    }
    return sums;
}

static bool all_trained(RhCommSteps *const *flows)
{
    for (int32_t stage = 0; flows[stage]; stage++)
        for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
            if (flows[stage]->stage_program->states.frozen.of[cls] > 0)
                return false;
    return true;
}

RhStageCommTime *rh_layer_comm_new(RhBoundCache *cache, const RhLayout *l)
{
    const RhModel *model = cache->c->model;
    RhStageCommTime *of_kind = g_new0(RhStageCommTime, (guint)model->kinds_count);
    RhCommSteps *const *flows = rh_bound_comm_steps(cache, l);
    for (int cls = 0; all_trained(flows) && cls < RH_PARAMS_LAST; cls++) {
        RhStageCommTime sums = least_of_parameter(cache, l, flows, (RhParamsClass)cls);
        for (int kind = 0; kind < model->kinds_count; kind++) {
            RhParamCounts params = rh_layer_params(rh_bound_shard(cache, l)->model_cost, l, kind);
            add(&of_kind[kind], &sums, params.of[cls] * (1 - 1e-9));
        }
    }
    return of_kind;
}

RhStageCommTime *rh_layer_comm_sums_new(RhBoundCache *cache, const RhLayout *l)
{
    const RhStageCommTime *of_kind = rh_bound_layer_comm(cache, l);
    const RhSplit *split = rh_bound_split(cache, l);
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    RhStageCommTime *sums = g_new0(RhStageCommTime, (guint)l->pp);
    for (int32_t stage = 0; stage < l->pp; stage++)
        for (int kind = 0; kind < cache->c->model->kinds_count; kind++) {
            int32_t layers = 0;
            for (int32_t chunk = 0; chunk < l->vpp; chunk++)
                layers +=
                    split->kinds[rh_pipeline_model_chunk(schedule, l->pp, stage, chunk)][kind];
            add(&sums[stage], &of_kind[kind], layers);
        }
    rh_stage_comm_in_rows(sums, l->pp);
    return sums;
}
