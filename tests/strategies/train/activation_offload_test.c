/* Activations in the host's memory: how many bytes go there and back, what that lets a device do, and what
 * a step waits for. */
#include <math.h>

#include "sim/engine/workers/isolated_run.h"
#include "strategies/search/bounds/bound_cache.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* Counts what one rank copies to the host in a step, and back. */
static void count_copies(const RhProgram *p, int32_t role, double bytes[2])
{
    const RhRole *r = rh_program_role(p, role);
    bytes[0] = bytes[1] = 0;
    for (int32_t i = r->tasks_first; i < r->tasks_first + r->tasks_count; i++) {
        const RhTask *task = rh_program_task(p, i);
        if (task->kind == RH_TASK_COPY)
            bytes[task->from == RH_MEMORY_TIER_HOST] += task->bytes;
    }
}

/* Returns the kept bytes of an uncut llama layer with fused kernels, by the formula of
 * docs/theory/workload.md: n h (12 + 4 g/a + 6 f/h) + 4 n a. */
static double layer_kept(const TrainKit *k, double tokens)
{
    const RhLayerKind *kind = &k->model->kinds[0];
    double h = (double)k->model->hidden, a = kind->heads, g = kind->kv_heads, f = kind->ffn_width;
    return tokens * h * (12 + 4 * g / a + 6 * f / h) + 4 * tokens * a;
}

static void all_layers_but_the_last_travel_once_each_way(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    double layer = layer_kept(&k, 2048), bytes[2];
    int32_t layers = k.model->layers_count;
    g_autoptr(RhProgram) all = train_build(&k, "dp8,zero1,activations=100");
    count_copies(all, 0, bytes);
    RH_CHECK_CLOSE(bytes[0], 4 * (layers - 1) * layer, 1e-12);
    RH_CHECK_CLOSE(bytes[1], bytes[0], 1e-12);
    g_autoptr(RhProgram) some = train_build(&k, "pp2,dp4,zero1,activations=30");
    count_copies(some, 0, bytes); /* no head behind them: all of them */
    RH_CHECK_CLOSE(bytes[0], 8 * 0.3 * (layers / 2) * layer, 1e-12);
    count_copies(some, 1, bytes);
    RH_CHECK_CLOSE(bytes[0], 8 * 0.3 * (layers / 2 - 1) * layer, 1e-12);
}

/* A device holds three layers of offloaded activations: one on its way out, one on its way in, and
 * one at work. */
static void a_device_holds_three_layers_of_what_travels(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    RhLayout without = train_layout(&k, "dp8,zero1"),
             with = train_layout(&k, "dp8,zero1,activations=100");
    RhTrainMemory before = rh_train_memory(&k.c, &without), after = rh_train_memory(&k.c, &with);
    double layer = layer_kept(&k, 2048);
    int32_t layers = k.model->layers_count;
    RH_CHECK_CLOSE(before.at_peak_bytes[RH_MEMORY_ACTIVATIONS] -
                       after.at_peak_bytes[RH_MEMORY_ACTIVATIONS],
                   (layers - 1) * layer, 1e-12);
    RH_CHECK_CLOSE(after.at_peak_bytes[RH_MEMORY_COMMUNICATION] -
                       before.at_peak_bytes[RH_MEMORY_COMMUNICATION],
                   2 * layer, 1e-9);
    RH_CHECK_CLOSE(after.tier_peak_bytes[RH_MEMORY_TIER_HOST], (layers - 1) * layer, 1e-12);
    RH_CHECK_CLOSE(after.host_bytes, 8 * (layers - 1) * layer, 1e-12);
    CU_ASSERT_EQUAL(before.host_bytes, 0);
}

/* A node that two stages share holds what ranks of both send there: the first has two micro-batches in
 * flight, the second one and a layer that stays. */
static void a_host_holds_what_all_its_ranks_send(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    RhLayout l = train_layout(&k, "pp2,dp4,zero1,activations=100");
    double layer = layer_kept(&k, 2048), half = k.model->layers_count / 2;
    RhTrainMemory m = rh_train_memory(&k.c, &l);
    RH_CHECK_CLOSE(m.host_bytes, 4 * (2 * half + half - 1) * layer, 1e-12);
    g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
    RhTrainMemory within;
    CU_ASSERT_TRUE(rh_bound_memory_within(cache, &l, 1e15, &within));
    CU_ASSERT_EQUAL(within.host_bytes, m.host_bytes);
    k.platform->host_bytes.value = m.host_bytes * (1 - 1e-9);
    CU_ASSERT_FALSE(rh_bound_memory_within(cache, &l, 1e15, &within));
    k.platform->host_bytes.value = 0; /* nobody said */
    CU_ASSERT_TRUE(rh_bound_memory_within(cache, &l, 1e15, &within));
}

static double step_s(const TrainKit *k, const char *layout, double *copies_s)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhProgram) p = train_build(k, layout);
    g_autoptr(RhRun) run = rh_rehearse_isolated(p, k->platform, &(RhEngineOptions){0}, &error);
    g_assert_no_error(error);
    *copies_s = g_array_index(run->performers, RhPerformer, 0).wait_s[RH_WAIT_COPY];
    return run->step_time_s;
}

/* Hidden where the link is quick; where it is slow the step is its bytes and little else. */
static void a_slow_link_is_borne_and_a_quick_one_is_not(void)
{
    static const char layout[] = "dp8,zero1,activations=100";
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    double bytes[2], waits_s, plain_s = step_s(&k, "dp8,zero1", &waits_s);
    g_autoptr(RhProgram) p = train_build(&k, layout);
    count_copies(p, 0, bytes);
    CU_ASSERT_EQUAL(waits_s, 0);
    k.platform->host_bytes_per_s.value = 1e15;
    RH_CHECK_CLOSE(step_s(&k, layout, &waits_s), plain_s, 1e-3);
    k.platform->host_bytes_per_s.value = 1e9;
    double slow_s = step_s(&k, layout, &waits_s), copies_s = (bytes[0] + bytes[1]) / 1e9;
    /* with one stage a micro-batch goes out in its forward and comes back in its backward */
    CU_ASSERT_TRUE(slow_s > 0.97 * copies_s && slow_s < copies_s + plain_s);
    RH_CHECK_CLOSE(slow_s - waits_s, plain_s, 0.05);
}

/* Links that GPUs share are slower for each. */
static void gpus_below_one_switch_share_their_link(void)
{
    static const char layout[] = "dp8,zero1,activations=100";
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    double waits_s, shared_s;
    k.platform->host_bytes_per_s.value = 4e9;
    step_s(&k, layout, &waits_s);
    k.platform->host_gpus_per_link.value = 2;
    step_s(&k, layout, &shared_s);
    CU_ASSERT_TRUE(shared_s > 1.9 * waits_s);
}

int main(void)
{
    return rh_test_main(
        "activation_offload",
        (RhTest[]){
            {"all_layers_but_the_last_travel_once_each_way",
             all_layers_but_the_last_travel_once_each_way},
            {"a_device_holds_three_layers_of_what_travels",
             a_device_holds_three_layers_of_what_travels},
            {"a_host_holds_what_all_its_ranks_send", a_host_holds_what_all_its_ranks_send},
            {"a_slow_link_is_borne_and_a_quick_one_is_not",
             a_slow_link_is_borne_and_a_quick_one_is_not},
            {"gpus_below_one_switch_share_their_link", gpus_below_one_switch_share_their_link},
            {0}});
}
