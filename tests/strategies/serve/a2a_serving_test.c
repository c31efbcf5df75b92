/* Serving: what ranks exchange, experts' kernels above all. */
#include <string.h>

#include "platforms/devices/custom_allreduce.h"
#include "tests/kit/serve_kit.h"

/* DeepSeek-V3's experts on 16 H100s: a token's eight copies, half of them to the other node; or two, one of each
 * node's. */
static void exchanges_are_counted(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("dgx-h100:2", NULL);
    const RhA2aBackend *each = rh_a2a_backend_by_name("deepep-low-latency", NULL),
                       *once = rh_a2a_backend_by_name("deepep", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_PTR_NOT_NULL_FATAL(each);
    CU_ASSERT_PTR_NOT_NULL_FATAL(once);
    RhA2aLoad load = {16, 128, 7392, 0, {256, 8, 1, 1, 0, 0}};
    double nic = 50e9 * each->dispatch.nic_frac.value;
    RH_CHECK_CLOSE(rh_a2a_backend_s(each, &each->dispatch, p, &load),
                   each->dispatch.base_s.value + each->dispatch.inter_s.value +
                       each->dispatch.node_s.value + 128 * 8 * 7392 / 2.0 / nic,
                   1e-9);
    RH_CHECK_CLOSE(rh_a2a_copies(&load, 2), 2, 0.01);
    load.ranks = 8;
    RH_CHECK_CLOSE(rh_a2a_backend_s(each, &each->dispatch, p, &load),
                   each->dispatch.base_s.value +
                       128 * 8 * 7392 * 7 / 8.0 / (450e9 * each->dispatch.peer_frac.value),
                   1e-9);
    load.tokens = 4096;
    CU_ASSERT_TRUE(rh_a2a_backend_s(once, &once->dispatch, p, &load) <
                   rh_a2a_backend_s(each, &each->dispatch, p, &load));
    load.ranks = 1;
    CU_ASSERT_EQUAL(rh_a2a_backend_s(once, &once->dispatch, p, &load), 0);
    for (const char *const *name = rh_a2a_backend_names(); *name; name++)
        CU_ASSERT_PTR_NOT_NULL(rh_a2a_backend_by_name(*name, NULL));
}

/* Exchanges go both ways in each of DeepSeek-V3's 58 layers of experts: 10 us more a way are 1.16
 * ms of an iteration. */
static void servers_exchange_by_their_kernels(void)
{
    Setting s = setting_of("deepseek-v3", "dgx-h200:2", "server=sglang-deepep,dp16,ep16,batch=64");
    RhBatch batch = {.decodes = 16 * 64, .contexts = 16 * 64 * 1000};
    s.serving.recipe = &rh_recipe_fp8_block;
    g_autoptr(RhIterations) own = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
    RhServer slow = *s.serving.server;
    RhA2aBackend kernels = *slow.exchange_few;
    kernels.dispatch.base_s.value += 10e-6;
    kernels.combine.base_s.value += 10e-6;
    slow.exchange_few = &kernels;
    s.serving.server = &slow;
    g_autoptr(RhIterations) other = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(own);
    CU_ASSERT_PTR_NOT_NULL_FATAL(other);
    RH_CHECK_CLOSE(rh_iteration_s(other, &batch) - rh_iteration_s(own, &batch), 58 * 2 * 10e-6,
                   1e-6);
    close_setting(&s);
}

/* All ranks gather 64 tokens of each of 8, and sum results of each: 8 x 64 x h values of two bytes,
 * however many experts a token asks. By the all-to-all a rank sends a copy to each of its eight. */
static void tokens_are_gathered(void)
{
    Setting s = setting_of("qwen3-30b-a3b", "dgx-h100:1", "server=vllm,dp8,ep8,batch=64");
    RhServer server = *s.serving.server;
    double rank_bytes = 64.0 * (double)s.model->hidden * 2;
    s.serving.server = &server;
    for (int gather = 0; gather < 2; gather++) {
        g_autoptr(GArray) exchanges = g_array_new(FALSE, FALSE, sizeof(RhServedExchange));
        server.gather = gather;
        g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(it);
        rh_iteration_exchanges(it, 64, 64, exchanges);
        CU_ASSERT_EQUAL_FATAL(exchanges->len, 2 * 48);
        for (guint i = 0; i < exchanges->len; i++) {
            const RhServedExchange *e = &g_array_index(exchanges, RhServedExchange, i);
            RhOp there = i % 2 == 0 ? RH_OP_ALL_GATHER : RH_OP_REDUCE_SCATTER;
            CU_ASSERT_TRUE(e->experts);
            CU_ASSERT_EQUAL(e->op, gather ? there : RH_OP_ALL_TO_ALL);
            RH_CHECK_CLOSE(e->bytes, 8 * rank_bytes, 1e-12); /* eight ranks, eight experts */
        }
    }
    CU_ASSERT_TRUE(rh_server_by_name("vllm", NULL)->gather &&
                   rh_server_by_name("sglang", NULL)->gather &&
                   rh_server_by_name("trtllm", NULL)->gather);
    CU_ASSERT_PTR_NULL(rh_server_by_name("sglang", NULL)->exchange_few); /* unless it is told to */
    CU_ASSERT_PTR_NOT_NULL(rh_server_by_name("sglang-deepep", NULL)->exchange_few);
    close_setting(&s);
}

/* Eight groups of attention: whether experts are spread over their ranks, cut, or both, a rank has an eighth of them.
 * Cut ones need what all groups have: hidden states of 8 x 16 tokens there, as much back. */
static void experts_are_cut_and_spread(void)
{
    static const char *const pools[] = {"ep8", "ep4", "ep2", "ep1"};
    double weights = 0, read_s[4];
    for (int k = 0; k < 4; k++) {
        g_autofree char *text =
            g_strdup_printf("server=orca,tp1,dp8,batch=64,chunk=8192,%s", pools[k]);
        Setting s = setting_of("qwen3-30b-a3b", "dgx-h100:1", text);
        g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(it);
        weights = k == 0 ? rh_iterations_weight_bytes(it) : weights;
        RH_CHECK_CLOSE(rh_iterations_weight_bytes(it), weights, 1e-12);
        g_autoptr(GArray) exchanges = g_array_new(FALSE, FALSE, sizeof(RhServedExchange));
        rh_iteration_exchanges(it, 16, 0, exchanges);
        CU_ASSERT_EQUAL_FATAL(exchanges->len, 2 * (guint)s.model->layers_count);
        const RhServedExchange *there = &g_array_index(exchanges, RhServedExchange, 0);
        CU_ASSERT_EQUAL(there->op, k == 0 ? RH_OP_ALL_TO_ALL : RH_OP_ALL_GATHER);
        if (k > 0)
            RH_CHECK_CLOSE(there->bytes, 8 * 16 * (double)s.model->hidden * 2, 1e-9);
        RhChunk chunk = {.tokens = 4096};
        RhBatch prompt = {.chunks = &chunk, .chunks_count = 1, .ended = 1};
        read_s[k] = rh_iteration_s(it, &prompt);
        CU_ASSERT_TRUE(read_s[k] > 0.5 * read_s[0] && read_s[k] < 3 * read_s[0]);
        close_setting(&s);
    }
    g_autoptr(GError) error = NULL;
    Setting s = setting_of("qwen3-30b-a3b", "dgx-h100:1", "tp1,dp8,ep3");
    CU_ASSERT_PTR_NULL(rh_service_new(&s.serving, &s.deployment, &error));
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "ep3 does not divide the 8 ranks"));
    close_setting(&s);
}

/* Seconds of an iteration's exchanges for 16 tokens, with norms of queries and keys over each head or over
 * all; *squares: number of sums of 128 bytes among those on the fabric. */
static double norms_exchange_s(const char *platform, const char *deployment, bool joint,
                               int32_t *squares)
{
    Setting s = setting_of("minimax-m2.5", platform, deployment);
    for (int32_t k = 0; k < s.model->kinds_count; k++) {
        CU_ASSERT_TRUE(s.model->kinds[k].joint_qk_norm);
        s.model->kinds[k].joint_qk_norm = joint;
    }
    g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(it);
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(RhServedExchange));
    rh_iteration_exchanges(it, 16, 0, list);
    *squares = 0;
    for (guint i = 0; i < list->len; i++)
        *squares += g_array_index(list, RhServedExchange, i).bytes == 16 * 2 * 4.0;
    double seconds = rh_iteration_exchanges_s(it, 16, 0);
    close_setting(&s);
    return seconds;
}

/* Norms over all heads sum two squares of each token over the tensor ranks, in each of 62 layers: by the
 * server's own kernel inside a node, else over the fabric.
 * Source: vLLM, MiniMaxText01RMSNormTP.forward_qk, which all-reduces both variances in 32 bits. */
static void joint_norms_sum_squares(void)
{
    int32_t squares;
    double with = norms_exchange_s("dgx-h100:1", "server=vllm,tp4", true, &squares),
           without = norms_exchange_s("dgx-h100:1", "server=vllm,tp4", false, &squares);
    Setting s = setting_of("minimax-m2.5", "dgx-h100:1", "server=vllm,tp4");
    g_autoptr(RhPlatform) hardware = rh_server_hardware(s.serving.server, s.platform, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(hardware);
    RH_CHECK_CLOSE(with - without, 62 * rh_peer_reduce_s(hardware->device, 4, 128), 1e-6);
    close_setting(&s);
    CU_ASSERT_EQUAL(norms_exchange_s("dgx-h100:1", "server=vllm,tp1", true, &squares), 0);
    CU_ASSERT_TRUE(norms_exchange_s("dgx-h100:2", "server=vllm,tp16", true, &squares) >
                   norms_exchange_s("dgx-h100:2", "server=vllm,tp16", false, &squares));
    norms_exchange_s("dgx-h100:2", "server=vllm,tp16", true, &squares);
    CU_ASSERT_EQUAL(squares, 62);
}

static const RhTest tests[] = {
    {"exchanges are counted", exchanges_are_counted},
    {"servers exchange by their kernels", servers_exchange_by_their_kernels},
    {"tokens are gathered", tokens_are_gathered},
    {"experts are cut and spread", experts_are_cut_and_spread},
    {"joint norms sum squares", joint_norms_sum_squares},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("a2a_serving", tests);
}
