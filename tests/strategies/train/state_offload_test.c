/* Optimizer states in the host's memory: which bytes travel and are worked on, what a device and its host
 * hold, and what a step waits for. */
#include "strategies/train/program/stage_program.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* Bytes of a role's copies out and in, and of the host's own work. */
typedef struct {
    double out, in, work;
} Copied;

static Copied copied(const TrainKit *k, const char *layout)
{
    g_autoptr(RhProgram) p = train_build(k, layout);
    const RhRole *r = rh_program_role(p, 0);
    Copied sum = {0};
    for (int32_t i = r->tasks_first; i < r->tasks_first + r->tasks_count; i++) {
        const RhTask *task = rh_program_task(p, i);
        if (rh_task_is_host_work(task))
            sum.work += task->bytes;
        else if (task->kind == RH_TASK_COPY)
            *(task->to == RH_MEMORY_TIER_HOST ? &sum.out : &sum.in) += task->bytes;
    }
    return sum;
}

static double params_of(const TrainKit *k)
{
    return (double)rh_model_params(k->model);
}

/* Gradients in fp32 leave once, weights come back, and the host reads and writes what Adam does; beside
 * ZeRO-2 sums of earlier micro-batches travel both ways. */
static void what_travels_is_closed_form(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    double share = params_of(&k) / 8;
    Copied once = copied(&k, "dp8,zero2,mb4,states=host");
    RH_CHECK_CLOSE(once.out, 4 * share, 1e-9);
    RH_CHECK_CLOSE(once.in, 2 * share, 1e-9);
    RH_CHECK_CLOSE(once.work, 28 * share, 1e-9);
    Copied often = copied(&k, "dp8,zero2,mb1,states=host");
    RH_CHECK_CLOSE(often.out, (3 * 4 + 4) * share, 1e-9);
    RH_CHECK_CLOSE(often.in, (3 * 4 + 2) * share, 1e-9);
    RH_CHECK_CLOSE(often.work, once.work, 1e-12);
    Copied summed = copied(&k, "dp8,zero1,mb1,states=host,hosted=25");
    RH_CHECK_CLOSE(summed.out, 0.25 * 4 * share, 1e-9);
    RH_CHECK_CLOSE(summed.in, 0.25 * 2 * share, 1e-9);
    RH_CHECK_CLOSE(summed.work, 0.25 * 28 * share, 1e-9);
}

/* 16 bytes a parameter less on the device with ZeRO-2 but for buffers; 18 on the host, and as many more
 * as sums of micro-batches have. */
static void a_host_holds_what_a_device_does_not(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    RhLayout here = train_layout(&k, "dp8,zero2,mb4"),
             there = train_layout(&k, "dp8,zero2,mb4,states=host"),
             sums = train_layout(&k, "dp8,zero2,mb1,states=host"),
             half = train_layout(&k, "dp8,zero1,mb4,states=host,hosted=50");
    double share = params_of(&k) / 8;
    RhTrainMemory before = rh_train_memory(&k.c, &here), after = rh_train_memory(&k.c, &there);
    CU_ASSERT_EQUAL(before.host_bytes, 0);
    RH_CHECK_CLOSE(before.at_peak_bytes[RH_MEMORY_OPTIMIZER], 12 * share, 1e-9);
    CU_ASSERT_EQUAL(after.at_peak_bytes[RH_MEMORY_OPTIMIZER], 0);
    CU_ASSERT_EQUAL(after.at_peak_bytes[RH_MEMORY_GRADIENTS], 0);
    RH_CHECK_CLOSE(after.host_bytes, 8 * 18 * share, 1e-9);
    RH_CHECK_CLOSE(rh_train_memory(&k.c, &sums).host_bytes, 8 * 22 * share, 1e-9);
    RhTrainMemory part = rh_train_memory(&k.c, &half);
    RH_CHECK_CLOSE(part.at_peak_bytes[RH_MEMORY_OPTIMIZER], 6 * share, 1e-9);
    RH_CHECK_CLOSE(part.host_bytes, 8 * 9 * share, 1e-9);
}

/* All ranks of a node share its memory's rate: the step is longer by their bytes over it, and where that
 * is slow by little else. */
static void the_host_works_at_the_rate_that_its_gpus_share(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    RhLayout l = train_layout(&k, "dp8,zero1,mb4,states=host");
    k.platform->host_bytes_per_s.value = 1e15;
    double work = 28 * params_of(&k), rates[] = {1e10, 5e9}, seconds[2];
    for (int i = 0; i < 2; i++) {
        k.platform->host_memory_bytes_per_s.value = rates[i];
        seconds[i] = train_step_s(&k.c, &l, false);
    }
    RH_CHECK_CLOSE(seconds[1] - seconds[0], work / rates[1] - work / rates[0], 1e-3);
    RH_CHECK_CLOSE(train_step_s(&k.c, &l, true), seconds[1], 1e-9);
}

/* Without a norm to wait for the host updates layers while backward goes on. */
static void updates_begin_with_the_first_gradients(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    RhLayout early = train_layout(&k, "dp8,zero2,mb4,states=host"),
             late = train_layout(&k, "dp8,zero1,mb4,states=host");
    double work_s = 28 * params_of(&k) / k.platform->host_memory_bytes_per_s.value;
    CU_ASSERT_TRUE(train_step_s(&k.c, &early, false) <
                   train_step_s(&k.c, &late, false) - 0.5 * work_s);
}

/* Shares of weights come in ahead of forward and of backward, and do not go back. */
static void weights_come_in_for_each_pass(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    double share = params_of(&k) / 8;
    Copied states = copied(&k, "dp8,zero3,mb4,states=host"),
           both = copied(&k, "dp8,zero3,mb4,states=host,params=host");
    RH_CHECK_CLOSE(states.in, 2 * share, 1e-9);
    RH_CHECK_CLOSE(both.in, 2 * 2 * share, 1e-9); /* the tied matrix once a pass */
    RhLayout l = train_layout(&k, "dp8,zero3,mb4,states=host,params=host"),
             on_drives = train_layout(&k, "dp8,zero3,mb4,states=nvme,params=nvme");
    RhTrainMemory host = rh_train_memory(&k.c, &l), drives = rh_train_memory(&k.c, &on_drives);
    CU_ASSERT_EQUAL(host.at_peak_bytes[RH_MEMORY_WEIGHTS], 0);
    RH_CHECK_CLOSE(host.host_bytes, 8 * 18 * share, 1e-9);
    RH_CHECK_CLOSE(drives.nvme_bytes, 8 * 18 * share, 1e-9);
    CU_ASSERT_TRUE(drives.host_bytes > 0 && drives.host_bytes < 0.5 * host.host_bytes);
}

/* States on drives are read and written whole, gradients written and read. */
static void drives_are_crossed_twice(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    g_autoptr(RhProgram) p = train_build(&k, "dp8,zero3,mb4,states=nvme,params=nvme");
    const RhRole *r = rh_program_role(p, 0);
    double read = 0, written = 0, share = params_of(&k) / 8;
    for (int32_t i = r->tasks_first; i < r->tasks_first + r->tasks_count; i++) {
        const RhTask *t = rh_program_task(p, i);
        bool copies = t->kind == RH_TASK_COPY;
        read +=
            copies && t->from == RH_MEMORY_TIER_NVME && t->to == RH_MEMORY_TIER_HOST ? t->bytes : 0;
        written += copies && t->to == RH_MEMORY_TIER_NVME ? t->bytes : 0;
    }
    RH_CHECK_CLOSE(read, 16 * share, 1e-9);
    RH_CHECK_CLOSE(written, (4 + 12 + 2) * share, 1e-9);
}

/* Weights that come in slower than they are used are all that a step waits for. */
static void a_slow_link_is_the_step(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 8, 2048);
    RhLayout l = train_layout(&k, "dp8,zero3,mb1,states=host,params=host");
    k.platform->host_memory_bytes_per_s.value = 1e15;
    k.platform->host_bytes_per_s.value = 1e8;
    Copied bytes = copied(&k, "dp8,zero3,mb1,states=host,params=host");
    double step_s = train_step_s(&k.c, &l, false), bound_s = train_segment_s(&k.c, &l);
    CU_ASSERT_TRUE(step_s > bytes.in / 1e8 && step_s < 1.2 * (bytes.in + bytes.out) / 1e8);
    CU_ASSERT_TRUE(bound_s <= step_s * (1 + 1e-9) && bound_s > 0.8 * step_s);
}

/* A drive's or a CPU's rate that nobody gave is no rate. */
static void a_host_of_unknown_rate_is_refused(void)
{
    g_autoptr(GError) error = NULL;
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    RhLayout l = train_layout(&k, "dp8,zero2,mb4,states=host");
    k.platform->host_memory_bytes_per_s.value = 0;
    CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, &error));
    CU_ASSERT_TRUE(error && strstr(error->message, "host.memory_bandwidth") != NULL);
    g_clear_error(&error);
    g_auto(TrainKit) freeing = train_kit("llama-3.2-1b", "dgx-h100:1", "torchtitan", 32, 2048);
    CU_ASSERT_FALSE(rh_train_legal(&freeing.c, &l, &error));
    CU_ASSERT_TRUE(error && strstr(error->message, "states=host") != NULL);
}

/* Bounds stay below what is rehearsed, and near it where the host's work is long. */
static void bounds_count_the_hosts_work(void)
{
    static const char *const layouts[] = {"dp8,zero2,mb1,states=host",
                                          "dp8,zero1,mb4,states=host",
                                          "tp2,dp4,zero3,mb2,states=host",
                                          "pp2,dp4,zero1,mb1,states=host,hosted=50",
                                          "pp2,dp4,zero2,mb1,states=host",
                                          "dp8,zero3,mb1,states=host,params=host",
                                          "dp8,zero3,mb1,states=nvme,params=nvme"};
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        double step_s = train_step_s(&k.c, &l, false), bound_s = train_segment_s(&k.c, &l);
        CU_ASSERT_TRUE(bound_s <= step_s * (1 + 1e-9) && bound_s > 0.5 * step_s);
    }
}

/* A search among such layouts finds the quickest of them, without rehearsing all. */
static void a_search_finds_the_quickest(void)
{
    static const char *const fixed[] = {"states=host", "tp=1", "pp=1", "cp=1", "params=host"};
    g_auto(TrainKit) k = train_kit("gpt2", "dgx-a100:1", "megatron", 16, 1024);
    train_kit_runs_all(&k);
    for (int32_t count = 4; count <= 5; count++) {
        RhConstraint constraints[5];
        for (int32_t i = 0; i < count; i++)
            g_assert(rh_constraint_parse(fixed[i], false, &constraints[i], NULL));
        RhPlanOptions all = {.exhaustive = true,
                             .gap_frac = 0.002,
                             .constraints = constraints,
                             .constraints_count = count},
                      few = all;
        few.exhaustive = false;
        g_autoptr(RhPlan) whole = rh_plan(&k.c, &all, NULL), quick = rh_plan(&k.c, &few, NULL);
        CU_ASSERT_TRUE_FATAL(whole && quick && whole->entries->len > 0 && quick->entries->len > 0);
        const RhRehearsal *best = whole->entries->pdata[0], *found = quick->entries->pdata[0];
        RH_CHECK_CLOSE(found->step_time_s, best->step_time_s, 0.002);
        CU_ASSERT_EQUAL(found->layout.states, RH_PLACE_HOST);
        CU_ASSERT_EQUAL(found->layout.weights, count == 5);
        CU_ASSERT_TRUE(quick->proved && quick->rehearsed_count <= whole->rehearsed_count);
    }
}

int main(void)
{
    return rh_test_main(
        "state_offload",
        (RhTest[]){
            {"what_travels_is_closed_form", what_travels_is_closed_form},
            {"a_host_holds_what_a_device_does_not", a_host_holds_what_a_device_does_not},
            {"the_host_works_at_the_rate_that_its_gpus_share",
             the_host_works_at_the_rate_that_its_gpus_share},
            {"updates_begin_with_the_first_gradients", updates_begin_with_the_first_gradients},
            {"weights_come_in_for_each_pass", weights_come_in_for_each_pass},
            {"drives_are_crossed_twice", drives_are_crossed_twice},
            {"a_slow_link_is_the_step", a_slow_link_is_the_step},
            {"a_search_finds_the_quickest", a_search_finds_the_quickest},
            {"a_host_of_unknown_rate_is_refused", a_host_of_unknown_rate_is_refused},
            {"bounds_count_the_hosts_work", bounds_count_the_hosts_work},
            {0}});
}
