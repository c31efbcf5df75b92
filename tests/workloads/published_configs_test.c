/* Published config.json files, where a folder of them lies at hand: $REHEARSE_CONFIGS, or
 * ../shared/data/model-configs beside the tree: all load. Without the folder: skipped. */
#include <stdio.h>

#include "base/error.h"
#include "tests/kit/testkit.h"
#include "workloads/model.h"

#define SKIPPED 77

static char *folder;

static char *find_folder(void)
{
    const char *named = g_getenv("REHEARSE_CONFIGS"), *data = g_getenv("REHEARSE_DATA");
    return named ? g_strdup(named)
                 : g_build_filename(data ? data : RH_DATA_DIR, "..", "shared", "data",
                                    "model-configs", NULL);
}

static void check_file(const char *path, int *loaded, int *refused)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) m = rh_model_load(path, &error);
    *(m != NULL ? loaded : refused) += 1;
    if (m == NULL)
        g_printerr("  %s\n", error->message);
    else
        CU_ASSERT_TRUE(rh_model_params(m) > 1e8 && rh_model_flops_per_token(m, 4096) > 6e8);
}

static void every_file_loads(void)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    int loaded = 0, refused = 0;
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
        if (g_str_has_suffix(name, ".json")) {
            g_autofree char *path = g_build_filename(folder, name, NULL);
            check_file(path, &loaded, &refused);
        }
    printf("\n    %d loaded, %d refused\n", loaded, refused);
    CU_ASSERT_TRUE(loaded > 0);
    CU_ASSERT_EQUAL(refused, 0);
}

/* Claims of reports and model cards, without the layers that predict further tokens; of V4-Pro "1.6T"
 * is with its one, which is 26 G. */
static void parameters_are_near_what_is_claimed(void)
{
    static const struct {
        const char *file;
        double billions, within;
    } rows[] = {
        {"Qwen--Qwen3.5-27B.json", 27, 0.01},
        {"Qwen--Qwen3.5-35B-A3B.json", 35, 0.01},
        {"Qwen--Qwen3.5-122B-A10B.json", 122, 0.01},
        {"Qwen--Qwen3.5-397B-A17B.json", 397, 0.01},
        {"zai-org--GLM-5.json", 744, 0.001},
        {"nvidia--Gemma-4-31B-IT-NVFP4.json", 30.7, 0.001},
        {"nvidia--Gemma-4-26B-A4B-NVFP4.json", 25.2, 0.002},
        {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.json", 31.6, 0.001},
        {"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8.json", 120.6, 0.001},
        {"nvidia--Nemotron-H-56B-Base-8K.json", 56, 0.01},
        {"deepseek-ai--DeepSeek-V4-Pro.json", 1600 - 26, 0.001},
        {"MiniMaxAI--MiniMax-M2.5.json", 229, 0.002},
        {"openai--gpt-oss-120b.json", 117, 0.002},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path = g_build_filename(folder, rows[i].file, NULL);
        if (!g_file_test(path, G_FILE_TEST_EXISTS))
            continue;
        g_autoptr(RhModel) m = rh_model_load(path, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        RH_CHECK_CLOSE((double)rh_model_params(m) / 1e9, rows[i].billions, rows[i].within);
    }
}

/* Published configurations have the parameters of the catalogue and the totals of the published
 * weights. */
static void parameters_are_those_of_the_published_weights(void)
{
    static const struct {
        const char *file;
        int64_t params;
    } rows[] = {
        {"meta-llama--Meta-Llama-3.1-405B.json", 405853388800},
        {"meta-llama--Meta-Llama-3.1-70B.json", 70553706496},
        {"meta-llama--Meta-Llama-3.1-8B.json", 8030261248},
        {"mistralai--Mixtral-8x7B-v0.1.json", 46702792704},
        {"deepseek-ai--DeepSeek-V3.json", 671026419200},
        {"Qwen--Qwen3-30B-A3B.json", 30532122624},
        {"Qwen--Qwen3-235B-A22B.json", 235093634560},
        {"Qwen--Qwen3-8B.json", 8190735360},
        {"Qwen--Qwen3-32B.json", 32762123264},
        {"nvidia--Llama-3_3-Nemotron-Super-49B-v1.json", 49867145216},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path = g_build_filename(folder, rows[i].file, NULL);
        if (!g_file_test(path, G_FILE_TEST_EXISTS))
            continue;
        g_autoptr(RhModel) m = rh_model_load(path, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CU_ASSERT_EQUAL(rh_model_params(m), rows[i].params);
    }
}

int main(void)
{
    folder = find_folder();
    if (!g_file_test(folder, G_FILE_TEST_IS_DIR)) {
        printf("skipped: no folder %s (REHEARSE_CONFIGS=FOLDER names one)\n", folder);
        return SKIPPED;
    }
    int status = rh_test_main(
        "configs",
        (RhTest[]){{"every_file_loads", every_file_loads},
                   {"parameters_are_near_what_is_claimed", parameters_are_near_what_is_claimed},
                   {"parameters_are_those_of_the_published_weights",
                    parameters_are_those_of_the_published_weights},
                   {0}});
    g_free(folder);
    return status;
}
