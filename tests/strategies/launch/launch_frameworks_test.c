/* Launches of TorchTitan and DeepSpeed, and scripts around any framework: names exist, layouts are
 * launched or refused by the projects' own rules. */
#include <string.h>

#include "base/error.h"
#include "strategies/knobs.h"
#include "strategies/launch/launch.h"
#include "strategies/layer_partition.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static RhLaunch *launch_of(const TrainKit *k, const char *framework, const char *text)
{
    RhLayout l = train_layout(k, text);
    g_autoptr(GError) error = NULL;
    RhLaunch *launch = rh_launch_new(framework, &k->c, &l, &error);
    g_assert_no_error(error);
    return launch;
}

static bool says(const RhLaunch *launch, const char *words)
{
    g_autofree char *all = g_strconcat(" ", launch->flags, " ", NULL);
    g_autofree char *sought = g_strconcat(" ", words, " ", NULL);
    return strstr(all, sought) != NULL;
}

/* --- names --- */

static GStrv names_of(const char *framework)
{
    g_autofree char *file = g_strdup_printf("%s-flags.txt", framework), *list = NULL;
    g_autofree char *path =
        g_build_filename(g_getenv("REHEARSE_DATA") ? g_getenv("REHEARSE_DATA") : RH_DATA_DIR,
                         "strategies", "data", file, NULL);
    g_assert(g_file_get_contents(path, &list, NULL, NULL));
    return g_strsplit(list, "\n", -1);
}

/* Options of the command, and keys of the JSON files beside it. */
static void check_names(const RhLaunch *launch, char *const *names)
{
    g_auto(GStrv) words = g_strsplit(launch->flags, " ", -1);
    for (char **word = words; *word; word++) {
        if (g_str_has_prefix(*word, "--")) {
            CU_ASSERT_TRUE(g_strv_contains((const char *const *)names, *word));
        } else if (launch->starts_itself) {
            g_autofree char *name = g_strndup(*word, strcspn(*word, "="));
            CU_ASSERT_TRUE(g_strv_contains((const char *const *)names, name));
        }
    }
    g_auto(GStrv) lines = g_strsplit(launch->files, "\n", -1);
    for (char **line = lines; *line; line++) {
        char *key = g_strchug(*line), *end = key[0] == '"' ? strchr(key + 1, '"') : NULL;
        if (!end || end[1] != ':')
            continue;
        g_autofree char *name = g_strndup(key + 1, (gsize)(end - key - 1));
        CU_ASSERT_TRUE(g_strv_contains((const char *const *)names, name));
    }
}

static void every_option_is_one_of_the_project(void)
{
    static const struct {
        const char *framework, *model, *layout;
    } cases[] = {
        {"torchtitan", "llama-3.1-70b", "tp8,pp1,zero3,recompute=full"},
        {"torchtitan", "llama-3.1-70b", "tp8,pp4,dp2,vpp2,zero2"},
        {"torchtitan", "llama-3.1-70b", "tp2,cp4,dp8,zero3,kv=gather,tpoverlap=on"},
        {"torchtitan", "llama-3.1-8b", "dp64,zero3,shard8"},
        {"torchtitan", "qwen3-30b-a3b", "dp64,ep8,zero3,dispatch=deepep"},
        {"deepspeed", "llama-3.1-8b", "dp64,zero3,hpz8,recompute=full"},
        {"deepspeed", "qwen3-32b", "dp64,zero2"},
        {"deepspeed", "mistral-7b", "dp64,zero1"},
        {"peft", "llama-3.1-8b", "dp64,zero3,recompute=full"},
        {"peft", "qwen3-32b", "dp64,zero0"},
        {"maxtext", "llama-3.1-70b", "tp8,dp8,zero3"},
        {"maxtext", "llama-3.1-70b", "tp2,cp4,dp8,zero3,kv=gather,recompute=layernorm+mlp"},
        {"maxtext", "llama-3.1-70b", "tp4,pp4,dp4,zero1,schedule=gpipe,recompute=full"},
        {"maxtext", "qwen3-30b-a3b", "dp64,ep8,zero3"},
        {"maxtext", "qwen2.5-7b", "dp64,zero3,shard8"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(GStrv) names = names_of(cases[i].framework);
        g_auto(TrainKit) k = train_kit(cases[i].model, "dgx-h100:8", "bare", 512, 2048);
        k.c.job.lora.rank = strcmp(cases[i].framework, "peft") == 0 ? 16 : 0;
        g_autoptr(RhLaunch) launch = launch_of(&k, cases[i].framework, cases[i].layout);
        check_names(launch, names);
    }
}

/* cfg.PART.FIELD of a recipe. */
static void every_field_of_a_recipe_is_one_of_the_project(void)
{
    static const char *const cases[][2] = {
        {"llama-3.1-70b", "tp8,pp4,dp2,vpp2,zero1,recompute=selective"},
        {"llama-3.1-70b", "tp8,dp8,zero3,recompute=full"},
        {"mistral-7b", "tp2,cp4,ulysses4,dp8,zero1,order=tp-pp-dp"},
        {"qwen3-30b-a3b", "tp2,ep8,dp32,etp1,zero1,dispatch=deepep,recompute=layernorm+moe_act"}};
    g_auto(GStrv) names = names_of("nemo");
    g_autoptr(GRegex) field = g_regex_new("(?:,|, |\\n    )(\\w+)=", 0, 0, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(TrainKit) k = train_kit(cases[i][0], "dgx-h100:8", "bare", 512, 8192);
        g_autoptr(RhLaunch) launch = launch_of(&k, "nemo", cases[i][1]);
        g_auto(GStrv) parts = g_strsplit(launch->files, "put(cfg.", -1);
        int said = 0;
        for (char **part = parts + 1; *part; part++) {
            g_autofree char *key = g_strndup(*part, strspn(*part, "abcdefghijklmnopqrstuvwxyz_"));
            char *over = strstr(*part, ")\n");
            CU_ASSERT_PTR_NOT_NULL_FATAL(over);
            *over = 0;
            g_autoptr(GMatchInfo) match = NULL;
            for (g_regex_match(field, *part, 0, &match); g_match_info_matches(match);
                 g_match_info_next(match, NULL), said++) {
                g_autofree char *name = g_match_info_fetch(match, 1);
                g_autofree char *whole = g_strconcat(key, ".", name, NULL);
                CU_ASSERT_TRUE(g_strv_contains((const char *const *)names, whole));
            }
        }
        CU_ASSERT_TRUE(said > 25);
    }
}

static void a_recipe_says_the_layout(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:8", "bare", 512, 8192);
    g_autoptr(RhLaunch) launch = launch_of(&k, "nemo", "tp4,pp4,dp4,vpp5,mb1,zero1,recompute=full");
    static const char *const words[] = {"tensor_model_parallel_size=4",
                                        "virtual_pipeline_model_parallel_size=5",
                                        "num_layers=80",
                                        "global_batch_size=512",
                                        "use_distributed_optimizer=True",
                                        "overlap_grad_reduce=True",
                                        "recompute_granularity=\"full\"",
                                        "get_mixed_precision_config(\"bf16_mixed\")"};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(launch->files, words[i]));
    CU_ASSERT_STRING_EQUAL(launch->environment, "CUDA_DEVICE_MAX_CONNECTIONS=1");
    g_autoptr(RhLaunch) one = launch_of(&k, "nemo", "tp8,pp8,dp1,mb1");
    CU_ASSERT_PTR_NOT_NULL(strstr(one->files, "overlap_grad_reduce=False"));
    g_autoptr(RhLaunch) sharded = launch_of(&k, "nemo", "tp1,mb1,zero3");
    CU_ASSERT_STRING_EQUAL(sharded->environment, "CUDA_DEVICE_MAX_CONNECTIONS=8");
    k.c.job.recipe = &rh_recipe_fp8;
    k.c.job.narrow_weights = true;
    g_autoptr(RhLaunch) narrow = launch_of(&k, "nemo", "tp4,dp16,zero1");
    CU_ASSERT_PTR_NOT_NULL(strstr(narrow->files, "bf16_with_fp8_delayed_scaling_mixed"));
    CU_ASSERT_PTR_NOT_NULL(strstr(narrow->files, "fp8_param_gather=True"));
    k.c.job.recipe = &rh_recipe_bf16;
    k.c.job.narrow_weights = false;
    static const char *const refused[] = {"tp4,pp4,dp4,vpp3", "tp4,pp4,dp4,vpp4,partition=work",
                                          "tp4,pp4,dp4,zero3", "cp4,ulysses2,dp16",
                                          "dp64,relayers=4,recompute=full"};
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        RhLayout l = train_layout(&k, refused[i]);
        g_autoptr(GError) error = NULL;
        g_autoptr(RhLaunch) none = rh_launch_new("nemo", &k.c, &l, &error);
        CU_ASSERT_PTR_NULL(none);
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
}

/* NeMo counts the tokens before a query's own: a window of 4,096 is one of 4,095 and none after; no window is none. */
static void a_recipe_has_the_models_window(void)
{
    g_auto(TrainKit) near = train_kit("mistral-7b", "dgx-h100:1", "bare", 64, 8192);
    g_auto(TrainKit) all = train_kit("llama-3.1-8b", "dgx-h100:1", "bare", 64, 8192);
    g_autoptr(RhLaunch) windowed = launch_of(&near, "nemo", "tp4,dp2");
    g_autoptr(RhLaunch) whole = launch_of(&all, "nemo", "tp4,dp2");
    CU_ASSERT_PTR_NOT_NULL(strstr(windowed->files, "window_size=(4095, 0)"));
    CU_ASSERT_PTR_NULL(strstr(whole->files, "window_size"));
}

/* A recipe names the experts' capacity where there is one, and no biases of some layers alone. */
static void a_recipe_says_what_experts_and_biases_are(void)
{
    g_auto(TrainKit) experts = train_kit("mixtral-8x7b", "dgx-h100:1", "bare", 64, 4096);
    g_autoptr(RhLaunch) open = launch_of(&experts, "nemo", "tp4,dp2");
    CU_ASSERT_PTR_NULL(strstr(open->files, "moe_expert_capacity_factor"));
    g_auto(TrainKit) dense = train_kit("llama-3.1-8b", "dgx-h100:1", "bare", 64, 4096);
    RhLayout l = train_layout(&dense, "tp4,dp2");
    dense.model->kinds[0].ffn_bias = true;
    g_autoptr(GError) error = NULL;
    g_autoptr(RhLaunch) biased = rh_launch_new("nemo", &dense.c, &l, &error);
    CU_ASSERT_PTR_NULL(biased);
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "biases"));
}

/* --- TorchTitan --- */

static void fsdp_is_said_by_degrees_and_by_what_stays_gathered(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "bare", 64, 8192);
    static const struct {
        const char *layout, *replicas, *shards, *after;
    } cases[] = {{"dp16,zero3", "1", "16", "always"},
                 {"dp16,zero2", "1", "16", "never"},
                 {"dp16,zero3,shard8", "2", "8", "always"},
                 {"tp2,dp2,cp4,zero3", "1", "2", "always"},
                 {"dp4,cp4,zero3,shard8", "2", "2", "always"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(RhLaunch) launch = launch_of(&k, "torchtitan", cases[i].layout);
        g_autofree char *words =
            g_strdup_printf("--parallelism.data_parallel_replicate_degree %s "
                            "--parallelism.data_parallel_shard_degree %s "
                            "--parallelism.fsdp_reshard_after_forward %s",
                            cases[i].replicas, cases[i].shards, cases[i].after);
        CU_ASSERT_TRUE(says(launch, words));
    }
}

/* Stages as its own code deals them out, from the three numbers that are said. */
static void splits_are_dealt_out_as_they_are_rehearsed(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:8", "bare", 512, 2048);
    static const char *const layouts[] = {"tp8,pp8,zero0", "tp8,pp4,dp2,vpp4,zero2",
                                          "tp8,pp4,dp2,vpp2,zero2,partition=uniform",
                                          "tp8,pp8,stages=9-10x4-11x2-9,zero0"};
    static const int32_t wanted[][3] = {{10, 0, 0}, {5, 0, 0}, {11, 1, 2}, {0, 0, 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        g_autoptr(RhLaunch) launch = rh_launch_new("torchtitan", &k.c, &l, NULL);
        CU_ASSERT_EQUAL_FATAL(launch != NULL, wanted[i][0] > 0);
        if (!launch)
            continue;
        g_autofree char *words =
            g_strdup_printf("--parallelism.pipeline_parallel_layers_per_stage %d "
                            "--parallelism.pipeline_parallel_first_stage_less_layers %d "
                            "--parallelism.pipeline_parallel_last_stage_less_layers %d",
                            wanted[i][0], wanted[i][1], wanted[i][2]);
        CU_ASSERT_TRUE(says(launch, words));
    }
}

static void a_pipeline_takes_all_samples_of_a_replica(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:8", "bare", 512, 2048);
    g_autoptr(RhLaunch) staged = launch_of(&k, "torchtitan", "tp8,pp4,dp2,mb2,zero2");
    CU_ASSERT_TRUE(says(staged, "--training.local_batch_size 256"));
    CU_ASSERT_TRUE(says(staged, "--parallelism.pipeline_parallel_microbatch_size 2"));
    g_autoptr(RhLaunch) whole = launch_of(&k, "torchtitan", "tp8,dp8,mb2,zero3");
    CU_ASSERT_TRUE(says(whole, "--training.local_batch_size 2"));
    CU_ASSERT_TRUE(says(whole, "--training.global_batch_size 512"));
}

/* TorchTitan's two model classes get a flavor each with the model's own figures. */
static void a_model_is_a_flavor_of_its_own(void)
{
    g_auto(TrainKit) llama = train_kit("llama-3.1-70b", "dgx-h100:8", "bare", 512, 2048);
    g_autoptr(RhLaunch) a = launch_of(&llama, "torchtitan", "tp8,dp8,zero3");
    CU_ASSERT_PTR_NOT_NULL(strstr(a->files, "dim=8192, n_layers=80, n_heads=64, n_kv_heads=8"));
    CU_ASSERT_PTR_NOT_NULL(strstr(a->files, "multiple_of=28672, ffn_dim_multiplier=0.01"));
    CU_ASSERT_TRUE(says(a, "--model.name llama3"));
    g_auto(TrainKit) qwen = train_kit("qwen3-30b-a3b", "dgx-h100:8", "bare", 512, 2048);
    g_autoptr(RhLaunch) b = launch_of(&qwen, "torchtitan", "dp64,ep8,zero3");
    CU_ASSERT_PTR_NOT_NULL(strstr(b->files, "num_experts=128, num_shared_experts=0, top_k=8"));
    CU_ASSERT_TRUE(says(b, "--model.name qwen3"));
}

/* --- MaxText --- */

/* Inner axes inside a node, whatever is left among the nodes. */
static void axes_are_parted_between_a_node_and_the_nodes(void)
{
    static const struct {
        const char *model, *layout, *words;
    } cases[] = {
        {"llama-3.1-70b", "tp8,dp8,zero3",
         "ici_data_parallelism=1 dcn_data_parallelism=1 ici_fsdp_parallelism=1 "
         "dcn_fsdp_parallelism=8 ici_tensor_sequence_parallelism=8"},
        {"llama-3.1-70b", "tp2,cp2,dp16,mb2,zero3,shard8",
         "ici_data_parallelism=1 dcn_data_parallelism=4 ici_fsdp_parallelism=2 "
         "dcn_fsdp_parallelism=2 ici_context_parallelism=2 ici_tensor_sequence_parallelism=2"},
        {"llama-3.1-70b", "tp4,pp4,dp4,zero1,schedule=gpipe,recompute=full",
         "dcn_pipeline_parallelism=4 ici_data_parallelism=2 dcn_data_parallelism=2 "
         "ici_fsdp_parallelism=1 dcn_fsdp_parallelism=1 ici_tensor_sequence_parallelism=4"},
        {"llama-3.1-70b", "tp4,pp4,dp4,mb2,zero1,schedule=gpipe,recompute=full",
         "per_device_batch_size=8 num_pipeline_microbatches=64 num_layers_per_pipeline_stage=20 "
         "num_pipeline_repeats=1 shard_optimizer_over_data=True remat_policy=full"},
        {"llama-3.1-70b", "tp8,dp8,mb2,zero3,recompute=core_attn+layernorm",
         "per_device_batch_size=0.25 gradient_accumulation_steps=32 remat_policy=minimal"},
        {"qwen3-30b-a3b", "dp64,ep16,zero3",
         "ici_data_parallelism=1 dcn_data_parallelism=1 ici_fsdp_parallelism=1 "
         "dcn_fsdp_parallelism=4 ici_expert_parallelism=8 dcn_expert_parallelism=2"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(TrainKit) k = train_kit(cases[i].model, "dgx-h100:8", "bare", 512, 2048);
        g_autoptr(RhLaunch) launch = launch_of(&k, "maxtext", cases[i].layout);
        CU_ASSERT_TRUE(says(launch, cases[i].words));
    }
}

/* Chips are one slice, and attention is another kernel. */
static void tpus_are_one_slice(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "tpu-v5p", "maxtext", 128, 8192);
    g_autoptr(RhLaunch) launch = launch_of(&k, "maxtext", "dp16,cp4,ulysses4,zero3");
    CU_ASSERT_TRUE(says(launch, "ici_fsdp_parallelism=16 dcn_fsdp_parallelism=1 "
                                "ici_context_parallelism=4 context_parallel_strategy=ulysses "
                                "context_parallel_load_balance=False use_tokamax_splash=True"));
    CU_ASSERT_TRUE(says(launch, "hardware=tpu attention=flash"));
    CU_ASSERT_STRING_EQUAL(launch->environment, "");
    g_autoptr(RhLaunch) ring = launch_of(&k, "maxtext", "dp16,cp4,zero3,kv=ring");
    CU_ASSERT_TRUE(says(ring, "context_parallel_strategy=ring use_tokamax_splash=True"));
    g_autoptr(RhLaunch) gathered = launch_of(&k, "maxtext", "dp16,cp4,zero3,kv=gather");
    CU_ASSERT_TRUE(says(gathered, "context_parallel_strategy=all_gather"));
    CU_ASSERT_FALSE(says(gathered, "use_tokamax_splash=True"));
}

/* MaxText's batch of a device multiplies to the samples, where it is no short decimal too. */
static void batches_of_a_device_multiply_to_the_batch(void)
{
    for (int32_t nodes = 1; nodes <= 13; nodes++) {
        g_autofree char *platform = g_strdup_printf("dgx-h100:%d", nodes);
        g_auto(TrainKit) k = train_kit("llama-3.1-8b", platform, "bare", 8 * nodes, 4096);
        k.c.job.gpus = 8 * nodes;
        RhLayout l = rh_train_default(&k.c);
        l.tp = 8, l.dp = nodes, l.zero = 0, l.microbatch = 1;
        g_autoptr(RhLaunch) launch = rh_launch_new("maxtext", &k.c, &l, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(launch);
        const char *said = strstr(launch->flags, "per_device_batch_size=");
        double share = g_ascii_strtod(strchr(said, '=') + 1, NULL);
        CU_ASSERT_EQUAL((int64_t)(k.c.job.gpus * share), nodes);
    }
}

/* --- what is refused --- */

static void what_they_cannot_run_is_refused_by_name(void)
{
    static const struct {
        const char *framework, *model, *layout, *reason;
    } cases[] = {{"torchtitan", "llama-3.1-70b", "tp8,zero1", "no ZeRO-1"},
                 {"torchtitan", "llama-3.1-70b", "tp8,zero0", "replicates weights"},
                 {"torchtitan", "llama-3.1-70b", "tp8,zero3,sp=off", "sp=off"},
                 {"torchtitan", "llama-3.1-70b", "tp8,zero3,recompute=selective", "recompute"},
                 {"torchtitan", "llama-3.1-70b", "tp8,pp2,zero2,order=tp-pp-dp", "order"},
                 {"torchtitan", "llama-3.1-70b", "cp4,ulysses4,zero3", "ulysses"},
                 {"torchtitan", "qwen3-32b", "tp8,pp2,zero3", "no pipeline"},
                 {"torchtitan", "gpt2", "dp64,zero3", "how TorchTitan is told of"},
                 {"deepspeed", "llama-3.1-70b", "tp8,pp2,dp4,zero2", "without a pipeline"},
                 {"deepspeed", "llama-3.1-70b", "tp8,zero3", "data parallelism alone"},
                 {"deepspeed", "llama-3.1-8b", "dp64,zero0", "without ZeRO"},
                 {"deepspeed", "llama-3.1-8b", "dp64,zero3,shard8", "shard"},
                 {"deepspeed", "deepseek-v3", "dp64,zero3", "layers of several kinds"},
                 {"deepspeed", "gpt2", "dp64,zero3", "family"},
                 {"peft", "llama-3.1-8b", "dp64,zero3", "adapters alone"},
                 {"maxtext", "llama-3.1-70b", "tp8,pp2,dp4,zero3", "gpipe"},
                 {"maxtext", "llama-3.1-70b", "tp8,dp8,zero2", "no ZeRO-2"},
                 {"maxtext", "qwen3-30b-a3b", "dp64,ep8,zero1", "over expert ranks"},
                 {"maxtext", "llama-3.1-70b", "cp4,ulysses4,zero3", "on TPUs alone"},
                 {"maxtext", "llama-3.1-70b", "tp8,zero3,recompute=selective", "by policies"},
                 {"maxtext", "gpt2", "dp64,zero3", "how MaxText is told of"},
                 {"maxtext", "deepseek-v3", "dp64,zero3", "how MaxText is told of"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(TrainKit) k = train_kit(cases[i].model, "dgx-h100:8", "bare", 512, 1024);
        RhLayout l = train_layout(&k, cases[i].layout);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_launch_new(cases[i].framework, &k.c, &l, &error));
        CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, cases[i].reason));
    }
}

/* --- DeepSpeed: the three numbers of the batch agree --- */

static void batches_multiply(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:8", "bare", 512, 2048);
    g_autoptr(RhLaunch) launch = launch_of(&k, "deepspeed", "dp64,mb2,zero3");
    CU_ASSERT_PTR_NOT_NULL(strstr(launch->files, "\"train_batch_size\": 512"));
    CU_ASSERT_PTR_NOT_NULL(strstr(launch->files, "\"train_micro_batch_size_per_gpu\": 2"));
    CU_ASSERT_PTR_NOT_NULL(strstr(launch->files, "\"gradient_accumulation_steps\": 4"));
    CU_ASSERT_TRUE(says(launch, "--gradient_accumulation_steps 4"));
    CU_ASSERT_TRUE(says(launch, "--per_device_train_batch_size 2"));
}

/* --- DeepSpeed: the model's own, where Transformers would take something else --- */

static void what_transformers_would_take_otherwise_is_said(void)
{
    static const struct {
        const char *model;
        int32_t window;
        bool attention_bias, ffn_bias;
        const char *said;
    } cases[] = {{"mistral-7b", 0, false, false, "\"sliding_window\": null"},
                 {"mistral-7b", 512, false, false, "\"sliding_window\": 512"},
                 {"qwen2.5-7b", 512, false, false, "\"use_sliding_window\": true"},
                 {"qwen2.5-7b", 512, false, false, "\"max_window_layers\": 0"},
                 {"llama-3.1-8b", 0, true, false, "\"attention_bias\": true"},
                 {"llama-3.1-8b", 0, false, true, "\"mlp_bias\": true"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(TrainKit) k = train_kit(cases[i].model, "dgx-h100:8", "bare", 512, 2048);
        RhLayerKind *kind = &k.model->kinds[0];
        kind->window_tokens = cases[i].window;
        kind->qkv_bias |= cases[i].attention_bias;
        kind->o_bias = cases[i].attention_bias;
        kind->ffn_bias = cases[i].ffn_bias;
        g_autoptr(RhLaunch) launch = launch_of(&k, "deepspeed", "dp64,zero3");
        CU_ASSERT_PTR_NOT_NULL(strstr(launch->files, cases[i].said));
    }
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:8", "bare", 512, 2048);
    g_autoptr(RhLaunch) plain = launch_of(&k, "deepspeed", "dp64,zero3");
    CU_ASSERT_PTR_NULL(strstr(plain->files, "bias"));
    CU_ASSERT_PTR_NULL(strstr(plain->files, "window"));
}

/* --- scripts --- */

static void scripts_are_shell(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:8", "bare", 512, 2048);
    for (int i = 0; rh_launch_frameworks()[i]; i++) {
        bool adapters = strcmp(rh_launch_frameworks()[i], "peft") == 0;
        bool alone = adapters || strcmp(rh_launch_frameworks()[i], "deepspeed") == 0;
        k.c.job.lora.rank = adapters ? 16 : 0;
        g_autoptr(RhLaunch) launch =
            launch_of(&k, rh_launch_frameworks()[i], alone ? "dp64,zero3" : "tp8,dp8,zero3");
        for (int how = 0; how <= RH_LAUNCHER_SLURM; how++) {
            g_autofree char *script = rh_launch_script(launch, (RhLauncher)how);
            const char *argv[] = {"bash", "-n", "-c", script, NULL};
            int status = 1;
            CU_ASSERT_TRUE(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL,
                                        NULL, NULL, &status, NULL));
            CU_ASSERT_EQUAL(status, 0);
            CU_ASSERT_PTR_NOT_NULL(
                strstr(script, "--nnodes 8 --nproc-per-node 8") ||
                        strstr(script, "--nnodes 8 \\\n    --nproc-per-node 8") ||
                        strstr(script, "export NNODES=8\n")
                    ? script
                    : NULL);
            CU_ASSERT_EQUAL(strstr(script, "#SBATCH --nodes=8") != NULL, how == RH_LAUNCHER_SLURM);
            CU_ASSERT_EQUAL(strstr(script, "$NODE_RANK") != NULL, how == RH_LAUNCHER_SHELL);
        }
    }
}

static void nodes_are_filled(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 48, 2048);
    k.c.job.gpus = 12;
    RhLayout l = train_layout(&k, "dp12,zero3");
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_launch_new("megatron", &k.c, &l, &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "whole nodes"));
    k.c.job.gpus = 4;
    g_autoptr(RhLaunch) launch = launch_of(&k, "megatron", "dp4,zero3");
    CU_ASSERT_EQUAL(launch->nodes, 1);
    CU_ASSERT_EQUAL(launch->gpus_of_node, 4);
    g_autofree char *script = rh_launch_script(launch, RH_LAUNCHER_SHELL);
    CU_ASSERT_PTR_NULL(strstr(script, "MASTER_ADDR"));
}

int main(void)
{
    return rh_test_main(
        "launch_frameworks",
        (RhTest[]){
            {"every_option_is_one_of_the_project", every_option_is_one_of_the_project},
            {"every_field_of_a_recipe_is_one_of_the_project",
             every_field_of_a_recipe_is_one_of_the_project},
            {"a_recipe_says_the_layout", a_recipe_says_the_layout},
            {"a_recipe_has_the_models_window", a_recipe_has_the_models_window},
            {"a_recipe_says_what_experts_and_biases_are",
             a_recipe_says_what_experts_and_biases_are},
            {"fsdp_is_said_by_degrees_and_by_what_stays_gathered",
             fsdp_is_said_by_degrees_and_by_what_stays_gathered},
            {"splits_are_dealt_out_as_they_are_rehearsed",
             splits_are_dealt_out_as_they_are_rehearsed},
            {"a_pipeline_takes_all_samples_of_a_replica",
             a_pipeline_takes_all_samples_of_a_replica},
            {"a_model_is_a_flavor_of_its_own", a_model_is_a_flavor_of_its_own},
            {"what_they_cannot_run_is_refused_by_name", what_they_cannot_run_is_refused_by_name},
            {"batches_multiply", batches_multiply},
            {"what_transformers_would_take_otherwise_is_said",
             what_transformers_would_take_otherwise_is_said},
            {"axes_are_parted_between_a_node_and_the_nodes",
             axes_are_parted_between_a_node_and_the_nodes},
            {"tpus_are_one_slice", tpus_are_one_slice},
            {"batches_of_a_device_multiply_to_the_batch",
             batches_of_a_device_multiply_to_the_batch},
            {"scripts_are_shell", scripts_are_shell},
            {"nodes_are_filled", nodes_are_filled},
            {0}});
}
