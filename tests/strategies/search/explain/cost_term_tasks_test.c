/* Kernels behind a term of the cost tree: each once, with how often it runs and its time in all. */
#include "strategies/search/explain/cost_term_tasks.h"
#include "tests/kit/train_kit.h"

static void kernels_are_counted_and_summed(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 16, 2048);
    g_autoptr(RhProgram) p = train_build(&k, "tp2,pp2,dp2,mb1");
    const RhRole *role = rh_program_role(p, 0);
    RhTermTasks forward = {RH_WAIT_LAST, RH_PHASE_FORWARD};
    int64_t count = 0, listed = 0;
    double sum_s = 0, listed_s = 0, last_s = (double)INFINITY;
    for (int32_t i = 0; i < role->tasks_count; i++) {
        const RhTask *t = rh_program_task(p, role->tasks_first + i);
        if (t->kind != RH_TASK_KERNEL || t->phase != RH_PHASE_FORWARD)
            continue;
        const RhBundle *b = &g_array_index(p->bundles, RhBundle, t->bundle);
        for (int32_t j = b->first; j < b->first + b->count; j++, count++)
            sum_s +=
                rh_kernel_time_s(k.c.platform->device, &g_array_index(p->kernels, RhKernel, j));
    }
    g_autoptr(GArray) kernels = rh_term_kernels(p, k.c.platform->device, role, forward);
    for (guint i = 0; i < kernels->len; i++) {
        const RhTermKernel *entry = &g_array_index(kernels, RhTermKernel, i);
        double each_s = rh_kernel_time_s(k.c.platform->device, &entry->kernel);
        RH_CHECK_CLOSE(entry->sum_s, (double)entry->count * each_s, 1e-9);
        CU_ASSERT_TRUE(entry->sum_s <= last_s);
        last_s = entry->sum_s;
        listed += entry->count;
        listed_s += entry->sum_s;
    }
    CU_ASSERT_TRUE(count > 100 && kernels->len > 5);
    CU_ASSERT_EQUAL(listed, count);
    RH_CHECK_CLOSE(listed_s, sum_s, 1e-9);
}

int main(void)
{
    return rh_test_main(
        "term_tasks",
        (RhTest[]){{"kernels_are_counted_and_summed", kernels_are_counted_and_summed}, {0}});
}
