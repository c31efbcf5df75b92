/* The gradient norm: who sums it, what it reads, and what a step with it takes. */
#include "sim/collective/collective.h"
#include "sim/engine/program_flows.h"
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/train/memory/memory.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* A stack with the norm, or the same without. */
static void clip(TrainKit *k, bool clips)
{
    if (!k->stack)
        train_kit_runs_all(k);
    k->stack->gradient_norm = clips;
}

static int32_t count_norms(const RhProgram *p, int32_t members)
{
    int32_t found = 0;
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *task = rh_program_task(p, (int32_t)i);
        if (task->kind != RH_TASK_COLLECTIVE || task->lane != RH_LANE_NORM)
            continue;
        CU_ASSERT_EQUAL(task->op, RH_OP_ALL_REDUCE);
        CU_ASSERT_EQUAL(task->bytes, 4);
        CU_ASSERT_EQUAL(rh_program_group(p, task->group)->size, members);
        found++;
    }
    return found;
}

/* Megatron-LM's clip_grads.py: over a replica's ranks, with a distributed optimizer over all. */
static void every_rank_whose_gradients_differ_takes_part(void)
{
    static const struct {
        const char *layout;
        int32_t members;
    } rows[] = {{"tp2,pp4,dp4,zero0", 8},
                {"tp2,pp4,dp4,zero1", 32},
                {"tp1,pp2,dp16,zero2", 32},
                {"tp1,pp2,dp8,cp2,zero0", 2},
                {"tp8,pp4,dp1", 32},
                {"tp1,pp1,dp32,zero3", 32},
                {"tp2,pp4,dp4,zero1,order=tp-pp-dp", 32},
                {"tp4,pp2,vpp2,dp4,zero0", 8},
                {"tp8,pp1,dp4,zero0", 8}};
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:4", "megatron", 64, 4096);
    train_kit_runs_all(&k);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhLayout l = train_layout(&k, rows[i].layout);
        clip(&k, true);
        g_autoptr(RhProgram) with = rh_train_build(&k.c, &l, NULL);
        CU_ASSERT_TRUE(rh_program_check(with, NULL));
        CU_ASSERT_EQUAL(count_norms(with, rows[i].members), l.pp);
        CU_ASSERT_EQUAL(rh_train_tasks(&k.c, &l), with->tasks->len);
        clip(&k, false);
        g_autoptr(RhProgram) without = rh_train_build(&k.c, &l, NULL);
        CU_ASSERT_EQUAL(with->tasks->len - without->tasks->len, 2 * (guint)l.pp);
        CU_ASSERT_EQUAL(count_norms(without, 0), 0);
    }
}

static void one_replica_of_one_rank_has_nobody_to_ask(void)
{
    g_auto(TrainKit) k =
        train_kit("llama-3.2-1b", "h100-sxm:2x1,nvlink:100GB/s,ib:400Gb/s", "megatron", 32, 2048);
    train_kit_runs_all(&k);
    RhLayout l = train_layout(&k, "dp2,zero0");
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
    CU_ASSERT_EQUAL(count_norms(p, 0), 0);
}

/* Experts spread over ranks: those of a replica of all experts sum their squares. */
static void ranks_with_other_experts_take_part(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:2", "megatron", 32, 2048);
    train_kit_runs_all(&k);
    RhLayout l = train_layout(&k, "tp2,pp2,dp4,ep4,etp2,zero0");
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
    CU_ASSERT_EQUAL(count_norms(p, 16), 2);
}

/* Returns the time of the norm's sum among these ranks on idle links. */
static double sum_s(const TrainKit *k, const RhLayout *l)
{
    g_autoptr(RhProgram) p = rh_train_build(&k->c, l, NULL);
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *task = rh_program_task(p, (int32_t)i);
        if (task->kind != RH_TASK_COLLECTIVE || task->lane != RH_LANE_NORM)
            continue;
        g_autofree int32_t *gpus = rh_group_gpus(p, task->group, 0);
        g_autoptr(RhSchedule) steps = rh_schedule_of_task(p, task, k->c.platform, gpus, NULL);
        return rh_schedule_time_s(steps, p, k->c.platform, task->group, -1);
    }
    return 0;
}

/* Reading 4 B of each gradient whose optimizer a rank has. */
static double read_s(const TrainKit *k, double gradients)
{
    RhKernel kernel = {.cls = RH_KERNEL_REDUCE,
                       .dtype = RH_DTYPE_FP32,
                       .bytes = 4 * gradients,
                       .flops = 2 * gradients};
    return rh_sequence_kernel_s(&k->c, &kernel);
}

static RhStageMemory states(const TrainKit *k, const RhLayout *l, int32_t stage)
{
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k->c, l);
    return rh_stage_memory(model_cost, l, stage);
}

/* A step of one stage is longer by the kernel and the sum, in the graph as well. */
static void a_step_is_longer_by_reading_and_summing(void)
{
    static const struct {
        const char *platform, *layout;
        double share;
    } rows[] = {{"dgx-h100:2", "tp8,dp2,zero0", 1},
                {"dgx-h100:2", "tp4,dp4,zero1", 4},
                {"h100-sxm:1x8,ib:200Gb/s", "dp8,zero3", 8},
                {"h100-sxm:4x4,nvlink:100GB/s,ib:400Gb/s,nics:1", "tp2,cp2,dp4,zero2", 8}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", rows[i].platform, "bare", 32, 512);
        train_kit_runs_all(&k);
        RhLayout l = train_layout(&k, rows[i].layout);
        RhStageMemory held = states(&k, &l, 0);
        double gradients = rh_param_counts_sum(&held.params) / rows[i].share;
        double before = train_step_s(&k.c, &l, false), segment = train_segment_s(&k.c, &l);
        clip(&k, true);
        double longer = train_step_s(&k.c, &l, false) - before;
        RH_CHECK_CLOSE(longer, read_s(&k, gradients) + sum_s(&k, &l), 1e-6);
        RH_CHECK_CLOSE(train_segment_s(&k.c, &l) - segment, longer, 1e-6);
    }
}

/* A barrier: the optimizer of the stage that has most begins behind the last gradients of the stage
 * that is latest. */
static void the_slowest_optimizer_begins_behind_the_latest_gradients(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:1x2,ib:200Gb/s", "bare", 8, 512);
    train_kit_runs_all(&k);
    k.model->tied_embeddings = false;
    RhLayout l = train_layout(&k, "pp2,stages=15-1"); /* the first is the last to end */
    RhStageMemory first = states(&k, &l, 0);
    double before = train_step_s(&k.c, &l, false);
    clip(&k, true);
    RH_CHECK_CLOSE(train_step_s(&k.c, &l, false) - before,
                   read_s(&k, rh_param_counts_sum(&first.params)) + sum_s(&k, &l), 1e-6);
    /* The last stage has more to optimize, and its gradients are in first. */
    l = train_layout(&k, "pp2,stages=1-15");
    RhStageMemory last = states(&k, &l, 1);
    RhStates most = {.params = last.params};
    double end_s[2], optimizer_s[2], bound_s[2];
    for (int i = 0; i < 2; i++) {
        k.stack->optimizer_bytes.value = i == 0 ? 30 : 3000;
        RhKernel adam = rh_optimizer_kernel(&k.c, &l, &most);
        g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
        optimizer_s[i] = rh_sequence_kernel_s(&k.c, &adam);
        end_s[i] = train_step_s(&k.c, &l, false);
        bound_s[i] = rh_closed_form_s(cache, &l);
        CU_ASSERT_TRUE(rh_segment_graph_s(cache, &l) > 0.999 * end_s[i]);
    }
    RH_CHECK_CLOSE(end_s[1] - end_s[0], optimizer_s[1] - optimizer_s[0], 1e-6);
    RH_CHECK_CLOSE(bound_s[1] - bound_s[0], optimizer_s[1] - optimizer_s[0], 1e-6);
}

static void folded_agrees_with_unfolded(void)
{
    static const struct {
        const char *platform, *layout;
    } rows[] = {{"dgx-h100:4", "tp8,pp2,dp2,zero1"},
                {"h100-sxm:4x8,nvlink:200GB/s,ib:100Gb/s,nics:2,leaf:2,oversub:4",
                 "tp2,pp4,dp4,zero1,order=tp-pp-dp"},
                {"h100-sxm:6x4,nvlink:200GB/s,ib:100Gb/s", "tp4,pp3,dp2,zero0"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", rows[i].platform, "megatron", 24, 512);
        train_kit_runs_all(&k);
        RhLayout l = train_layout(&k, rows[i].layout);
        RH_CHECK_CLOSE(train_step_s(&k.c, &l, false), train_step_s(&k.c, &l, true), 1e-6);
    }
}

/* The norm over the whole job takes the same time in every layout: the bounds compute it once, and
 * rehearsals that are given their times do not compute it again. */
static void a_search_works_out_the_whole_jobs_norm_once(void)
{
    const char *layouts[] = {"tp8,pp2,dp2,zero1", "tp2,pp4,dp4,zero1", "tp1,pp1,dp32,zero2"};
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:4", "megatron", 64, 4096);
    train_kit_runs_all(&k);
    clip(&k, true);
    g_autoptr(RhBoundCache) s = rh_bound_new(&k.c);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        rh_closed_form_s(s, &l);
        CU_ASSERT_EQUAL(rh_uncontended_times_give(s->alone, 0, NULL), 1);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        g_autoptr(RhTraffic) shared =
            rh_traffic_new(p, k.platform, false, s->alone, rh_deadline_in(0), NULL);
        g_autoptr(RhTraffic) own =
            rh_traffic_new(p, k.platform, false, NULL, rh_deadline_in(0), NULL);
        CU_ASSERT_EQUAL(rh_uncontended_times_give(s->alone, 0, NULL), 1);
        for (guint at = 0; at < own->schedules->len; at++)
            CU_ASSERT_EQUAL(g_array_index(shared->schedules, RhTrafficSchedule, at).alone_s,
                            g_array_index(own->schedules, RhTrafficSchedule, at).alone_s);
    }
}

int main(void)
{
    return rh_test_main(
        "gradient_norm",
        (RhTest[]){
            {"every_rank_whose_gradients_differ_takes_part",
             every_rank_whose_gradients_differ_takes_part},
            {"one_replica_of_one_rank_has_nobody_to_ask",
             one_replica_of_one_rank_has_nobody_to_ask},
            {"ranks_with_other_experts_take_part", ranks_with_other_experts_take_part},
            {"a_step_is_longer_by_reading_and_summing", a_step_is_longer_by_reading_and_summing},
            {"the_slowest_optimizer_begins_behind_the_latest_gradients",
             the_slowest_optimizer_begins_behind_the_latest_gradients},
            {"folded_agrees_with_unfolded", folded_agrees_with_unfolded},
            {"a_search_works_out_the_whole_jobs_norm_once",
             a_search_works_out_the_whole_jobs_norm_once},
            {0}});
}
