/* What serve-plan prints to start servers is read back as the deployment that it was printed for. */
#include <string.h>

#include "report/serve/serve.h"
#include "strategies/serve/launch/deployment_from_commands.h"
#include "tests/kit/testkit.h"

#define DRAWS 400

static int32_t draw(GRand *rand, const int32_t *values, int count)
{
    return values[g_rand_int_range(rand, 0, count)];
}

#define DRAW(rand, ...)                                                                            \
    draw(rand, (const int32_t[]){__VA_ARGS__},                                                     \
         (int)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))

/* A pool that the engine's flags can say. */
static RhPool draw_pool(GRand *rand, const char *server)
{
    RhDeployment d = rh_deployment_default();
    RhPool pool = d.pools[0];
    bool vllm = strcmp(server, "vllm") == 0, trtllm = strcmp(server, "trtllm") == 0;
    pool.dp = DRAW(rand, 1, 1, 2, 8);
    pool.tp = trtllm && pool.dp > 1 ? 1 : DRAW(rand, 1, 2, 4, 8);
    pool.pp = DRAW(rand, 1, 1, 2);
    pool.ep = g_rand_boolean(rand) ? pool.tp * pool.dp : 1;
    pool.batch = DRAW(rand, 0, 16, 64, 200);
    pool.chunk = DRAW(rand, 0, 512, 2048, 8192);
    pool.memory = DRAW(rand, 0, 5, 85, 90, 95);
    pool.max_model_len = DRAW(rand, 0, 4096, 131072);
    if (trtllm)
        return pool;
    pool.cache = DRAW(rand, RH_CACHE_AUTO, RH_CACHE_FP8);
    pool.prefix = vllm ? DRAW(rand, RH_PREFIX_AUTO, RH_PREFIX_ON, RH_PREFIX_OFF)
                       : DRAW(rand, RH_PREFIX_AUTO, RH_PREFIX_OFF);
    pool.blocks = DRAW(rand, 0, 4096);
    if (!vllm)
        pool.order = DRAW(rand, RH_WAITING_FCFS, RH_WAITING_LPM);
    return pool;
}

static void what_is_printed_is_read_back(void)
{
    static const char *const servers[] = {"vllm", "sglang", "trtllm"};
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    for (int i = 0; i < DRAWS; i++) {
        RhDeployment d = rh_deployment_default();
        d.server = servers[i % 3];
        d.pools_count = 1 + (i % 4 == 0);
        for (int p = 0; p < d.pools_count; p++)
            d.pools[p] = draw_pool(rand, d.server);
        const char *recipe = i % 5 == 0 && i % 3 != 2 ? "fp8" : "bf16";
        g_autofree char *text =
            rh_report_serve_launch(&d, &(RhLaunchedModel){"meta-llama/Llama-3.1-8B", recipe});
        GError *error = NULL;
        g_autoptr(RhLaunchedDeployment) back = rh_launched_deployment_parse("x.sh", text, &error);
        g_assert_no_error(error);
        g_autofree char *asked = rh_deployment_format(&d),
                        *read = rh_deployment_format(&back->deployment);
        if (strcmp(asked, read) != 0)
            printf("\n%s\n%s\n%s\n", asked, read, text);
        CU_ASSERT_STRING_EQUAL(read, asked);
        CU_ASSERT_STRING_EQUAL(back->model, "meta-llama/Llama-3.1-8B");
        CU_ASSERT_EQUAL(g_strcmp0(back->recipe, "fp8") == 0, strcmp(recipe, "fp8") == 0);
        for (guint k = 0; k < back->notes->len; k++)
            CU_ASSERT_PTR_NULL(strstr(back->notes->pdata[k], "unknown"));
    }
}

int main(void)
{
    return rh_test_main(
        "launch_round_trip",
        (RhTest[]){{"what_is_printed_is_read_back", what_is_printed_is_read_back}, {0}});
}
