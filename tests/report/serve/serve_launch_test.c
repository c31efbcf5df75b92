/* Launches of servers in words that their parsers know. */
#include <string.h>

#include "base/catalogue_folders.h"
#include "report/serve/serve.h"
#include "strategies/serve/deployment.h"
#include "tests/kit/testkit.h"

static char *flags(void)
{
    g_autofree char *path =
        g_build_filename(rh_data_dir(), "strategies", "data", "serving-flags.txt", NULL);
    char *text = NULL;
    CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

static bool is_known(const char *flags, const char *server, const char *word)
{
    g_autofree char *line = g_strdup_printf("\n%s %s\n", server, word);
    return strstr(flags, line) != NULL;
}

/* Every option of the text that starts with two dashes; how many there are. */
static int check_words(const char *known, const char *server, const char *text)
{
    g_auto(GStrv) words = g_strsplit_set(text, " \n", -1);
    int count = 0;
    for (char **word = words; *word; word++) {
        if (!g_str_has_prefix(*word, "--"))
            continue;
        count++;
        if (!is_known(known, server, *word))
            printf("\n%s has no %s\n", server, *word);
        CU_ASSERT_TRUE(is_known(known, server, *word));
    }
    return count;
}

/* "(options as of vLLM 99d7eb5d)" names the commit that the list is of. */
static void check_commit(const char *known, const char *text)
{
    const char *close = strstr(text, "):\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(close);
    g_autofree char *commit = g_strndup(close - 8, 8);
    g_autofree char *line = g_strconcat("commit ", commit, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(known, line));
}

/* Deployments that use every key a server can be told. */
static void every_word_is_of_its_parser(void)
{
    static const struct {
        const char *deployment;
        int words; /* at least */
    } rows[] = {
        {"server=vllm,tp8,pp2,batch=64,chunk=2048,kv=fp8,prefix=off,blocks=1000,memory=85", 8},
        {"server=vllm,tp1,dp8,ep8,batch=64", 3},
        {"server=sglang,tp8,pp2,batch=64,chunk=2048,kv=fp8,prefix=off,blocks=1000,memory=85", 9},
        {"server=sglang,tp8,ep8,order=lpm", 4},
        {"server=sglang,tp2,dp4,ep8,batch=64", 5},
        {"server=trtllm,tp1,dp8,ep8,batch=64", 4},
        {"server=trtllm,tp8,pp2,ep8,batch=64,chunk=2048,memory=85", 7},
        {"server=vllm,tp2,replicas=2/tp4", 4},
        {"server=sglang,tp2,replicas=2/tp4", 6},
        {"server=trtllm,tp2,replicas=2/tp4", 6}};
    g_autofree char *known = flags();
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhDeployment d = rh_deployment_default();
        CU_ASSERT_TRUE_FATAL(rh_deployment_parse(rows[i].deployment, &d, NULL));
        g_autofree char *text = rh_report_serve_launch(&d, &(RhLaunchedModel){"model", "fp8"});
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT_TRUE(check_words(known, d.server, text) >= rows[i].words);
        check_commit(known, text);
    }
    CU_ASSERT_FALSE(is_known(known, "vllm", "--tp-size"));
}

static char *launch_in(const char *recipe, const char *deployment)
{
    RhDeployment d = rh_deployment_default();
    CU_ASSERT_TRUE_FATAL(rh_deployment_parse(deployment, &d, NULL));
    return rh_report_serve_launch(&d, &(RhLaunchedModel){"model", recipe});
}

static char *launch(const char *deployment)
{
    return launch_in("bf16", deployment);
}

/* A deployment's batch and chunk are of one group of attention (rh_service_settled), as vLLM's are; SGLang's are of
 * all groups, whose tensor degree counts all ranks, too; TensorRT-LLM makes a group of each tensor rank, and counts
 * its requests. */
static void groups_of_attention_are_counted_as_the_server_does(void)
{
    g_autofree char *sglang = launch("server=sglang,tp2,dp4,ep8,batch=64,chunk=2048");
    CU_ASSERT_PTR_NOT_NULL(strstr(sglang, "--tp-size 8 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(sglang, "--dp-size 4 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(sglang, "--enable-dp-attention "));
    CU_ASSERT_PTR_NOT_NULL(strstr(sglang, "--max-running-requests 256 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(sglang, "--chunked-prefill-size 8192\n"));
    g_autofree char *trtllm = launch("server=trtllm,tp1,dp8,ep8,batch=64");
    CU_ASSERT_PTR_NOT_NULL(strstr(trtllm, "enable_attention_dp: true\nEND\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(trtllm, "--config attention-dp.yaml "));
    CU_ASSERT_PTR_NOT_NULL(strstr(trtllm, "--tp_size 8 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(trtllm, "--max_batch_size 64 "));
    g_autofree char *unsaid = launch("server=trtllm,tp2,dp4,ep8");
    CU_ASSERT_PTR_NULL(strstr(unsaid, "enable_attention_dp"));
    CU_ASSERT_PTR_NOT_NULL(strstr(unsaid, "# this server has no option for attention groups"));
    g_autofree char *vllm = launch("server=vllm,tp2,dp4,batch=64");
    CU_ASSERT_PTR_NOT_NULL(strstr(vllm, "--tensor-parallel-size 2 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(vllm, "--max-num-seqs 64\n"));
}

/* Each pool is told what it does, and in front of both is what knows them. */
static void pools_have_roles(void)
{
    g_autofree char *vllm = launch("server=vllm,tp2/tp4"),
                    *sglang = launch("server=sglang,tp2/tp4");
    g_autofree char *trtllm = launch("server=trtllm,tp2/tp1,dp4"), *one = launch("server=vllm,tp2");
    static const char *const roles[][2] = {
        {"\"kv_role\":\"kv_producer\"", "\"kv_role\":\"kv_consumer\""},
        {"--disaggregation-mode prefill", "--disaggregation-mode decode"},
        {"--config context.yaml", "--config generation.yaml"}};
    const char *const texts[] = {vllm, sglang, trtllm};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        const char *reads = strstr(texts[i], roles[i][0]), *makes = strstr(texts[i], roles[i][1]);
        CU_ASSERT_TRUE(reads && makes && reads < makes);
        CU_ASSERT_PTR_NOT_NULL(strstr(makes, "\n# "));
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(
        trtllm,
        "disable_overlap_scheduler: true\ncache_transceiver_config:\n  backend: DEFAULT\nEND\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(
        trtllm, "enable_attention_dp: true\ncache_transceiver_config:\n  backend: DEFAULT\nEND\n"));
    CU_ASSERT_PTR_NULL(strstr(one, "kv-transfer"));
}

/* The format of weights is set by an option where the server makes it from 16 bits; else it is that
 * of the files. */
static void formats_of_weights_are_said(void)
{
    static const struct {
        const char *recipe, *server, *said;
    } rows[] = {{"fp8", "vllm", "--quantization fp8 "},
                {"fp8", "sglang", "--quantization fp8 "},
                {"mxfp8", "sglang", "--quantization mxfp8 "},
                {"fp8", "trtllm", "in fp8 already"},
                {"fp8-block", "vllm", "in fp8-block already"},
                {"nvfp4", "vllm", "in nvfp4 already"},
                {"int4-weights", "sglang", "in int4-weights already"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *deployment = g_strdup_printf("server=%s,tp2", rows[i].server);
        g_autofree char *text = launch_in(rows[i].recipe, deployment);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, rows[i].said));
        g_autofree char *wide = launch(deployment);
        CU_ASSERT_PTR_NULL(strstr(wide, "quanti"));
        CU_ASSERT_PTR_NULL(strstr(wide, "already"));
    }
}

/* A plan whose prompts are cut is of a server that cuts them: TensorRT-LLM does so where it is told. */
static void prompts_are_cut_as_planned(void)
{
    g_autofree char *trtllm = launch("server=trtllm,tp2,chunk=2048");
    CU_ASSERT_PTR_NOT_NULL(strstr(trtllm, "--enable_chunked_prefill"));
}

/* The table names a project, a commit and a file for each server. */
static void each_server_names_its_source(void)
{
    static const char *const sources[] = {"# project vllm: vllm-project/vllm, commit ",
                                          "# project sglang: sgl-project/sglang, commit ",
                                          "# project trtllm: NVIDIA/TensorRT-LLM, commit "};
    g_autofree char *known = flags();
    for (size_t i = 0; i < G_N_ELEMENTS(sources); i++) {
        const char *at = strstr(known, sources[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        const char *commit = at + strlen(sources[i]);
        CU_ASSERT_EQUAL(strspn(commit, "0123456789abcdef"), 40);
    }
}

int main(void)
{
    static const RhTest tests[] = {{"every word is of its parser", every_word_is_of_its_parser},
                                   {"groups of attention are counted as the server does",
                                    groups_of_attention_are_counted_as_the_server_does},
                                   {"pools have roles", pools_have_roles},
                                   {"formats of weights are said", formats_of_weights_are_said},
                                   {"prompts are cut as planned", prompts_are_cut_as_planned},
                                   {"each server names its source", each_server_names_its_source},
                                   {0}};
    return rh_test_main("serve_launch", tests);
}
