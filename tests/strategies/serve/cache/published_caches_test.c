/* Bytes of keys and values, and of weights, beside what papers, model cards and logs of servers print. */
#include <math.h>

#include "tests/kit/model_counts.h"
#include "tests/kit/serve_kit.h"
#include "tests/kit/shard_kit.h"

/* Bytes that a token leaves in the cache, of 16-bit elements. */
static double token_bytes(const RhModel *m)
{
    const RhShard one = shard_of(1, 1, 1);
    double bytes = 0;
    for (int32_t i = 0; i < m->layers_count; i++)
        bytes +=
            rh_block_cache_bytes(m, &m->kinds[m->kind_of_layer[i]], RH_BLOCK_MIXER, &one).token;
    return bytes;
}

/* Returns the bytes a token of a model of the catalogue, or of tests/models. */
static double bytes_of(const char *name)
{
    g_autofree char *file = g_strconcat(name, ".json", NULL);
    g_autofree char *path =
        g_build_filename(g_getenv("REHEARSE_DATA"), "tests", "models", file, NULL);
    bool own = g_file_test(path, G_FILE_TEST_EXISTS);
    g_autoptr(RhModel) m = rh_model_load(own ? path : name, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return token_bytes(m);
}

/* Returns the bytes a token of an OPT, in which every head has its own keys and values. */
static double opt_bytes(int32_t layers, int32_t hidden, int32_t heads)
{
    g_autoptr(RhModel) m = rh_model_gpt("opt", layers, hidden, heads, 0, 50272, 2048);
    return token_bytes(m);
}

#define OPT_13B  opt_bytes(40, 5120, 40)
#define OPT_66B  opt_bytes(64, 9216, 72)
#define OPT_175B opt_bytes(96, 12288, 96)

static const double KIB = 1024, GIB = 1024.0 * 1024 * 1024;

/* A token of OPT-13B takes 800 KB, and a request of 2,048 tokens up to 1.6 GB.
 * Source: Kwon et al. 2023 (arXiv 2309.06180), section 3. */
static void a_request_of_opt_13b_is_as_large_as_vllm_says(void)
{
    RH_CHECK_CLOSE(OPT_13B, 800 * KIB, 1e-12);
    RH_CHECK_CLOSE(2048 * OPT_13B, 1.6 * GIB, 0.05 / 1.6);
}

/* Thousands of tokens for which there is room in the memory that weights leave.
 * Source: Kwon et al. 2023 (arXiv 2309.06180), table 1. */
static void slots_are_those_of_vllms_table(void)
{
    static const double gib[] = {12, 21, 264}, slots[] = {15.7e3, 9.7e3, 60.1e3};
    const double bytes[] = {OPT_13B, OPT_66B, OPT_175B};
    for (size_t i = 0; i < G_N_ELEMENTS(bytes); i++)
        RH_CHECK_CLOSE(gib[i] * GIB / bytes[i], slots[i], 0.5 / gib[i]);
}

/* Blocks of 16 tokens that vLLM 0.5 makes of the 4 GiB of host memory it swaps to: of Vicuna's 7 B, in LLaVA 1.5,
 * and of Llama 3 8B.
 * Source: vllm-project/vllm issue 6623, "# CPU blocks". */
static void blocks_are_those_of_vllms_log(void)
{
    CU_ASSERT_EQUAL(floor(4 * GIB / (16 * bytes_of("llama-2-7b"))), 512);
    CU_ASSERT_EQUAL(floor(4 * GIB / (16 * bytes_of("llama-3.1-8b"))), 2048);
}

/* The cache of a request of 512 tokens to OPT-66B is 1.13 GB: at ten requests a second 90 Gbit/s.
 * Source: Zhong et al. 2024 (arXiv 2401.09670), section 3.3. */
static void what_is_handed_over_is_what_distserve_says(void)
{
    RH_CHECK_CLOSE(512 * OPT_66B, 1.13 * GIB, 0.005);
    RH_CHECK_CLOSE(10 * 512 * OPT_66B * 8, 90 * GIB, 0.005);
}

/* The cache of 512 sequences of 512 tokens and 32 more of OPT-175B is 1.2 TB, 3.8 times its weights.
 * Source: Sheng et al. 2023 (arXiv 2303.06865), section 3. */
static void a_batch_of_opt_175b_is_as_large_as_flexgen_says(void)
{
    g_autoptr(RhModel) m = rh_model_gpt("opt", 96, 12288, 96, 0, 50272, 2048);
    double cache = 512 * (512 + 32) * token_bytes(m);
    RH_CHECK_CLOSE(cache, 1.2 * 1024 * GIB, 0.05 / 1.2);
    RH_CHECK_CLOSE(cache / (2 * (double)rh_model_params(m)), 3.8, 0.05 / 3.8);
}

/* GB of 256 K tokens: four of Jamba's 32 layers attend. The paper leaves Mistral's window aside.
 * Source: Lieber et al. 2024 (arXiv 2403.19887), table 1. */
static void jamba_keeps_as_little_as_its_paper_says(void)
{
    CU_ASSERT_EQUAL(256 * KIB * bytes_of("llama-2-7b"), 128 * GIB);
    g_autoptr(RhModel) mistral = rh_model_load("mistral-7b", NULL);
    CU_ASSERT_TRUE_FATAL(mistral && rh_model_set(mistral, "window", "0", NULL));
    CU_ASSERT_EQUAL(256 * KIB * token_bytes(mistral), 32 * GIB);
    CU_ASSERT_EQUAL(256 * KIB * bytes_of("mixtral-8x7b"), 32 * GIB);
    CU_ASSERT_EQUAL(256 * KIB * bytes_of("jamba"), 4 * GIB);
}

/* Elements a token of the paper's two mixtures with latent attention, in thousands, and of the smaller one with
 * heads of its own for every query.
 * Source: DeepSeek-V2 report (arXiv 2405.04434), table 9. */
static void latents_have_the_elements_of_their_paper(void)
{
    CU_ASSERT_DOUBLE_EQUAL(bytes_of("deepseek-v2-lite") / 2e3, 15.6, 0.05);
    CU_ASSERT_DOUBLE_EQUAL(bytes_of("deepseek-v2") / 2e3, 34.6, 0.05);
    CU_ASSERT_DOUBLE_EQUAL(opt_bytes(27, 2048, 16) / 2e3, 110.6, 0.05);
}

/* DeepSeek-V2's cache, of 6 bits an element as it is served, is 93.3 % less than that of DeepSeek 67B.
 * Source: DeepSeek-V2 report (arXiv 2405.04434), abstract and section 3.2.3. */
static void latents_save_what_their_abstract_says(void)
{
    g_autoptr(RhModel) dense = model_load("{" SHAPE("llama", 95, 8192, 64, 8, 22016, 102400) "}");
    CU_ASSERT_DOUBLE_EQUAL(1 - bytes_of("deepseek-v2") * 6 / 16 / token_bytes(dense), 0.933, 5e-4);
}

#define HUNYUAN(kv, rest)                                                                          \
    "{" SHAPE("hunyuan", 64, 6400, 80, kv, 18304,                                                  \
              129024) ", 'num_experts': 16, 'moe_topk': 1, 'num_shared_expert': 1, "               \
                      "'tie_word_embeddings': true" rest "}"

/* Eight heads of keys for 80 of queries, shared by two layers, save almost 95 %.
 * Source: Hunyuan-Large report (arXiv 2411.02265), on compression of the KV cache. */
static void shared_keys_save_what_their_report_says(void)
{
    g_autoptr(RhModel) shared = model_load(HUNYUAN(8, ", 'use_cla': true, 'cla_share_factor': 2"));
    g_autoptr(RhModel) all = model_load(HUNYUAN(80, ", 'use_cla': false"));
    CU_ASSERT_DOUBLE_EQUAL(1 - token_bytes(shared) / token_bytes(all), 0.95, 0.005);
}

/* GB of 1 K, 16 K and 128 K tokens of Llama 3.1.
 * Source: huggingface.co/blog/llama31, memory of the KV cache. */
static void llamas_cache_is_that_of_its_announcement(void)
{
    static const struct {
        const char *model;
        double gib[3];
    } rows[] = {{"llama-3.1-8b", {0.125, 1.95, 15.62}}, {"llama-3.1-70b", {0.313, 4.88, 39.06}}};
    static const double tokens[] = {1024, 16000, 128000};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        for (size_t k = 0; k < G_N_ELEMENTS(tokens); k++)
            CU_ASSERT_DOUBLE_EQUAL(tokens[k] * bytes_of(rows[i].model) / GIB, rows[i].gib[k],
                                   0.006);
}

/* Checkpoints with experts in MXFP4 and all else in bf16, in GiB.
 * Source: gpt-oss model card (arXiv 2508.10925), table 1. */
static void weights_are_the_checkpoints_of_gpt_oss(void)
{
    static const char *const models[] = {"gpt-oss-120b", "gpt-oss-20b"};
    static const double gib[] = {60.8, 12.8};
    for (size_t i = 0; i < G_N_ELEMENTS(models); i++) {
        Setting s = setting_of(models[i], "dgx-b200:1", "tp1");
        s.serving.recipe = &rh_recipe_mxfp4_experts;
        g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(service);
        double bytes = rh_iterations_weight_bytes(rh_service_iterations(service, 0));
        RH_CHECK_CLOSE(bytes / (1024.0 * 1024 * 1024), gib[i], 0.005);
        close_setting(&s);
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"a_request_of_opt_13b_is_as_large_as_vllm_says",
         a_request_of_opt_13b_is_as_large_as_vllm_says},
        {"slots_are_those_of_vllms_table", slots_are_those_of_vllms_table},
        {"blocks_are_those_of_vllms_log", blocks_are_those_of_vllms_log},
        {"what_is_handed_over_is_what_distserve_says", what_is_handed_over_is_what_distserve_says},
        {"a_batch_of_opt_175b_is_as_large_as_flexgen_says",
         a_batch_of_opt_175b_is_as_large_as_flexgen_says},
        {"jamba_keeps_as_little_as_its_paper_says", jamba_keeps_as_little_as_its_paper_says},
        {"latents_have_the_elements_of_their_paper", latents_have_the_elements_of_their_paper},
        {"latents_save_what_their_abstract_says", latents_save_what_their_abstract_says},
        {"shared_keys_save_what_their_report_says", shared_keys_save_what_their_report_says},
        {"llamas_cache_is_that_of_its_announcement", llamas_cache_is_that_of_its_announcement},
        {"weights_are_the_checkpoints_of_gpt_oss", weights_are_the_checkpoints_of_gpt_oss},
        {0},
    };
    return rh_test_main("published_caches", tests);
}
