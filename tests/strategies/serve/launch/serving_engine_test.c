/* Tables of serving engines: every row means a key of a deployment, and no flag stands twice. */
#include <string.h>

#include "base/error.h"
#include "strategies/serve/deployment.h"
#include "strategies/serve/launch/serving_engine.h"
#include "strategies/serve/server_software.h"
#include "tests/kit/testkit.h"
#include "workloads/precision_recipe.h"

static bool is_own_key(const char *key)
{
    static const char *const own[] = {"",      "groups",    "groups_of_all", "exchange",
                                      "role",  "host_each", "host_bytes",    "tokens",
                                      "width", "recipe",    "capacity",      NULL};
    return g_strv_contains(own, key);
}

static void check_value(const RhEngineOption *flag, const char *value)
{
    RhDeployment d = rh_deployment_default();
    g_autofree char *item = g_strdup_printf("%s=%s", flag->key, value);
    bool format = strcmp(flag->key, "recipe") == 0 || strcmp(flag->key, "width") == 0;
    bool fine = format ? rh_recipe_by_name(value) != NULL
                       : is_own_key(flag->key) || rh_deployment_parse(item, &d, NULL);
    if (!fine)
        printf("\n%s: %s\n", flag->names[0], item);
    CU_ASSERT_TRUE(fine);
}

static void every_row_means_a_key(void)
{
    for (const char *const *name = rh_serving_engine_names(); *name; name++) {
        GError *error = NULL;
        const RhEngine *e = rh_serving_engine(*name, &error);
        g_assert_no_error(error);
        for (guint i = 0; i < e->flags->len; i++) {
            const RhEngineOption *flag = &g_array_index(e->flags, RhEngineOption, i);
            if (flag->kind == RH_ENGINE_FLAG_NUMBER || flag->kind == RH_ENGINE_FLAG_TOKENS)
                check_value(flag, "4");
            if (flag->on)
                check_value(flag, flag->on);
            if (flag->off)
                check_value(flag, flag->off);
            for (const RhEngineOptionValue *w = flag->words; w->said; w++)
                if (*w->means)
                    check_value(flag, w->means);
        }
    }
}

static void no_flag_stands_twice(void)
{
    for (const char *const *name = rh_serving_engine_names(); *name; name++) {
        const RhEngine *e = rh_serving_engine(*name, NULL);
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        for (guint i = 0; i < e->flags->len; i++) {
            const RhEngineOption *flag = &g_array_index(e->flags, RhEngineOption, i);
            for (int k = 0; flag->names[k]; k++) {
                char *path = rh_engine_path(flag->names[k]);
                bool first = !g_hash_table_contains(seen, path) || k > 0;
                if (!first)
                    printf("\n%s: %s stands twice\n", *name, path);
                CU_ASSERT_TRUE(first);
                CU_ASSERT_PTR_EQUAL(rh_engine_flag(e, path), flag);
                g_hash_table_add(seen, path);
            }
        }
    }
}

static void every_version_has_a_server(void)
{
    for (const char *const *name = rh_serving_engine_names(); *name; name++) {
        const RhEngine *e = rh_serving_engine(*name, NULL);
        CU_ASSERT_STRING_EQUAL(rh_engine_server(e, NULL), *name);
        for (guint i = 0; i < e->servers->len; i++) {
            const RhEngineServer *row = &g_array_index(e->servers, RhEngineServer, i);
            CU_ASSERT_TRUE(g_strv_contains(rh_server_names(), row->server));
            CU_ASSERT_STRING_EQUAL(rh_engine_server(e, row->from), row->server);
        }
    }
    const RhEngine *vllm = rh_serving_engine("vllm", NULL);
    CU_ASSERT_STRING_EQUAL(rh_engine_server(vllm, "0.7.3"), "vllm-0.7");
    CU_ASSERT_STRING_EQUAL(rh_engine_server(vllm, "0.10.2"), "vllm-0.10");
    CU_ASSERT_STRING_EQUAL(rh_engine_server(vllm, "0.24.0"), "vllm");
}

static void versions_are_compared_by_number(void)
{
    CU_ASSERT_TRUE(rh_version_compare("0.9.2", "0.10") < 0);
    CU_ASSERT_TRUE(rh_version_compare("0.10.1", "0.10") > 0);
    CU_ASSERT_EQUAL(rh_version_compare("1.0", "1.0.0"), 0);
    CU_ASSERT_TRUE(rh_version_compare("1.0.0rc3", "0.21") > 0);
}

int main(void)
{
    return rh_test_main(
        "serving_engine",
        (RhTest[]){{"every_row_means_a_key", every_row_means_a_key},
                   {"no_flag_stands_twice", no_flag_stands_twice},
                   {"every_version_has_a_server", every_version_has_a_server},
                   {"versions_are_compared_by_number", versions_are_compared_by_number},
                   {0}});
}
