/* Published config.json files, where a folder of them lies at hand: $REHEARSE_CONFIGS, or
 * ../shared/data/model-configs beside the tree. Those of our families load, or are refused for what
 * is not built; others are refused where they say what they are. Without the folder: skipped. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tests/testkit.h"
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

/* What a file may be refused for: a type without a row, a part that is not built; and
 * Infinity or NaN, which some writers put where JSON has no word for it. */
static bool is_reason(const char *message)
{
    static const char *const reasons[] = {"is not supported", "which are not built yet",
                                          "this model is", "not valid JSON"};
    for (size_t i = 0; i < G_N_ELEMENTS(reasons); i++)
        if (strstr(message, reasons[i]) != NULL)
            return strstr(message, "--> ") != NULL;
    return false;
}

static void check_file(const char *path, int *loaded, int *refused)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) m = rh_model_load(path, &error);
    *(m != NULL ? loaded : refused) += 1;
    if (m != NULL) {
        CU_ASSERT_TRUE(rh_model_params(m) > 1e8 && rh_model_flops_per_token(m, 4096) > 6e8);
        return;
    }
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_TRUE(is_reason(error->message));
    if (!is_reason(error->message))
        g_printerr("  %s: %s\n", path, error->message);
}

static void every_file_loads_or_says_why_not(void)
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
}

/* What is published is what the catalogue says, and the totals of the published weights. */
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
        (RhTest[]){{"every_file_loads_or_says_why_not", every_file_loads_or_says_why_not},
                   {"parameters_are_those_of_the_published_weights",
                    parameters_are_those_of_the_published_weights},
                   {0}});
    g_free(folder);
    return status;
}
