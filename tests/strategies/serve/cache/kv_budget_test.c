/* Memory that SGLang reserves by default, and other servers' budgets. */
#include "base/units.h"
#include "strategies/serve/cache/kv_budget.h"
#include "tests/kit/serve_kit.h"

#define MIB (1024.0 * 1024)

static double left_mib(double capacity_gib, int32_t tp, int32_t dp, int32_t chunk)
{
    const RhServer *sglang = rh_server_by_name("sglang", NULL);
    RhPool pool = {.tp = tp, .pp = 1, .dp = dp, .ep = 1, .replicas = 1, .chunk = chunk * dp};
    return rh_memory_reserve_bytes(&sglang->left, &pool, capacity_gib * RH_GIB_BYTES) / MIB;
}

/* 512 and 1.5 of 8,192 tokens; 2 of 256 sequences on up to three ranks, of 512 on more; 128 of a rank. Ten GiB at
 * least, but not of small devices.
 * Source: sgl-project/sglang 0.5.4, srt/server_args.py, _handle_gpu_memory_settings. */
static void it_grows_with_tokens_sequences_and_ranks(void)
{
    RH_CHECK_CLOSE(left_mib(80, 1, 1, 8192), 512 + 12288 + 512 + 128, 1e-9);
    RH_CHECK_CLOSE(left_mib(80, 2, 1, 8192), 512 + 12288 + 512 + 256, 1e-9);
    RH_CHECK_CLOSE(left_mib(141, 8, 1, 8192), 512 + 12288 + 1024 + 1024, 1e-9);
    RH_CHECK_CLOSE(left_mib(80, 1, 1, 4096), 10240, 1e-9);
    RH_CHECK_CLOSE(left_mib(24, 1, 1, 2048), 512 + 3072 + 48 + 128, 1e-9);
    RH_CHECK_CLOSE(left_mib(24, 1, 1, 1), left_mib(24, 1, 1, 2048), 1e-9);
}

/* Groups of attention: 3 of each sequence and group, and half as much again where graphs are wide.
 * Source: sgl-project/sglang 0.5.4, srt/server_args.py, _handle_gpu_memory_settings. */
static void it_grows_with_groups(void)
{
    RH_CHECK_CLOSE(left_mib(80, 1, 2, 8192), 512 + 12288 + 512 + 256 + 3 * 256 * 2, 1e-9);
    RH_CHECK_CLOSE(left_mib(141, 1, 8, 8192), 512 + 12288 + 1024 + 1024 + 4.5 * 512 * 8, 1e-9);
}

/* An iteration is as large as the device allows unless the deployment says otherwise, and a stated
 * memory counts. */
static void a_deployment_says_otherwise(void)
{
    const RhServer *sglang = rh_server_by_name("sglang", NULL),
                   *vllm = rh_server_by_name("vllm", NULL);
    RhPool pool = {.tp = 1, .pp = 1, .dp = 1, .ep = 1, .replicas = 1, .chunk = 8192};
    double capacity = 80 * RH_GIB_BYTES;
    RH_CHECK_CLOSE(rh_service_memory_frac(sglang, &pool, capacity), 1 - 13440.0 / (80 * 1024),
                   1e-9);
    RH_CHECK_CLOSE(rh_service_memory_frac(vllm, &pool, capacity), 0.9, 1e-9);
    pool.captured = 64; /* sequences of the largest graph */
    RH_CHECK_CLOSE(rh_memory_reserve_bytes(&sglang->left, &pool, 200 * RH_GIB_BYTES) / MIB,
                   512 + 12288 + 2 * 64 + 128, 1e-9);
    RhPool groups = {.tp = 1, .pp = 1, .dp = 128, .ep = 128, .captured = 64, .chunk = 128 * 2048};
    RH_CHECK_CLOSE(rh_memory_reserve_bytes(&sglang->left, &groups, 200 * RH_GIB_BYTES) / MIB,
                   512 + 3072 + 2 * 64 + 128 * 128 + 3 * 64 * 128, 1e-9);
    pool.memory = 80;
    RH_CHECK_CLOSE(rh_service_memory_frac(sglang, &pool, capacity), 0.8, 1e-9);
    CU_ASSERT_EQUAL(rh_memory_reserve_chunk(&sglang->left, 24 * RH_GIB_BYTES), 2048);
    CU_ASSERT_EQUAL(rh_memory_reserve_chunk(&sglang->left, capacity), 8192);
    CU_ASSERT_EQUAL(rh_memory_reserve_chunk(&sglang->left, 178 * RH_GIB_BYTES), 16384);
    CU_ASSERT_EQUAL(rh_memory_reserve_chunk(&vllm->left, capacity), 0);
    Setting small = setting_of("llama-3.2-1b", "rtx-4090:1x1", "server=sglang,tp1"),
            large = setting_of("llama-3.2-1b", "rtx-4090:1x1", "server=sglang,tp1,chunk=2048");
    g_autoptr(RhService) a = rh_service_new(&small.serving, &small.deployment, NULL);
    g_autoptr(RhService) b = rh_service_new(&large.serving, &large.deployment, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    CU_ASSERT_EQUAL(rh_service_kv_budget(a, 0).tokens, rh_service_kv_budget(b, 0).tokens);
    close_setting(&small);
    close_setting(&large);
}

int main(void)
{
    static const RhTest tests[] = {
        {"it grows with tokens, sequences and ranks", it_grows_with_tokens_sequences_and_ranks},
        {"it grows with groups", it_grows_with_groups},
        {"a deployment says otherwise", a_deployment_says_otherwise},
        {0}};
    return rh_test_main("kv_budget", tests);
}
