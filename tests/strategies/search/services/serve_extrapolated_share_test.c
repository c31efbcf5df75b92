/* Warnings about kernels of services outside of the measured range, and none for usual services. */
#include "strategies/search/services/serve_extrapolated_share.h"

#include "tests/kit/serve_kit.h"

static RhServeExtrapolation beyond_of(Setting *s, int32_t prompt, int32_t answer)
{
    g_autoptr(RhRequests) requests = drawn(40, 1, prompt, answer);
    g_autoptr(RhServiceResult) r = serve(s, requests, &(RhClient){.at_once = 4});
    RhServiceMetrics o = rh_service_metrics(r, &(RhSlos){0});
    return rh_serve_extrapolation(&s->serving, &s->deployment, &o);
}

static void usual_services_lie_within(void)
{
    static const char *const deployments[] = {"server=vllm,tp2", "server=trtllm,tp2",
                                              "server=sglang,tp4", "server=vllm,tp2/tp2"};
    for (size_t i = 0; i < G_N_ELEMENTS(deployments); i++) {
        Setting s = setting_of("llama-3.1-70b", "dgx-h100:1", deployments[i]);
        RhServeExtrapolation b = beyond_of(&s, 2048, 256);
        for (int kind = 0; kind < RH_CALIBRATED_RANGE_LAST; kind++)
            CU_ASSERT_TRUE(b.kinds[kind].share_frac < 0.05);
        CU_ASSERT_EQUAL(b.untabled_frac, 0);
        close_setting(&s);
    }
}

/* vLLM's table of prompts on an H100 ends at 16,384 keys. */
static void long_prompts_leave_the_tables(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "server=vllm,tp1");
    RhServeExtrapolation usual = beyond_of(&s, 8192, 16), beyond = beyond_of(&s, 100000, 16);
    CU_ASSERT_EQUAL(usual.kinds[RH_CALIBRATED_RANGE_ATTENTION].share_frac, 0);
    double share = beyond.kinds[RH_CALIBRATED_RANGE_ATTENTION].share_frac;
    CU_ASSERT_TRUE(share > RH_EXTRAPOLATED_TOLD_FRAC && share < 1);
    CU_ASSERT_EQUAL(beyond.kinds[RH_CALIBRATED_RANGE_ATTENTION].shapes.high[0], 16384);
    CU_ASSERT_PTR_NOT_NULL(beyond.kinds[RH_CALIBRATED_RANGE_ATTENTION].shapes.source);
    close_setting(&s);
}

/* Experts without a measured table are reported: vLLM's table of an A100 has none. */
static void experts_without_a_table_are_told(void)
{
    static const struct {
        const RhRecipe *recipe;
        const char *platform, *device;
        bool tabled;
    } rows[] = {{&rh_recipe_mxfp4_experts, "dgx-b200:1", "b200-sxm", true},
                {&rh_recipe_nvfp4, "dgx-b200:1", "b200-sxm", true},
                {&rh_recipe_mxfp4_experts, "dgx-a100:1", "a100-sxm-80", false}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Setting s = setting_of("gpt-oss-120b", rows[i].platform, "server=vllm,tp2");
        s.serving.recipe = rows[i].recipe;
        RhServeExtrapolation b = beyond_of(&s, 1024, 256);
        CU_ASSERT_TRUE(rows[i].tabled ? b.untabled_frac == 0 : b.untabled_frac > 0.25);
        CU_ASSERT_STRING_EQUAL(b.device, rows[i].device);
        close_setting(&s);
    }
}

/* A service that answered nobody has no mean request to report. */
static void of_nobody_nothing_is_told(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "server=vllm,tp1");
    RhServeExtrapolation b =
        rh_serve_extrapolation(&s.serving, &s.deployment, &(RhServiceMetrics){0});
    CU_ASSERT_EQUAL(b.kinds[RH_CALIBRATED_RANGE_GEMM].share_frac, 0);
    CU_ASSERT_PTR_NULL(b.device);
    close_setting(&s);
}

int main(void)
{
    return rh_test_main(
        "serve_extrapolation",
        (RhTest[]){{"usual services lie within", usual_services_lie_within},
                   {"long prompts leave the tables", long_prompts_leave_the_tables},
                   {"experts without a table are told", experts_without_a_table_are_told},
                   {"of nobody nothing is told", of_nobody_nothing_is_told},
                   {0}});
}
