/* Names on the Hugging Face hub: every model of the catalogue is found by the one that its file gives. */
#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"
#include "workloads/config/hf_hub.h"
#include "workloads/config/hf_hub_table.h"
#include "workloads/model.h"
#include "workloads/precision_recipe.h"

static void every_source_is_found_again(void)
{
    int found = 0;
    for (const char *const *name = rh_model_names(); *name; name++) {
        g_autofree char *id = rh_hub_id(*name);
        if (!id)
            continue;
        found++;
        const char *model = rh_hub_model(id);
        CU_ASSERT_PTR_NOT_NULL_FATAL(model);
        g_autofree char *again = rh_hub_id(model); /* two files of one source are one model's */
        CU_ASSERT_STRING_EQUAL(again, id);
        g_autofree char *upper = g_ascii_strup(id, -1);
        CU_ASSERT_PTR_EQUAL(rh_hub_model(upper), model);
    }
    CU_ASSERT_TRUE(found >= 50);
}

static void a_workload_may_be_such_a_name(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) m = rh_model_load("meta-llama/Llama-3.1-8B", &error);
    g_assert_no_error(error);
    CU_ASSERT_STRING_EQUAL(m->name, "llama-3.1-8b");
    CU_ASSERT_EQUAL(m->layers_count, 32);
    CU_ASSERT_PTR_NULL(rh_model_load("meta-llama/Llama-99-8B", &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "download meta-llama/Llama-99-8B config.json"));
}

/* Every row names a model and a format that there are, and no id stands twice. */
static bool check_row(const char *id, const void *seen)
{
    RhHubRow row = rh_hub_row(id);
    g_autofree char *lower = g_ascii_strdown(id, -1);
    CU_ASSERT_TRUE(g_hash_table_add((GHashTable *)seen, g_strdup(lower)));
    CU_ASSERT_TRUE(g_strv_contains(rh_model_names(), row.model));
    CU_ASSERT_PTR_NOT_NULL(rh_recipe_by_name(row.recipe));
    CU_ASSERT_STRING_EQUAL(rh_hub_model(id), row.model);
    return false;
}

static void every_row_is_a_model(void)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    rh_hub_find(check_row, seen);
    CU_ASSERT_TRUE(g_hash_table_size(seen) >= 200);
}

static void ids_are_looked_up(void)
{
    static const struct {
        const char *id, *model, *recipe;
        int64_t positions;
    } rows[] = {
        {"meta-llama/Llama-3.3-70B-Instruct", "llama-3.1-70b", "bf16", 0},
        {"meta-llama/Meta-Llama-3-8B-Instruct", "llama-3.1-8b", "bf16", 8192},
        {"deepseek-ai/DeepSeek-R1", "deepseek-v3", "fp8-block", 0},
        {"qwen/qwen3-235b-a22b-fp8", "qwen3-235b-a22b", "fp8-block", 0},
        {"RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "llama-3.1-70b", "fp8-current", 0},
        {"nvidia/Llama-3.1-8B-Instruct-FP8", "llama-3.1-8b", "fp8", 0},
        {"hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "llama-3.1-70b", "int4-weights", 0},
        {"someone/Llama-3.3-70B-Instruct-FP8", NULL, NULL, 0},
        {"nvidia/-FP8", NULL, NULL, 0},
        {"nvidia/Unknown-FP8", NULL, NULL, 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhHubModel found = rh_hub_look_up(rows[i].id);
        CU_ASSERT_EQUAL(g_strcmp0(found.model, rows[i].model), 0);
        CU_ASSERT_EQUAL(g_strcmp0(found.recipe, rows[i].recipe), 0);
        CU_ASSERT_EQUAL(found.positions, rows[i].positions);
    }
}

static void a_model_has_what_its_id_says(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) m = rh_model_load("nvidia/Llama-3.3-70B-Instruct-NVFP4", &error);
    g_assert_no_error(error);
    CU_ASSERT_STRING_EQUAL(m->name, "llama-3.1-70b");
    CU_ASSERT_STRING_EQUAL(m->stored_recipe, "nvfp4");
    g_autoptr(RhModel) shorter = rh_model_load("meta-llama/Meta-Llama-3-8B", &error);
    g_assert_no_error(error);
    CU_ASSERT_EQUAL(shorter->positions, 8192);
    CU_ASSERT_PTR_NULL(shorter->stored_recipe);
}

static void paths_are_none(void)
{
    static const char *const paths[] = {"./a/b", "/a", "a/b/c", "a/b.json",
                                        "a",     "a/", "../a",  "a/b c"};
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
        CU_ASSERT_FALSE(rh_hub_is_id(paths[i]));
    CU_ASSERT_TRUE(rh_hub_is_id("Qwen/Qwen2.5-7B"));
}

int main(void)
{
    return rh_test_main("hub",
                        (RhTest[]){{"every_source_is_found_again", every_source_is_found_again},
                                   {"a_workload_may_be_such_a_name", a_workload_may_be_such_a_name},
                                   {"every_row_is_a_model", every_row_is_a_model},
                                   {"ids_are_looked_up", ids_are_looked_up},
                                   {"a_model_has_what_its_id_says", a_model_has_what_its_id_says},
                                   {"paths_are_none", paths_are_none},
                                   {0}});
}
