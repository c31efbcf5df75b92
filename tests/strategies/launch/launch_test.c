/* Launch flags: every knob is said or refused, and Megatron-LM's own rules hold. */
#include <string.h>

#include "base/error.h"
#include "strategies/knobs.h"
#include "strategies/launch/launch.h"
#include "strategies/layer_partition.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* The word after `flag`; "" for a flag without a value, NULL when it is not there. */
static const char *value_of(char *const *words, const char *flag)
{
    for (; *words; words++)
        if (strcmp(*words, flag) == 0)
            return words[1] && !g_str_has_prefix(words[1], "--") ? words[1] : "";
    return NULL;
}

static GStrv flags_of(const TrainKit *k, const char *text)
{
    RhLayout l = train_layout(k, text);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhLaunch) launch = rh_launch_new("megatron", &k->c, &l, &error);
    g_assert_no_error(error);
    return g_strsplit(launch->flags, " ", -1);
}

static void check_flags(const TrainKit *k, const char *text, const char *const (*wanted)[2])
{
    g_auto(GStrv) words = flags_of(k, text);
    for (; (*wanted)[0]; wanted++) {
        const char *value = value_of(words, (*wanted)[0]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(value);
        CU_ASSERT_STRING_EQUAL(value, (*wanted)[1]);
    }
}

/* --- the model and the job, without which Megatron-LM does not start --- */

static void a_llama_is_said_in_full(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-405b", "dgx-h100:128", "megatron", 1024, 8192);
    check_flags(&k, "tp8,pp16,recompute=selective",
                (const char *const[][2]){{"--num-layers", "126"},
                                         {"--hidden-size", "16384"},
                                         {"--num-attention-heads", "128"},
                                         {"--group-query-attention", ""},
                                         {"--num-query-groups", "8"},
                                         {"--ffn-hidden-size", "53248"},
                                         {"--swiglu", ""},
                                         {"--seq-length", "8192"},
                                         {"--max-position-embeddings", "131072"},
                                         {"--position-embedding-type", "rope"},
                                         {"--rotary-base", "500000"},
                                         {"--normalization", "RMSNorm"},
                                         {"--disable-bias-linear", ""},
                                         {"--untie-embeddings-and-output-weights", ""},
                                         {"--attention-dropout", "0"},
                                         {"--hidden-dropout", "0"},
                                         {"--micro-batch-size", "1"},
                                         {"--global-batch-size", "1024"},
                                         {"--bf16", ""},
                                         {"--transformer-impl", "transformer_engine"},
                                         {"--tokenizer-model", "$TOKENIZER"},
                                         {"--sequence-parallel", ""},
                                         {"--recompute-granularity", "selective"},
                                         {0}});
}

/* Gradients of one replica alone are not reduced: no flag overlaps it. */
static void one_replica_overlaps_no_reduction(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 64, 4096);
    g_auto(GStrv) one = flags_of(&k, "tp4,pp2,dp1,zero0"), two = flags_of(&k, "tp4,dp2,zero0");
    CU_ASSERT_PTR_NULL(value_of(one, "--overlap-grad-reduce"));
    CU_ASSERT_PTR_NOT_NULL(value_of(two, "--overlap-grad-reduce"));
    CU_ASSERT_PTR_NULL(value_of(two, "--use-distributed-optimizer"));
}

static void models_differ_in_what_is_said(void)
{
    g_auto(TrainKit) gpt = train_kit("gpt2", "dgx-h100:1", "megatron", 64, 1024);
    check_flags(&gpt, "tp2",
                (const char *const[][2]){{"--ffn-hidden-size", "3072"},
                                         {"--position-embedding-type", "learned_absolute"},
                                         {"--normalization", "LayerNorm"},
                                         {"--hidden-dropout", "0.1"},
                                         {0}});
    g_auto(GStrv) words = flags_of(&gpt, "tp2");
    static const char *const absent[] = {"--swiglu", "--disable-bias-linear", "--rotary-base",
                                         "--untie-embeddings-and-output-weights",
                                         "--num-query-groups"};
    for (size_t i = 0; i < G_N_ELEMENTS(absent); i++)
        CU_ASSERT_PTR_NULL(value_of(words, absent[i]));
    g_auto(TrainKit) qwen2 = train_kit("qwen2.5-7b", "dgx-h100:1", "megatron", 64, 1024);
    check_flags(&qwen2, "tp4", (const char *const[][2]){{"--add-qkv-bias", ""}, {0}});
    g_auto(TrainKit) qwen3 = train_kit("qwen3-32b", "dgx-h100:1", "megatron", 64, 1024);
    check_flags(&qwen3, "tp8",
                (const char *const[][2]){{"--qk-layernorm", ""}, {"--kv-channels", "128"}, {0}});
    g_auto(TrainKit) mistral = train_kit("mistral-7b", "dgx-h100:1", "megatron", 64, 1024);
    check_flags(&mistral, "tp8", (const char *const[][2]){{"--window-size", "4096,0"}, {0}});
}

static void experts_are_said_in_full(void)
{
    g_auto(TrainKit) k = train_kit("deepseek-v3", "dgx-h100:32", "megatron", 1024, 4096);
    check_flags(&k, "tp2,pp16,dp8,ep16,etp1,stages=3-4x14-2",
                (const char *const[][2]){{"--expert-model-parallel-size", "16"},
                                         {"--expert-tensor-parallel-size", "1"},
                                         {"--num-experts", "256"},
                                         {"--moe-router-topk", "8"},
                                         {"--moe-ffn-hidden-size", "2048"},
                                         {"--ffn-hidden-size", "18432"},
                                         {"--moe-shared-expert-intermediate-size", "2048"},
                                         {"--moe-layer-freq", "'([0]*3+[1]*58)'"},
                                         {"--moe-token-dispatcher-type", "alltoall"},
                                         {"--moe-grouped-gemm", ""},
                                         {"--multi-latent-attention", ""},
                                         {"--q-lora-rank", "1536"},
                                         {"--kv-lora-rank", "512"},
                                         {"--qk-head-dim", "128"},
                                         {"--qk-pos-emb-head-dim", "64"},
                                         {"--v-head-dim", "128"},
                                         {0}});
    g_auto(TrainKit) mixtral = train_kit("mixtral-8x7b", "dgx-h100:2", "megatron", 64, 4096);
    g_auto(GStrv) words = flags_of(&mixtral, "tp2,dp8,ep8");
    CU_ASSERT_STRING_EQUAL(value_of(words, "--ffn-hidden-size"), "14336");
    CU_ASSERT_PTR_NULL(value_of(words, "--expert-tensor-parallel-size"));
    CU_ASSERT_PTR_NULL(value_of(words, "--moe-layer-freq"));
}

/* --- names --- */

static void every_flag_is_a_flag_of_megatron(void)
{
    g_autofree char *list = NULL,
                    *path = g_build_filename(g_getenv("REHEARSE_DATA") ? g_getenv("REHEARSE_DATA")
                                                                       : RH_DATA_DIR,
                                             "strategies", "data", "megatron-flags.txt", NULL);
    CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &list, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(list, "\n", -1);
    static const struct {
        const char *model, *layout;
    } cases[] = {
        {"llama-3.1-70b", "tp8,pp8,vpp5,recompute=selective"},
        {"llama-3.1-70b", "tp8,pp4,order=tp-pp-dp"},
        {"llama-3.1-70b", "tp8,pp2,vpp20,recompute=full"},
        {"llama-3.1-70b", "tp8,pp1,zero3"},
        {"qwen3-32b", "tp4,pp1,zero2,sp=off"},
        {"qwen2.5-72b", "tp8,pp4,zero0"},
        {"mistral-7b", "tp8,pp3,dp2"},
        {"gpt3-175b", "tp4,pp2,stages=40-56"},
        {"deepseek-v3", "tp2,pp4,ep8,etp1,stages=15-15-15-16"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        bool odd = strstr(cases[i].layout, "pp3") != NULL;
        g_auto(TrainKit) k =
            train_kit(cases[i].model, odd ? "dgx-h100:6" : "dgx-h100:8", "megatron", 512, 2048);
        g_auto(GStrv) words = flags_of(&k, cases[i].layout);
        for (char **word = words; *word; word++)
            if (g_str_has_prefix(*word, "--"))
                CU_ASSERT_TRUE(g_strv_contains((const char *const *)lines, *word));
    }
}

static void modules_are_said_as_megatron_names_them(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:1", "megatron", 16, 4096);
    static const struct {
        const char *layout, *granularity, *first;
    } cases[] = {{"ep8", NULL, NULL},
                 {"ep8,recompute=core_attn", "selective", NULL},
                 {"ep8,recompute=moe_act+layernorm", "selective", "layernorm"},
                 {"ep8,recompute=full", "full", NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(GStrv) words = flags_of(&k, cases[i].layout);
        CU_ASSERT_EQUAL(g_strcmp0(value_of(words, "--recompute-granularity"), cases[i].granularity),
                        0);
        CU_ASSERT_EQUAL(g_strcmp0(value_of(words, "--recompute-modules"), cases[i].first), 0);
    }
}

static void layers_that_are_recomputed_are_counted_as_megatron_does(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 16, 4096);
    check_flags(&k, "tp2,pp4,recompute=full,relayers=3",
                (const char *const[][2]){{"--recompute-method", "block"},
                                         {"--recompute-num-layers", "3"},
                                         {NULL, NULL}});
    check_flags(&k, "tp2,pp4,recompute=full,relayers=5x4",
                (const char *const[][2]){{"--recompute-num-layers", "5"}, {NULL, NULL}});
    static const char *const refused[] = {"tp2,pp4,recompute=full,relayers=4-3-2-1",
                                          "tp2,pp4,recompute=layernorm,relayers=3"};
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        RhLayout l = train_layout(&k, refused[i]);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_launch_new("megatron", &k.c, &l, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
}

static void context_kinds_are_said_as_megatron_names_them(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 64, 32768);
    static const struct {
        const char *layout, *kind, *sizes;
    } cases[] = {{"cp4", NULL, NULL},
                 {"cp4,kv=gather", "all_gather", NULL},
                 {"tp2,cp4,ulysses4", "a2a", NULL},
                 {"cp8,ulysses2", "a2a+p2p", "2"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(GStrv) words = flags_of(&k, cases[i].layout);
        CU_ASSERT_EQUAL(g_strcmp0(value_of(words, "--cp-comm-type"), cases[i].kind), 0);
        CU_ASSERT_EQUAL(
            g_strcmp0(value_of(words, "--hierarchical-context-parallel-sizes"), cases[i].sizes), 0);
    }
    static const char *const refused[] = {"cp8,ulysses2,kv=gather", "cp16,ulysses16"};
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        RhLayout l = train_layout(&k, refused[i]);
        CU_ASSERT_PTR_NULL(rh_launch_new("megatron", &k.c, &l, NULL));
    }
}

/* --- sharding, and what it excludes --- */

/* Launches of sharded layouts overlap what the rehearsal does, and set what Megatron-FSDP
 * requires. */
static void sharded_layouts_are_launched_with_all_they_need(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:8", "megatron", 512, 8192);
    static const char *const overlaps[] = {"--overlap-grad-reduce", "--overlap-param-gather",
                                           "--use-distributed-optimizer"};
    for (int32_t zero = 0; zero <= 3; zero++) {
        g_autofree char *text = g_strdup_printf("tp8,pp1,zero%d", zero);
        g_auto(GStrv) words = flags_of(&k, text);
        for (size_t i = 0; i < G_N_ELEMENTS(overlaps); i++)
            CU_ASSERT_EQUAL(value_of(words, overlaps[i]) != NULL, zero >= 1 || i == 0);
        CU_ASSERT_EQUAL(value_of(words, "--no-gradient-accumulation-fusion") != NULL, zero >= 2);
        CU_ASSERT_EQUAL(value_of(words, "--use-megatron-fsdp") != NULL, zero >= 2);
    }
    check_flags(&k, "tp8,pp1,zero1,shard4",
                (const char *const[][2]){{"--num-distributed-optimizer-instances", "2"}, {0}});
    check_flags(&k, "tp8,tpoverlap=on", (const char *const[][2]){{"--tp-comm-overlap", ""}, {0}});
}

static void the_environment_follows_tensor_parallelism_and_sharding(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:8", "megatron", 512, 8192);
    static const struct {
        const char *layout, *environment, *note;
    } cases[] = {{"tp8,zero0", "CUDA_DEVICE_MAX_CONNECTIONS=1", "requires"},
                 {"tp8,pp2,zero1", "CUDA_DEVICE_MAX_CONNECTIONS=1", "requires"},
                 {"tp1,pp8,zero1", "", "before you run this"},
                 {"cp4,zero1", "CUDA_DEVICE_MAX_CONNECTIONS=1", "requires"},
                 {"tp1,zero3", "CUDA_DEVICE_MAX_CONNECTIONS=8", "refuses"},
                 {"tp8,zero3", "CUDA_DEVICE_MAX_CONNECTIONS=8", "will warn"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        RhLayout l = train_layout(&k, cases[i].layout);
        g_autoptr(RhLaunch) launch = rh_launch_new("megatron", &k.c, &l, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(launch);
        CU_ASSERT_STRING_EQUAL(launch->environment, cases[i].environment);
        CU_ASSERT_PTR_NOT_NULL(strstr(launch->notes, cases[i].note));
    }
}

static void what_the_framework_cannot_run_is_refused_by_name(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:8", "bare", 512, 8192);
    static const struct {
        const char *framework, *layout, *reason;
    } cases[] = {{"megatron", "tp8,pp4,schedule=gpipe", "schedule=gpipe"},
                 {"megatron", "tp8,pp2,zero2", "Megatron-FSDP"},
                 {"megatron", "tp8,pp2,zero3,order=tp-pp-dp", "pipeline"},
                 {"fairscale", "tp8", "fairscale"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        RhLayout l = train_layout(&k, cases[i].layout);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_launch_new(cases[i].framework, &k.c, &l, &error));
        CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, cases[i].reason));
    }
}

static void pairs_are_said_where_they_run(void)
{
    g_auto(TrainKit) k = train_kit("qwen3-30b-a3b", "dgx-h100:2", "megatron", 64, 4096);
    check_flags(&k, "pp2,dp8,ep8,vpp2,epoverlap=pairs",
                (const char *const[][2]){{"--overlap-moe-expert-parallel-comm", ""}, {0}});
    check_flags(&k, "dp16,ep8,epoverlap=pairs",
                (const char *const[][2]){{"--overlap-moe-expert-parallel-comm", ""}, {0}});
    static const char *const refused[] = {"pp2,dp8,ep8,epoverlap=pairs",
                                          "dp16,ep8,recompute=full,epoverlap=pairs",
                                          "dp16,ep8,mb2,epoverlap=batches"};
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        RhLayout l = train_layout(&k, refused[i]);
        CU_ASSERT_PTR_NULL(rh_launch_new("megatron", &k.c, &l, NULL));
    }
}

/* Every knob is either launched or refused. */
static void no_knob_is_left_out(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:8", "megatron", 512, 8192);
    RhLayout l = train_layout(&k, "tp8");
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        RhLayout other = l;
        if (knob->list || knob->degree || knob->high == l.microbatch)
            continue;
        g_autoptr(RhLaunch) before = rh_launch_new("megatron", &k.c, &l, NULL);
        int32_t value = rh_knob_value(knob, &l);
        rh_knob_store(knob, &other, value < knob->high ? value + 1 : knob->low);
        g_autoptr(RhLaunch) after = rh_launch_new("megatron", &k.c, &other, NULL);
        bool elsewhere = strcmp(knob->key, "schedule") == 0 ||  /* vpp says it */
                         strcmp(knob->key, "partition") == 0 || /* and this the pipeline */
                         strcmp(knob->key, "hosted") == 0;      /* nothing without states=host */
        CU_ASSERT_TRUE(!after || elsewhere || strcmp(before->flags, after->flags) != 0);
    }
}

/* --- uneven pipelines --- */

/* Chunks of 'E|(t*1|)*126L', as Megatron-LM's parser reads it: groups, then layers, unrolled. */
static GStrv chunks_of(const char *quoted)
{
    g_autofree char *text = g_strndup(quoted + 1, strlen(quoted) - 2);
    static const char *const patterns[] = {"\\(([^)]+)\\)\\*(\\d+)", "(.)\\*(\\d+)"};
    g_autoptr(GString) s = g_string_new(text);
    for (size_t i = 0; i < G_N_ELEMENTS(patterns); i++) {
        g_autoptr(GRegex) regex = g_regex_new(patterns[i], 0, 0, NULL);
        for (bool found = true; found;) {
            g_autoptr(GMatchInfo) match = NULL;
            int start, end;
            found = g_regex_match(regex, s->str, 0, &match);
            if (!found)
                break;
            g_autofree char *held = g_match_info_fetch(match, 1);
            g_autofree char *count = g_match_info_fetch(match, 2);
            g_match_info_fetch_pos(match, 0, &start, &end);
            g_string_erase(s, start, end - start);
            for (int64_t k = g_ascii_strtoll(count, NULL, 10); k > 0; k--)
                g_string_insert(s, start, held);
        }
    }
    return g_strsplit(s->str, "|", -1);
}

static void uneven_pipelines_are_said_chunk_by_chunk(void)
{
    static const char *const layouts[] = {"tp8,pp16,vpp8,dp8,recompute=full", "tp8,pp16,vpp1",
                                          "tp8,pp4,stages=30-33-33-30", "tp8,pp2,stages=62-64",
                                          "tp8,pp4,partition=work"};
    g_auto(TrainKit) k = train_kit("llama-3.1-405b", "dgx-h100:128", "megatron", 1024, 8192);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        g_auto(GStrv) words = flags_of(&k, layouts[i]);
        const char *split = value_of(words, "--pipeline-model-parallel-layout");
        CU_ASSERT_PTR_NOT_NULL_FATAL(split);
        CU_ASSERT_PTR_NULL(value_of(words, "--num-virtual-stages-per-pipeline-rank"));
        g_auto(GStrv) chunks = chunks_of(split);
        guint count = (guint)(l.pp * l.vpp);
        CU_ASSERT_EQUAL_FATAL(g_strv_length(chunks), count);
        int32_t layers[256];
        rh_partition_layers(&k.c, &l, layers);
        for (guint g = 0; g < count; g++) {
            g_autoptr(GString) held = g_string_new(g == 0 ? "E" : "");
            for (int32_t j = 0; j < layers[g]; j++)
                g_string_append_c(held, 't');
            g_string_append(held, g == count - 1 ? "L" : "");
            CU_ASSERT_STRING_EQUAL(chunks[g], held->str);
        }
    }
    check_flags(&k, "tp8,cp4", (const char *const[][2]){{"--context-parallel-size", "4"}, {0}});
    check_flags(&k, "tp8,pp2,vpp63",
                (const char *const[][2]){{"--num-virtual-stages-per-pipeline-rank", "63"}, {0}});
}

int main(void)
{
    return rh_test_main(
        "launch",
        (RhTest[]){
            {"a_llama_is_said_in_full", a_llama_is_said_in_full},
            {"one_replica_overlaps_no_reduction", one_replica_overlaps_no_reduction},
            {"models_differ_in_what_is_said", models_differ_in_what_is_said},
            {"experts_are_said_in_full", experts_are_said_in_full},
            {"every_flag_is_a_flag_of_megatron", every_flag_is_a_flag_of_megatron},
            {"modules_are_said_as_megatron_names_them", modules_are_said_as_megatron_names_them},
            {"layers_that_are_recomputed_are_counted_as_megatron_does",
             layers_that_are_recomputed_are_counted_as_megatron_does},
            {"context_kinds_are_said_as_megatron_names_them",
             context_kinds_are_said_as_megatron_names_them},
            {"sharded_layouts_are_launched_with_all_they_need",
             sharded_layouts_are_launched_with_all_they_need},
            {"the_environment_follows_tensor_parallelism_and_sharding",
             the_environment_follows_tensor_parallelism_and_sharding},
            {"what_the_framework_cannot_run_is_refused_by_name",
             what_the_framework_cannot_run_is_refused_by_name},
            {"pairs_are_said_where_they_run", pairs_are_said_where_they_run},
            {"no_knob_is_left_out", no_knob_is_left_out},
            {"uneven_pipelines_are_said_chunk_by_chunk", uneven_pipelines_are_said_chunk_by_chunk},
            {0}});
}
