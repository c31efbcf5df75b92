/* The longest request of a deployment, and what is named as making room does so. */
#include <string.h>

#include "base/error.h"
#include "tests/kit/serve_kit.h"
#include "workloads/precision_recipe.h"

/* Opens the deployment with one thing that the help names: a key, keys, or "weights in fp8". */
static bool opens_with(const Setting *setting, const char *item)
{
    RhServing serving = setting->serving;
    RhDeployment d = setting->deployment;
    if (g_str_has_prefix(item, "weights in "))
        serving.recipe = rh_recipe_by_name(item + strlen("weights in "));
    else
        CU_ASSERT_TRUE(rh_deployment_parse(item, &d, NULL));
    g_autoptr(RhService) service = rh_service_new(&serving, &d, NULL);
    return service != NULL;
}

/* Returns what the help of an error names; frees with g_strfreev. */
static char **named(const char *message)
{
    const char *help = strstr(message, "\nhelp: ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(help);
    g_autofree char *text = g_strdup(help + strlen("\nhelp: "));
    char *end = strstr(text, " makes room");
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    *end = 0;
    return g_strsplit(text, ", or ", -1);
}

static GError *refusal(const Setting *setting)
{
    GError *error = NULL;
    g_autoptr(RhService) service = rh_service_new(&setting->serving, &setting->deployment, &error);
    CU_ASSERT_PTR_NULL(service);
    rh_service_room(&setting->serving, &setting->deployment, &error);
    return error;
}

static void what_is_named_makes_room(void)
{
    static const struct {
        const char *model, *platform, *deployment, *first;
    } rows[] = {{"llama-3.1-405b", "dgx-h100", "tp8", "weights in fp8"},
                {"llama-3.1-70b", "dgx-h100", "tp1", "tp2"},
                {"llama-3.1-8b", "l4:1x1", "tp1,max_model_len=28000,memory=88", "memory="},
                {"llama-3.1-8b", "l4:1x1", "tp1,max_model_len=50000", "kv=fp8"},
                {"llama-3.1-8b", "l4:1x1", "tp1,max_model_len=131072", "max_model_len="},
                {"llama-3.1-8b", "h100-sxm:1x1", "server=trtllm,tp1,batch=1000000", "batch="},
                {"llama-3.1-70b", "dgx-h100", "server=sglang,tp2,memory=80", "memory="}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Setting setting = setting_of(rows[i].model, rows[i].platform, rows[i].deployment);
        g_autoptr(GError) error = refusal(&setting);
        CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER));
        g_auto(GStrv) items = named(error->message);
        CU_ASSERT_TRUE(g_str_has_prefix(items[0], rows[i].first));
        for (char **item = items; *item; item++) {
            if (!opens_with(&setting, *item))
                printf("\n%s on %s with %s: no room\n", rows[i].model, rows[i].deployment, *item);
            CU_ASSERT_TRUE(opens_with(&setting, *item));
        }
        close_setting(&setting);
    }
}

/* The least memory that is enough is named, and the longest request that fits. */
static void no_more_than_needed_is_named(void)
{
    Setting setting = setting_of("llama-3.1-8b", "l4:1x1", "tp1,max_model_len=28000,memory=88");
    g_autoptr(GError) error = refusal(&setting);
    g_auto(GStrv) items = named(error->message);
    int32_t percent = atoi(items[0] + strlen("memory="));
    g_autofree char *less = g_strdup_printf("memory=%d", percent - 1);
    CU_ASSERT_FALSE(opens_with(&setting, less));
    close_setting(&setting);
    Setting longest = setting_of("llama-3.1-8b", "l4:1x1", "tp1,max_model_len=131072");
    g_autoptr(GError) too_long = refusal(&longest);
    g_auto(GStrv) lengths = named(too_long->message);
    g_autofree char *more =
        g_strdup_printf("max_model_len=%d", 1 + atoi(lengths[0] + strlen("max_model_len=")));
    CU_ASSERT_FALSE(opens_with(&longest, more));
    close_setting(&longest);
}

/* vLLM does not start where a longest request does not fit; SGLang and TensorRT-LLM do. */
static void the_longest_request_must_fit_where_the_server_says_so(void)
{
    static const struct {
        const char *deployment;
        bool opens;
    } rows[] = {{"tp1,max_model_len=131072", false},
                {"tp1,max_model_len=16384", true},
                {"server=sglang,tp1,max_model_len=131072", true},
                {"server=trtllm,tp1,max_model_len=131072", true}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Setting setting = setting_of("llama-3.1-8b", "l4:1x1", rows[i].deployment);
        CU_ASSERT_EQUAL(opens_with(&setting, "pp1"), rows[i].opens);
        close_setting(&setting);
    }
}

/* Longer requests are refused, those of that length are not. */
static void longer_requests_are_refused(void)
{
    Setting setting = setting_of("llama-3.1-8b", "h100-sxm:1x1", "tp1,max_model_len=1000");
    g_autoptr(RhService) service = rh_service_new(&setting.serving, &setting.deployment, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(service);
    static const char text[] =
        "arrival_s,input_tokens,output_tokens\n0,900,100\n1,901,100\n2,5,5\n";
    g_autoptr(RhRequests) list = rh_requests_parse("text", text, strlen(text), false, NULL);
    CU_ASSERT_EQUAL(rh_service_too_long(service, list), 1);
    close_setting(&setting);
}

int main(void)
{
    return rh_test_main("service_memory_suggest",
                        (RhTest[]){{"what_is_named_makes_room", what_is_named_makes_room},
                                   {"no_more_than_needed_is_named", no_more_than_needed_is_named},
                                   {"the_longest_request_must_fit_where_the_server_says_so",
                                    the_longest_request_must_fit_where_the_server_says_so},
                                   {"longer_requests_are_refused", longer_requests_are_refused},
                                   {0}});
}
