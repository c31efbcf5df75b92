/* A shared expert in the experts' grouped products: the same work in fewer kernels, where experts are cut. */
#include <math.h>

#include "strategies/serve/server_software.h"
#include "tests/kit/serve_kit.h"
#include "tests/kit/shard_kit.h"
#include "workloads/operator_costs.h"

#define TOKENS 64

typedef struct {
    guint kernels;
    double flops, bytes;
} Work;

static Work work_of(const char *name, int32_t tp, int32_t ep, bool inside)
{
    g_autoptr(RhModel) model = rh_model_load(name, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(model);
    RhShard shard = shard_of(tp, TOKENS, 1);
    shard.ep = ep;
    shard.etp = ep > 1 ? 1 : 0;
    shard.shared_inside = inside;
    g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel)),
                      exchanges = g_array_new(FALSE, FALSE, sizeof(RhExchange));
    rh_block_pass(model, rh_model_experts_kind(model), RH_BLOCK_FFN, RH_PART_TENSOR,
                  RH_PASS_PREFILL, &shard, (RhBlockList){kernels, exchanges});
    Work work = {.kernels = kernels->len};
    for (guint i = 0; i < kernels->len; i++) {
        work.flops += g_array_index(kernels, RhKernel, i).flops;
        work.bytes += g_array_index(kernels, RhKernel, i).bytes;
    }
    return work;
}

/* Two products and an activation less, and as many multiplications. */
static void it_is_the_same_work_in_fewer_kernels(void)
{
    for (int32_t tp = 1; tp <= 8; tp *= 8) {
        Work apart = work_of("deepseek-v3", tp, 1, false),
             inside = work_of("deepseek-v3", tp, 1, true);
        CU_ASSERT_TRUE(inside.kernels + 3 <= apart.kernels);
        RH_CHECK_CLOSE(inside.flops, apart.flops, 1e-6 * apart.flops);
        RH_CHECK_CLOSE(inside.bytes, apart.bytes, 0.01 * apart.bytes);
    }
}

static void check_same(const char *model, int32_t tp, int32_t ep)
{
    Work apart = work_of(model, tp, ep, false), inside = work_of(model, tp, ep, true);
    CU_ASSERT_EQUAL(inside.kernels, apart.kernels);
    CU_ASSERT_EQUAL(inside.flops, apart.flops);
    CU_ASSERT_EQUAL(inside.bytes, apart.bytes);
}

/* Experts that are spread, none that is shared, and one with a gate of its own. */
static void elsewhere_nothing_changes(void)
{
    check_same("deepseek-v3", 1, 8);
    check_same("qwen3-235b-a22b", 4, 1);
    check_same("qwen3.5-397b-a17b", 4, 1);
}

static double token_s(Setting *s, int32_t shared_inside)
{
    RhServer server = *s->serving.server;
    RhBatch batch = {.decodes = TOKENS, .contexts = TOKENS * 1000};
    server.shared_inside = shared_inside;
    s->serving.server = &server;
    s->serving.recipe = &rh_recipe_fp8_block;
    g_autoptr(RhIterations) it = rh_iterations_new(&s->serving, &s->deployment.pools[0], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(it);
    double s_ = rh_iteration_s(it, &batch);
    s->serving.server = rh_server_by_name(s->deployment.server, NULL);
    return s_;
}

/* A server fuses the shared expert for models with the number of experts that it states. */
static void a_server_has_it_for_its_models(void)
{
    Setting s = setting_of("deepseek-v3", "dgx-h200:1", "server=sglang,tp8");
    CU_ASSERT_EQUAL(s.serving.server->shared_inside, 256);
    CU_ASSERT_TRUE(token_s(&s, 256) < token_s(&s, 0));
    CU_ASSERT_EQUAL(token_s(&s, 160), token_s(&s, 0));
    close_setting(&s);
    CU_ASSERT_EQUAL(rh_server_by_name("vllm", NULL)->shared_inside, 0);
}

int main(void)
{
    static const RhTest tests[] = {
        {"it is the same work in fewer kernels", it_is_the_same_work_in_fewer_kernels},
        {"elsewhere nothing changes", elsewhere_nothing_changes},
        {"a server has it for its models", a_server_has_it_for_its_models},
        {NULL, NULL},
    };
    return rh_test_main("fused_shared_expert", tests);
}
