/* Advice where nothing fits. */
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

int main(void)
{
    return rh_test_main(
        "suggest",
        (RhTest[]){{"the_shortest_sequence_is_advised", the_shortest_sequence_is_advised}, {0}});
}
