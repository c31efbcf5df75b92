/* Steps of many micro-batches, told by rehearsals of few: beside the whole rehearsal. */
#include <math.h>

#include "sim/engine/workers/isolated_run.h"
#include "strategies/search/rehearsals/steady_state.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

typedef struct {
    const char *model, *platform, *stack, *layout;
    int64_t batch, sequence;
} Step;

static const Step steps[] = {
    {"llama-3.2-1b", "dgx-h100:1", "megatron", "tp2,pp4,mb1,zero1,schedule=1f1b", 96, 2048},
    {"llama-3.2-1b", "dgx-h100:1", "megatron", "tp1,pp4,mb1,vpp2,zero1,schedule=interleaved", 120,
     2048},
    {"llama-3.2-1b", "dgx-h100:2", "megatron", "tp2,pp4,mb1,vpp4,zero1,schedule=interleaved", 112,
     2048},
    {"llama-3.2-1b", "dgx-h100:2", "megatron", "tp1,pp1,mb1,zero3", 320, 2048},
    {"llama-3.2-1b", "dgx-h100:1", "bare", "tp1,pp4,mb1,zero1,schedule=zb-h1", 98, 2048},
    {"llama-3.2-1b", "dgx-h100:1", "bare", "tp1,pp4,mb1,vpp2,zero1,schedule=zb-v", 104, 2048},
    {"qwen3-30b-a3b", "dgx-h100:1", "bare",
     "tp1,pp4,ep2,vpp2,mb1,zero1,schedule=dualpipe-v,recompute=full", 160, 1024},
};

static void rehearse(const TrainKit *k, const RhRehearsalNote notes[3], RhRun *runs[3])
{
    GError *errors[3] = {NULL};
    RhEngineOptions options = {0};
    g_autoptr(RhUncontendedTimes) alone = rh_uncontended_times_new(k->platform);
    g_autoptr(RhFoldedTable) folded = rh_fold_cache_new();
    g_autoptr(RhIsolatedRuns) apart = rh_isolated_run_new(
        rh_rehearsal_build, sizeof *notes, k->platform, alone, folded, (void *)(uintptr_t)&k->c);
    rh_isolated_run_batch(apart, &(RhIsolatedBatch){.count = 3,
                                                    .jobs = 2,
                                                    .notes = notes,
                                                    .options = &options,
                                                    .out = runs,
                                                    .errors = errors});
    for (int i = 0; i < 3; i++)
        g_assert_no_error(errors[i]);
}

static const RhPerformer *first_performer(const RhRun *run)
{
    return &g_array_index(run->performers, RhPerformer, 0);
}

static void check_performer(const RhPerformer *told, const RhPerformer *whole, double step_s)
{
    double sum = 0;
    for (int wait = 0; wait < RH_WAIT_LAST; wait++) {
        sum += told->wait_s[wait];
        CU_ASSERT_DOUBLE_EQUAL(told->wait_s[wait], whole->wait_s[wait],
                               RH_STEADY_APART_FRAC * step_s);
    }
    RH_CHECK_CLOSE(sum, step_s, 1e-9);
    RH_CHECK_CLOSE(told->kernel_flops, whole->kernel_flops, 1e-9);
}

static void check_step(const Step *step)
{
    g_auto(TrainKit) k =
        train_kit(step->model, step->platform, step->stack, step->batch, step->sequence);
    RhLayout l = train_layout(&k, step->layout);
    RhSteadyStateParts parts;
    CU_ASSERT_TRUE_FATAL(rh_steady_state_parts(&k.c, &l, &parts));
    CU_ASSERT_TRUE(parts.whole >= 2 * (parts.first + parts.second));
    RhRehearsalNote notes[] = {{l, parts.first}, {l, parts.second}, {l, 0}};
    RhRun *runs[3];
    rehearse(&k, notes, runs);
    g_autoptr(RhRun) told = rh_steady_state_run(runs[0], runs[1], parts);
    RH_CHECK_CLOSE(told->step_time_s, runs[2]->step_time_s, RH_STEADY_APART_FRAC);
    RH_CHECK_CLOSE(told->bytes_total, runs[2]->bytes_total, 1e-9);
    CU_ASSERT_EQUAL_FATAL(told->performers->len, runs[2]->performers->len);
    check_performer(first_performer(told), first_performer(runs[2]), told->step_time_s);
    for (int i = 0; i < 3; i++)
        rh_run_free(runs[i]);
}

static void told_steps_are_as_long_as_whole_ones(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
        check_step(&steps[i]);
}

static void few_microbatches_are_rehearsed_whole(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 32, 2048);
    RhLayout l = train_layout(&k, "tp2,pp4,mb1,zero1");
    RhSteadyStateParts parts;
    CU_ASSERT_FALSE(rh_steady_state_parts(&k.c, &l, &parts));
}

int main(void)
{
    return rh_test_main(
        "steady_state",
        (RhTest[]){{"told_steps_are_as_long_as_whole_ones", told_steps_are_as_long_as_whole_ones},
                   {"few_microbatches_are_rehearsed_whole", few_microbatches_are_rehearsed_whole},
                   {0}});
}
