/* Communication steps of a stage program, with their seconds on idle links. */
#include <math.h>
#include <string.h>

#include "strategies/search/bounds/bound_cache.h"

static void sum_steps(const RhCommSteps *f, RhInstrRange steps, RhLaneCommTime *sums)
{
    for (int32_t i = steps.first; i < steps.first + steps.count; i++) {
        const RhInstr *step = rh_stage_program_instr(f->stage_program, i);
        if (step->kind != RH_INSTR_COMMUNICATE && step->kind != RH_INSTR_COPY)
            continue;
        sums->lane_s[step->lane] += f->step_s[i];
        sums->moving_s += f->moving_s[i];
    }
}

static RhStepCommTime over_step(const RhCommSteps *f, bool each)
{
    RhStepCommTime total = {0};
    const RhLaneCommTime *sums[] = {&f->begin, &f->one, &f->first, &f->last, &f->every};
    double first[] = {1, f->one_microbatch, !f->one_microbatch, !f->one_microbatch,
                      f->one_microbatch ? 0 : -2};
    for (size_t i = each ? G_N_ELEMENTS(sums) - 1 : 0; i < G_N_ELEMENTS(sums); i++) {
        double times = each ? !f->one_microbatch : first[i];
        total.gradients_s += times * sums[i]->lane_s[RH_LANE_DP];
        total.gathers_s += times * sums[i]->lane_s[RH_LANE_GATHER];
        total.copies_s += times * sums[i]->lane_s[RH_LANE_COPY_OUT];
        total.weights_s += times * sums[i]->lane_s[RH_LANE_WEIGHTS_IN];
        total.moving_s += times * sums[i]->moving_s;
    }
    return total;
}

/* Returns when the communication that the first slot's first run waits for has ended. */
static double first_wait_s(const RhCommSteps *f)
{
    RhSlotKind first = {0, RH_SLOT_FORWARD, true, f->one_microbatch};
    RhInstrRange slot = rh_stage_program_slot(f->stage_program, &first),
                 begin = f->stage_program->begin;
    double t = 0, wait = 0;
    int32_t index = 0, awaited = -1;
    for (int32_t i = slot.first; i < slot.first + slot.count; i++) {
        const RhInstr *step = rh_stage_program_instr(f->stage_program, i);
        if (step->kind == RH_INSTR_RUN)
            break;
        if (step->kind == RH_INSTR_COMMUNICATE || step->lane == RH_LANE_WEIGHTS_IN)
            wait += f->step_s[i];
        else
            awaited = MAX(awaited, step->begin_index);
    }
    for (int32_t i = begin.first; i < begin.first + begin.count && index <= awaited; i++)
        if (rh_stage_program_instr(f->stage_program, i)->kind == RH_INSTR_COMMUNICATE) {
            t += f->step_s[i];
            index++;
        }
    return fmax(wait, awaited >= 0 ? t : 0);
}

/* The end of copy i, of which all that it waits for has ended, or its own lane's, by then. */
static double copy_end_s(const RhCommSteps *f, int32_t i, double t, double *lane_s)
{
    const RhInstr *step = rh_stage_program_instr(f->stage_program, i);
    double ready = rh_max_d(t, lane_s[step->lane]);
    for (int lane = 0; step->after >> lane; lane++)
        if (step->after & RH_LANE_BIT(lane))
            ready = rh_max_d(ready, lane_s[lane]);
    return lane_s[step->lane] = ready + f->step_s[i];
}

/* The end's steps one behind another where one waits for the other, all lanes idle at first. *copied_s: when
 * the last copy or work of the host has ended. */
static double end_s(const RhCommSteps *f, double *copied_s)
{
    double t = 0, lane_s[RH_LANE_LAST] = {0};
    *copied_s = 0;
    for (int32_t i = f->stage_program->end.first;
         i < f->stage_program->end.first + f->stage_program->end.count; i++) {
        const RhInstr *step = rh_stage_program_instr(f->stage_program, i);
        if (step->kind == RH_INSTR_KERNEL)
            t += f->step_s[i];
        else if (step->kind == RH_INSTR_COMMUNICATE)
            lane_s[step->lane] = rh_max_d(lane_s[step->lane], t) + f->step_s[i];
        else if (step->kind == RH_INSTR_COPY)
            *copied_s = rh_max_d(*copied_s, copy_end_s(f, i, t, lane_s));
        else
            t = rh_max_d(t, lane_s[step->lane]);
    }
    return t;
}

void rh_comm_steps_sum(RhCommSteps *f)
{
    int32_t chunks = f->layout->vpp;
    double copied_s;
    for (int32_t chunk = 0; chunk < chunks; chunk++)
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
            for (int place = 0; place < 4; place++) {
                RhSlotKind kind = {chunk, (RhSlotPass)pass, place & 2, place & 1};
                RhLaneCommTime *sums[] = {&f->every, &f->last, &f->first, &f->one};
                sum_steps(f, rh_stage_program_slot(f->stage_program, &kind), sums[place]);
            }
    sum_steps(f, f->stage_program->begin, &f->begin);
    f->sums.end_s = end_s(f, &copied_s);
    f->sums.optimizer_s = rh_max_d(f->sums.optimizer_s, copied_s - f->sums.end_s);
    f->sums.step = over_step(f, false);
    f->sums.step_each = over_step(f, true);
    f->sums.last_s = f->one_microbatch ? f->one.lane_s[RH_LANE_DP] : f->last.lane_s[RH_LANE_DP];
    f->sums.each = f->one_microbatch || f->every.lane_s[RH_LANE_DP] > 0;
}

/* Rings gather and scatter by the same flows; what of their time is latency does not depend on the
 * bytes. */
static double moving_s(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage,
                       const RhCommSteps *f, const RhInstr *step, double seconds)
{
    bool common = step->group == rh_params_shard_group(f->layout, RH_PARAMS_COMMON);
    if (!common || (step->op != RH_OP_ALL_GATHER && step->op != RH_OP_REDUCE_SCATTER))
        return 0;
    return fmax(0, seconds - rh_bound_latency_s(s, net, stage, (RhGroupKind)step->group,
                                                (RhOp)step->op, step->bytes));
}

/* Bytes per second of a copy that shares a node's memory and drives with so many others, and has its
 * link to the host for itself. */
static double copy_rate(const RhPlatform *p, const RhInstr *step, int32_t sharers)
{
    bool device = step->from == RH_MEMORY_TIER_HBM || step->to == RH_MEMORY_TIER_HBM;
    bool drives = step->from == RH_MEMORY_TIER_NVME || step->to == RH_MEMORY_TIER_NVME;
    if (step->from == step->to)
        return p->host_memory_bytes_per_s.value / sharers;
    return fmin(device ? p->host_bytes_per_s.value : (double)INFINITY,
                drives ? p->nvme_bytes_per_s.value / sharers : (double)INFINITY);
}

/* Ranks of the stage that share what a node has once, its memory's rate and its drives', and are at the
 * same copy at once, as all are that lie alike; 1 where they may not. */
static int32_t sharers_of(const RhBoundCache *s, const RhGroupNetwork *net, const RhLayout *l,
                          int32_t stage)
{
    const RhPlatform *p = s->c->platform;
    RhGrid grid = rh_grid(l);
    int32_t run = grid.stride[RH_DIM_PP], first = stage * run, sum = 0;
    if (!net->uniform || p->link_changes->len + p->gpu_speeds->len > 0)
        return 1;
    int32_t end = MIN((rh_platform_node_of(p, first) + 1) * p->gpus_per_node, s->c->job.gpus);
    for (int32_t gpu = first; gpu < end; gpu++)
        sum += gpu / run % l->pp == stage;
    return sum;
}

static void time_steps(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage, RhCommSteps *f)
{
    f->step_s = g_new0(double, 2 * (f->stage_program->steps->len + 1));
    f->moving_s = f->step_s + f->stage_program->steps->len + 1;
    int32_t sharers = rh_train_copies(f->layout) ? sharers_of(s, net, f->layout, stage) : 1;
    for (guint i = 0; i < f->stage_program->steps->len; i++) {
        const RhInstr *step = rh_stage_program_instr(f->stage_program, (int32_t)i);
        if (step->kind == RH_INSTR_KERNEL)
            f->step_s[i] =
                rh_sequence_kernel_s(s->c, rh_stage_program_kernel(f->stage_program, step));
        if (step->kind == RH_INSTR_COPY)
            f->step_s[i] = step->bytes / copy_rate(s->c->platform, step, sharers);
        if (step->kind != RH_INSTR_COMMUNICATE)
            continue;
        f->step_s[i] = rh_bound_collective_s(s, net, stage, (RhGroupKind)step->group,
                                             (RhOp)step->op, step->bytes);
        f->moving_s[i] = moving_s(s, net, stage, f, step, f->step_s[i]);
    }
}

static void flows_init(RhCommSteps *f, RhBoundCache *s, const RhLayout *l, int32_t stage)
{
    f->like = f;
    f->layout = l;
    f->one_microbatch = rh_train_microbatches(s->c, l) == 1;
    f->stage_program = rh_stage_program_new(rh_bound_shard(s, l)->model_cost, l, stage);
    time_steps(s, rh_bound_network(s, l), stage, f);
    RhKernel adam = rh_optimizer_kernel(s->c, l, &f->stage_program->states);
    f->sums.optimizer_s = rh_optimizer_runs(l, &adam) ? rh_sequence_kernel_s(s->c, &adam) : 0;
    rh_comm_steps_sum(f);
    f->sums.first_wait_s = first_wait_s(f);
}

/* Do two stages hold the same layers and stand alike? Then they do the same; but that where the schedule
 * turns, the last stage hands on to itself. */
static bool stages_alike(RhBoundCache *s, const RhLayout *l, int32_t a, int32_t b)
{
    const RhPipelineSchedule *schedule = rh_pipeline_schedule(l->schedule);
    const RhSplit *split = rh_bound_split(s, l);
    const RhGroupNetwork *net = rh_bound_network(s, l);
    bool same = net->alike[a] == net->alike[b] && !(schedule->turns && MAX(a, b) == l->pp - 1);
    for (int32_t c = 0; same && c < l->vpp; c++)
        same = split->content[rh_pipeline_model_chunk(schedule, l->pp, a, c)] ==
               split->content[rh_pipeline_model_chunk(schedule, l->pp, b, c)];
    return same;
}

static bool sums_alike(const RhStageCommTime *a, const RhStageCommTime *b)
{
    return memcmp(&a->step, &b->step, sizeof a->step) == 0 &&
           memcmp(&a->step_each, &b->step_each, sizeof a->step_each) == 0 &&
           a->optimizer_s == b->optimizer_s && a->end_s == b->end_s && a->last_s == b->last_s &&
           a->each == b->each;
}

static bool meets_all_stages(const RhCommSteps *f)
{
    for (int32_t i = f->stage_program->end.first;
         i < f->stage_program->end.first + f->stage_program->end.count; i++) {
        const RhInstr *step = rh_stage_program_instr(f->stage_program, i);
        if (step->kind == RH_INSTR_COMMUNICATE &&
            rh_group_meets_all_stages((RhGroupKind)step->group))
            return true;
    }
    return false;
}

/* All optimizers begin behind the latest stage's gradients: the step ends with the slowest. */
static void end_together(RhCommSteps **all, int32_t stages)
{
    double slowest_s = 0;
    for (int32_t stage = 0; stage < stages; stage++)
        slowest_s = rh_max_d(slowest_s, all[stage]->sums.optimizer_s);
    for (int32_t stage = 0; stage < stages; stage++)
        all[stage]->sums.optimizer_s = slowest_s;
}

int32_t rh_stage_comm_in_rows(RhStageCommTime *sums, int32_t stages)
{
    int32_t rows = 0;
    for (int32_t stage = stages - 1; stage >= 0; stage--) {
        bool next_too = stage + 1 < stages && sums_alike(&sums[stage], &sums[stage + 1]);
        sums[stage].alike_count = 1 + (next_too ? sums[stage + 1].alike_count : 0);
    }
    for (int32_t stage = 0; stage < stages; stage += sums[rows++].alike_count)
        sums[rows] = sums[stage];
    return rows;
}

void rh_comm_steps_fill(RhBoundCache *cache, RhCommStepSet *set, const RhLayout *layout)
{
    const RhLayout *l = g_memdup2(layout, sizeof *layout);
    RhCommSteps **all = g_new0(RhCommSteps *, l->pp + 1);
    RhCommSteps *in_a_row = g_new0(RhCommSteps, l->pp); /* as bounds walk them */
    g_autofree int32_t *first = g_new(int32_t, l->pp);
    for (int32_t stage = 0, kinds = 0; stage < l->pp; stage++) {
        int32_t kind = 0;
        while (kind < kinds && !stages_alike(cache, l, first[kind], stage))
            kind++;
        all[stage] = &in_a_row[stage];
        if (kind < kinds) {
            *all[stage] = *all[first[kind]];
        } else {
            flows_init(all[stage], cache, l, stage);
            set->steps += (int32_t)all[stage]->stage_program->steps->len;
            first[kinds++] = stage;
        }
    }
    if (meets_all_stages(all[0]))
        end_together(all, l->pp);
    g_free(set->sums);
    set->sums = g_new(RhStageCommTime, (guint)l->pp);
    for (int32_t stage = 0; stage < l->pp; stage++)
        set->sums[stage] = all[stage]->sums;
    rh_stage_comm_in_rows(set->sums, l->pp);
    set->of_stage = all;
}

void rh_comm_steps_forget(RhCommStepSet *set)
{
    RhCommSteps **all = g_steal_pointer(&set->of_stage);
    set->steps = 0;
    for (int32_t stage = 0; all && all[stage]; stage++) {
        if (all[stage]->like != all[stage])
            continue;
        rh_stage_program_free(all[stage]->stage_program);
        g_free(all[stage]->step_s);
        g_clear_pointer(&all[stage]->calls, g_array_unref);
    }
    if (all) {
        g_free((void *)(uintptr_t)all[0]->layout);
        g_free(all[0]);
    }
    g_free(all);
}

void rh_comm_steps_free(void *data)
{
    RhCommStepSet *set = data;
    rh_comm_steps_forget(set);
    g_free(set->sums);
    g_free(set);
}
