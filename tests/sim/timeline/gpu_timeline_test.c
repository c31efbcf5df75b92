/* sim/timeline/gpu_timeline.h: passes cover the step, their waits are the rehearsal's, and the chain ends it. */
#include "sim/timeline/gpu_timeline.h"

#include <math.h>
#include <string.h>

#include "sim/memory_ledger.h"
#include "sim/timeline/memory_timeline.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

typedef struct {
    TrainKit k;
    RhProgram *program;
    RhRun *run;
    RhRehearsal *r;
    RhTaskIntervals *spans;
    RhGpuTimeline *timeline;
} Fixture;

static Fixture fixture_of(const char *stack, const char *layout_text, int32_t batch, int32_t steps)
{
    Fixture f = {.k = train_kit("llama-3.2-1b", "h100-sxm:4x2", stack, batch, 1024)};
    RhLayout layout = train_layout(&f.k, layout_text);
    RhEngineOptions options = {.timeline = true, .steps = steps};
    GError *error = NULL;
    f.r = rh_rehearse(&f.k.c, &layout, &options, &f.program, &f.run, &error);
    g_assert_no_error(error);
    f.spans = rh_task_intervals_new(f.program, f.run);
    f.timeline = rh_gpu_timeline_new(f.spans);
    return f;
}

static Fixture fixture(const char *layout_text, int32_t batch)
{
    return fixture_of("megatron", layout_text, batch, 1);
}

static void clear(Fixture *f)
{
    rh_gpu_timeline_free(f->timeline);
    rh_task_intervals_free(f->spans);
    rh_run_free(f->run);
    rh_rehearsal_free(f->r);
    rh_program_free(f->program);
    train_kit_clear(&f->k);
}

static const char *const layouts[] = {
    "tp1,pp4,dp2,mb1,recompute=none", "tp2,pp2,dp2,mb1,recompute=full", "tp4,pp2,dp1,mb1,sp=on",
    "tp1,pp1,dp8,mb1,zero=3", "tp2,pp4,mb1,vpp2,schedule=interleaved,sp=on"};

static void passes_cover_the_step(void)
{
    for (size_t k = 0; k < G_N_ELEMENTS(layouts); k++) {
        Fixture f = fixture(layouts[k], 16);
        CU_ASSERT_EQUAL(f.timeline->passes->len, f.run->performers->len);
        for (guint i = 0; i < f.timeline->passes->len; i++) {
            const GArray *passes = g_ptr_array_index(f.timeline->passes, i);
            double t_s = 0;
            for (guint n = 0; n < passes->len; n++) {
                const RhGpuSegment *pass = &g_array_index(passes, RhGpuSegment, n);
                CU_ASSERT_DOUBLE_EQUAL(pass->t_start_s, t_s, 1e-9);
                CU_ASSERT_TRUE(pass->t_end_s >= pass->t_start_s);
                t_s = pass->t_end_s;
            }
            CU_ASSERT_DOUBLE_EQUAL(t_s, f.run->step_time_s, 1e-6 * t_s);
        }
        clear(&f);
    }
}

/* Two ways to the same figures: the engine's books, and the timeline read afterwards. */
static void waits_are_those_of_the_rehearsal(void)
{
    for (size_t k = 0; k < G_N_ELEMENTS(layouts); k++) {
        Fixture f = fixture(layouts[k], 16);
        for (guint i = 0; i < f.timeline->passes->len; i++) {
            const GArray *passes = g_ptr_array_index(f.timeline->passes, i);
            const RhPerformer *performer = &g_array_index(f.run->performers, RhPerformer, i);
            double wait_s[RH_WAIT_LAST] = {0};
            for (guint n = 0; n < passes->len; n++) {
                const RhGpuSegment *pass = &g_array_index(passes, RhGpuSegment, n);
                if (pass->kind == RH_SEGMENT_IDLE)
                    wait_s[pass->wait] += pass->t_end_s - pass->t_start_s;
                for (int w = 0; w < RH_WAIT_LAST; w++)
                    wait_s[w] += pass->wait_s[w];
            }
            for (int w = RH_WAIT_STRETCH + 1; w < RH_WAIT_LAST; w++)
                CU_ASSERT_DOUBLE_EQUAL(wait_s[w], performer->wait_s[w], 1e-6 * f.run->step_time_s);
        }
        clear(&f);
    }
}

static int passes_counted(const Fixture *f, guint performer, RhGpuSegmentKind kind)
{
    const GArray *passes = g_ptr_array_index(f->timeline->passes, performer);
    int count = 0;
    for (guint n = 0; n < passes->len; n++)
        count += g_array_index(passes, RhGpuSegment, n).kind == kind;
    return count;
}

static void every_micro_batch_passes_twice(void)
{
    Fixture f = fixture("tp1,pp4,dp2,mb1,recompute=none", 16);
    for (guint i = 0; i < f.timeline->passes->len; i++) {
        CU_ASSERT_EQUAL(passes_counted(&f, i, RH_SEGMENT_FORWARD), 8);
        CU_ASSERT_EQUAL(passes_counted(&f, i, RH_SEGMENT_BACKWARD), 8);
    }
    clear(&f);
}

/* Recomputation repeats the forward pass of every layer, except for the embedding, the head and
 * what the stack does beside; nothing that is kept is computed again. */
static void recomputation_is_told_apart(void)
{
    static const char *const pairs[] = {"tp2,pp2,dp2,mb1,recompute=full",
                                        "tp2,pp2,dp2,mb1,recompute=none"};
    for (size_t k = 0; k < G_N_ELEMENTS(pairs); k++) {
        Fixture f = fixture(pairs[k], 16);
        const GArray *passes = g_ptr_array_index(f.timeline->passes, 0);
        double forward_s = 0, recompute_s = 0, backward_s = 0;
        for (guint n = 0; n < passes->len; n++) {
            const RhGpuSegment *pass = &g_array_index(passes, RhGpuSegment, n);
            double kernels_s = pass->t_end_s - pass->t_start_s;
            for (int w = 0; w < RH_WAIT_LAST; w++)
                kernels_s -= pass->wait_s[w];
            forward_s += pass->kind == RH_SEGMENT_FORWARD ? kernels_s : 0;
            backward_s += pass->kind == RH_SEGMENT_BACKWARD ? kernels_s - pass->recompute_s : 0;
            recompute_s += pass->recompute_s;
            CU_ASSERT_TRUE(pass->kind == RH_SEGMENT_BACKWARD || pass->recompute_s == 0);
        }
        CU_ASSERT_TRUE(backward_s > 1.5 * forward_s);
        if (k == 0)
            CU_ASSERT_DOUBLE_EQUAL(recompute_s / forward_s, 1, 0.1);
        if (k == 1)
            CU_ASSERT_EQUAL(recompute_s, 0);
        clear(&f);
    }
}

/* The critical chain covers the step without a gap: each task starts when its cause ends. */
static void the_chain_has_no_hole(void)
{
    for (size_t k = 0; k < G_N_ELEMENTS(layouts); k++) {
        Fixture f = fixture(layouts[k], 16);
        double t_s = 0, kernels_s = 0;
        for (guint i = 0; i < f.timeline->chain->len; i++) {
            const RhCriticalStep *link = &g_array_index(f.timeline->chain, RhCriticalStep, i);
            CU_ASSERT_DOUBLE_EQUAL(link->t_start_s, t_s, 1e-6 * f.run->step_time_s);
            kernels_s += link->wait == RH_WAIT_COMPUTE ? link->t_end_s - link->t_start_s : 0;
            t_s = link->t_end_s;
        }
        CU_ASSERT_DOUBLE_EQUAL(t_s, f.run->step_time_s, 1e-6 * t_s);
        CU_ASSERT_TRUE(kernels_s > 0);
        clear(&f);
    }
}

static double late_s(const Fixture *f, int32_t rank)
{
    double sum_s = 0;
    for (guint i = 0; i < f->timeline->passes->len; i++) {
        const GArray *model_cost = g_ptr_array_index(f->timeline->passes, i);
        if (g_array_index(f->run->performers, RhPerformer, i).rank != rank)
            continue;
        for (guint n = 0; n < model_cost->len; n++) {
            const RhGpuSegment *segment = &g_array_index(model_cost, RhGpuSegment, n);
            sum_s += segment->late_s + (segment->late ? segment->t_end_s - segment->t_start_s : 0);
        }
    }
    return sum_s;
}

/* One of four tensor ranks works at half the pace: the others wait for it about half of the step,
 * and it for nobody. */
static void who_is_late_is_told(void)
{
    Fixture f = {.k = train_kit("llama-3.2-1b", "h100-sxm:4x1", "megatron", 4, 1024)};
    GError *error = NULL;
    CU_ASSERT_TRUE_FATAL(rh_platform_set(f.k.platform, "gpu.2.speed", "0.5", &error));
    g_assert_no_error(error);
    RhLayout layout = train_layout(&f.k, "tp4,mb1,recompute=none");
    RhEngineOptions options = {.timeline = true};
    f.r = rh_rehearse(&f.k.c, &layout, &options, &f.program, &f.run, &error);
    g_assert_no_error(error);
    f.spans = rh_task_intervals_new(f.program, f.run);
    f.timeline = rh_gpu_timeline_new(f.spans);
    CU_ASSERT_DOUBLE_EQUAL(late_s(&f, 2), 0, 1e-9);
    CU_ASSERT_TRUE(late_s(&f, 0) > 0.25 * f.run->step_time_s);
    CU_ASSERT_TRUE(late_s(&f, 0) < 0.5 * f.run->step_time_s);
    clear(&f);
    Fixture even = fixture("tp4,pp2,dp1,mb1,sp=on", 16);
    CU_ASSERT_DOUBLE_EQUAL(late_s(&even, 0), 0, 1e-6 * even.run->step_time_s);
    clear(&even);
}

/* Message by message a receiver stands there long before: that is the pipeline's, not the network's. */
static void a_receiver_that_waits_is_no_transfer(void)
{
    Fixture f = {.k = train_kit("llama-3.2-1b", "lab-star", "lab", 8, 128)};
    RhLayout layout = train_layout(&f.k, "tp1,pp4,mb1,recompute=none");
    RhEngineOptions options = {.timeline = true};
    double transfer_s = 0, bubble_s = 0;
    f.r = rh_rehearse(&f.k.c, &layout, &options, &f.program, &f.run, NULL);
    g_assert_nonnull(f.r);
    f.spans = rh_task_intervals_new(f.program, f.run);
    f.timeline = rh_gpu_timeline_new(f.spans);
    for (guint i = 0; i < f.timeline->chain->len; i++) {
        const RhCriticalStep *link = &g_array_index(f.timeline->chain, RhCriticalStep, i);
        transfer_s += link->wait == RH_WAIT_PIPELINE_TRANSFER ? link->t_end_s - link->t_start_s : 0;
    }
    for (guint i = 0; i < f.run->performers->len; i++) {
        const RhPerformer *performer = &g_array_index(f.run->performers, RhPerformer, i);
        bubble_s = fmax(bubble_s, performer->wait_s[RH_WAIT_BUBBLE]);
    }
    CU_ASSERT_TRUE(bubble_s > 0.1 * f.run->step_time_s);
    CU_ASSERT_TRUE(transfer_s < bubble_s);
    clear(&f);
}

static void memory_over_time_peaks_where_the_ledger_does(void)
{
    Fixture f = fixture("tp2,pp2,dp2,mb1,recompute=full", 16);
    for (guint i = 0; i < f.run->performers->len; i++) {
        const RhPerformer *performer = &g_array_index(f.run->performers, RhPerformer, i);
        RhLedger ledger = rh_ledger_walk(f.program, performer->role, RH_MEMORY_TIER_HBM);
        g_autoptr(GArray) held = rh_memory_timeline_new(f.spans, (int32_t)i);
        double peak = 0;
        for (guint n = 0; n < held->len; n++)
            peak = fmax(peak, rh_memory_sample_bytes(&g_array_index(held, RhMemorySample, n)));
        CU_ASSERT_DOUBLE_EQUAL(peak / ledger.peak_bytes, 1, 1e-9);
    }
    clear(&f);
}

/* The second of two steps also begins without the gradients of the first. */
static void gradients_that_come_and_go_are_gone_behind_the_optimizer(void)
{
    for (int32_t steps = 1; steps <= 2; steps++) {
        Fixture f = fixture_of("llama3", "tp2,pp2,dp2,mb1,zero1", 16, steps);
        for (guint i = 0; i < f.run->performers->len; i++) {
            g_autoptr(GArray) held = rh_memory_timeline_new(f.spans, (int32_t)i);
            const RhMemorySample *begin = &g_array_index(held, RhMemorySample, 0),
                                 *end = &g_array_index(held, RhMemorySample, held->len - 1);
            double most = 0, least_later = (double)INFINITY;
            for (guint n = 0; n < held->len; n++) {
                const RhMemorySample *now = &g_array_index(held, RhMemorySample, n);
                most = fmax(most, now->bytes[RH_MEMORY_GRADIENTS]);
                if (now->t_s >= 0.99 * f.run->step_time_s)
                    least_later = fmin(least_later, now->bytes[RH_MEMORY_GRADIENTS]);
            }
            CU_ASSERT_EQUAL(begin->bytes[RH_MEMORY_GRADIENTS], 0);
            CU_ASSERT_TRUE(most > 1e9 && fabs(end->bytes[RH_MEMORY_GRADIENTS]) < 1);
            CU_ASSERT_TRUE(fabs(least_later) < 1);
        }
        clear(&f);
    }
}

int main(void)
{
    return rh_test_main(
        "gpu_timeline",
        (RhTest[]){{"passes_cover_the_step", passes_cover_the_step},
                   {"waits_are_those_of_the_rehearsal", waits_are_those_of_the_rehearsal},
                   {"every_micro_batch_passes_twice", every_micro_batch_passes_twice},
                   {"recomputation_is_told_apart", recomputation_is_told_apart},
                   {"the_chain_has_no_hole", the_chain_has_no_hole},
                   {"who_is_late_is_told", who_is_late_is_told},
                   {"a_receiver_that_waits_is_no_transfer", a_receiver_that_waits_is_no_transfer},
                   {"memory_over_time_peaks_where_the_ledger_does",
                    memory_over_time_peaks_where_the_ledger_does},
                   {"gradients_that_come_and_go_are_gone_behind_the_optimizer",
                    gradients_that_come_and_go_are_gone_behind_the_optimizer},
                   {0}});
}
