/* Names on the Hugging Face hub: every model of the catalogue is found by the one that its file gives. */
#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"
#include "workloads/hub.h"
#include "workloads/model.h"

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
                                   {"paths_are_none", paths_are_none},
                                   {0}});
}
