/* Advice where nothing fits. */
#include <math.h>

#include "strategies/search/memory_budget.h"
#include "strategies/search/memory_smallest.h"
#include "strategies/search/plan.h"
#include "tests/kit/train_kit.h"

/* A kit of one GPU whose memory is so large, and samples so long. */
static TrainKit kit_of(double hbm_gb, int64_t sequence)
{
    TrainKit k = train_kit("llama-3.2-1b", "h100-sxm:1x1", "megatron", 1, sequence);
    g_autofree char *text = g_strdup_printf("%.6fGB", hbm_gb);
    CU_ASSERT_TRUE_FATAL(rh_platform_set(k.platform, "device.hbm", text, NULL));
    return k;
}

static bool fits(double hbm_gb, int64_t sequence)
{
    g_auto(TrainKit) k = kit_of(hbm_gb, sequence);
    RhPlanOptions o = {.gap_frac = 0.002, .risk_frac = 1};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    return plan && plan->fit_count > 0;
}

/* Sequences are halved down to 128 tokens, which is advised where it alone fits. */
static void the_shortest_sequence_is_advised(void)
{
    double low_gb = 1, high_gb = 80;
    while (high_gb - low_gb > 1e-3) {
        double middle_gb = (low_gb + high_gb) / 2;
        *(fits(middle_gb, 128) ? &high_gb : &low_gb) = middle_gb;
    }
    CU_ASSERT_FALSE_FATAL(fits(high_gb, 192));
    g_auto(TrainKit) k = kit_of(high_gb, 256);
    RhPlanOptions o = {.gap_frac = 0.002, .risk_frac = 1};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    CU_ASSERT_EQUAL(plan->fit_count, 0);
    int64_t advised = 0;
    for (guint i = 0; i < plan->changes->len; i++) {
        const RhSmallestChange *change = plan->changes->pdata[i];
        if (change->kind == RH_CHANGE_SEQUENCE)
            advised = change->value;
    }
    CU_ASSERT_EQUAL(advised, 128);
}

/* A change's layout needs the memory that is said of it, and fewer GPUs need more than is safe. */
static void a_change_says_its_layout_and_the_nearest_miss(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:1", "megatron", 128, 4096);
    g_auto(TrainKit) three = train_kit("llama-3.1-70b", "dgx-h100:3", "megatron", 128, 4096);
    RhPlanOptions o = {.gap_frac = 0.002, .risk_frac = 0.05};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_TRUE_FATAL(plan && plan->changes->len > 1);
    const RhSmallestChange *states = plan->changes->pdata[0], *change = plan->changes->pdata[1];
    CU_ASSERT_EQUAL(states->kind, RH_CHANGE_STATES);
    CU_ASSERT_EQUAL(states->value, 0); /* weights fit on the devices */
    CU_ASSERT_EQUAL(states->layout.states, RH_PLACE_HOST);
    CU_ASSERT_TRUE(rh_train_memory(&k.c, &states->layout).host_bytes <=
                   k.platform->host_bytes.value);
    CU_ASSERT_EQUAL(change->kind, RH_CHANGE_GPUS);
    CU_ASSERT_EQUAL_FATAL(change->value, 24);
    RhTrainMemory m = rh_train_memory(&three.c, &change->layout);
    CU_ASSERT_DOUBLE_EQUAL(m.peak_bytes, change->peak_bytes, 1);
    CU_ASSERT_EQUAL(change->short_value, 16);
    CU_ASSERT_TRUE(change->short_bytes > rh_memory_budget(&k.c, NULL, 0, o.risk_frac).ranked_bytes);
}

static double least_peak(const RhProblem *c, const RhPlanOptions *o)
{
    return rh_memory_smallest(c, o, rh_deadline_in(0), (double)INFINITY).peak_bytes;
}

/* Gradients in 16 bits are advised where they alone make something fit, and not where they are so already. */
static void gradients_of_16_bits_are_advised(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:1x1", "megatron", 1, 128);
    RhPlanOptions o = {.gap_frac = 0.002, .risk_frac = 1};
    double wide = least_peak(&k.c, &o);
    k.c.job.gradient_bytes = 2;
    double narrow = least_peak(&k.c, &o);
    CU_ASSERT_TRUE_FATAL(narrow < wide);
    g_autofree char *limit = g_strdup_printf("memory<=%.6fGB", (wide + narrow) / 2e9);
    RhConstraint most;
    CU_ASSERT_TRUE_FATAL(rh_constraint_parse(limit, true, &most, NULL));
    o.constraints = &most;
    o.constraints_count = 1;
    for (int32_t bytes = 4; bytes >= 2; bytes -= 2) {
        k.c.job.gradient_bytes = bytes;
        if (bytes == 2) /* nothing fits then, either */
            CU_ASSERT_TRUE_FATAL(rh_constraint_parse("memory<=1GB", true, &most, NULL));
        g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
        CU_ASSERT_EQUAL(plan->fit_count, 0);
        double advised = 0;
        for (guint i = 0; i < plan->changes->len; i++) {
            const RhSmallestChange *change = plan->changes->pdata[i];
            if (change->kind == RH_CHANGE_GRADIENTS)
                advised = change->peak_bytes;
        }
        CU_ASSERT_DOUBLE_EQUAL(advised, bytes == 4 ? narrow : 0, 1);
    }
}

/* States on hosts are advised where these have room for them, and nothing was said of them. */
static void states_on_hosts_are_advised_where_they_fit(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:1", "megatron", 128, 4096);
    RhPlanOptions o = {.gap_frac = 0.002, .risk_frac = 0.05};
    k.platform->host_bytes.value = 1e11;
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    for (guint i = 0; plan && i < plan->changes->len; i++)
        CU_ASSERT_NOT_EQUAL(((const RhSmallestChange *)plan->changes->pdata[i])->kind,
                            RH_CHANGE_STATES);
    CU_ASSERT_PTR_NOT_NULL(plan);
}

/* Mixed precision by Micikevicius et al. (2018) with fp32 gradients, as ZeRO counts it: 2 bytes of
 * weights, 4 of gradients, 12 of master weights and two moments per parameter.
 * Source: Rajbhandari et al., ZeRO, 2020, section 3.1 (with gradients of 2 bytes: 16 in all) */
static void states_are_counted_by_parameter(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:1", "megatron", 128, 4096);
    RhTrainingStates states = rh_training_states(&k.c);
    double params = (double)rh_model_params(k.c.model);
    CU_ASSERT_EQUAL(states.weights, 2 * params);
    CU_ASSERT_EQUAL(states.gradients, 4 * params);
    CU_ASSERT_EQUAL(states.optimizer, 12 * params);
}

int main(void)
{
    return rh_test_main(
        "suggest",
        (RhTest[]){{"the_shortest_sequence_is_advised", the_shortest_sequence_is_advised},
                   {"a_change_says_its_layout_and_the_nearest_miss",
                    a_change_says_its_layout_and_the_nearest_miss},
                   {"gradients_of_16_bits_are_advised", gradients_of_16_bits_are_advised},
                   {"states_on_hosts_are_advised_where_they_fit",
                    states_on_hosts_are_advised_where_they_fit},
                   {"states_are_counted_by_parameter", states_are_counted_by_parameter},
                   {0}});
}
