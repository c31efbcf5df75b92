/* Megatron-LM. Names and rules are those of core_v0.15.3 (megatron/training/arguments.py and the
 * sources that docs/guide/megatron-flags.md cites); a test compares every flag written here with
 * the list of its flags, strategies/data/megatron-flags.txt. */
#include "strategies/launch/megatron.h"
#include "base/error.h"
#include "strategies/launch/framework.h"
#include "strategies/partition.h"
#include "strategies/train/block_cost.h"
#include "workloads/operators/operator.h"

/* --- knobs --- */

/* Do stages hold equally many layers each, which is Megatron-LM's default? */
static bool is_even(const RhProblem *c, const RhLayout *l)
{
    return l->stage_layers_count == 0 && l->partition == RH_PARTITION_EVEN &&
           c->model->layers_count % (l->pp * l->vpp) == 0;
}

/* Writes the split, as "Et*7|(t*8|)*14t*7L": the layers of each chunk in the order of the model, E
 * the embedding, t a layer, L the head; equal chunks are counted. */
static void write_split(RhLaunchText *t)
{
    int32_t chunks = t->layout->pp * t->layout->vpp;
    g_autofree int32_t *layers = g_new(int32_t, chunks);
    rh_partition_layers(t->c, t->layout, layers);
    rh_launch_write(t, "--pipeline-model-parallel-layout '");
    for (int32_t g = 0, times; g < chunks; g += times) {
        bool inner = g > 0 && g < chunks - 1;
        for (times = 1; inner && g + times < chunks - 1 && layers[g + times] == layers[g]; times++)
            ;
        g_autofree char *held = layers[g] ? g_strdup_printf("t*%d", layers[g]) : g_strdup("");
        if (times > 1)
            g_string_append_printf(t->flags, "(%s|)*%d", held, times);
        else
            g_string_append_printf(t->flags, "%s%s%s", g == 0 ? "E" : "", held,
                                   g == chunks - 1 ? "L'" : "|");
    }
}

static bool write_pipeline(RhLaunchText *t, GError **error)
{
    (void)error;
    rh_launch_write(t, "--pipeline-model-parallel-size %d", t->layout->pp);
    if (t->layout->pp > 1 && !is_even(t->c, t->layout))
        write_split(t);
    return true;
}

static bool write_chunks(RhLaunchText *t, GError **error)
{
    (void)error;
    if (t->layout->vpp > 1 && is_even(t->c, t->layout))
        rh_launch_write(t, "--num-virtual-stages-per-pipeline-rank %d", t->layout->vpp);
    return true;
}

static bool write_context(RhLaunchText *t, GError **error)
{
    (void)error;
    if (t->layout->cp > 1)
        rh_launch_write(t, "--context-parallel-size %d", t->layout->cp);
    return true;
}

static bool write_keys_and_values(RhLaunchText *t, GError **error)
{
    (void)error;
    if (t->layout->kv == RH_CONTEXT_RING)
        return true;
    rh_launch_write(t, "--cp-comm-type all_gather");
    return true;
}

/* Writes the sizes of Ulysses. Transformer Engine gives every rank some key-value heads, and
 * repeats none. */
static bool write_ulysses(RhLaunchText *t, GError **error)
{
    const RhLayout *l = t->layout;
    if (l->ulysses == 1)
        return true;
    for (int k = 0; k < t->c->model->kinds_count; k++)
        if (t->c->model->kinds[k].kv_heads % (l->tp * l->ulysses) != 0)
            return rh_fail(error, RH_ERROR_USAGE,
                           "Megatron-LM repeats no key-value heads: tp=%d x ulysses=%d does not "
                           "divide the %d of %s",
                           l->tp, l->ulysses, t->c->model->kinds[k].kv_heads, t->c->model->name);
    if (l->ulysses == l->cp)
        rh_launch_write(t, "--cp-comm-type a2a");
    else
        rh_launch_write(t, "--cp-comm-type a2a+p2p --hierarchical-context-parallel-sizes %d %d",
                        l->ulysses, l->cp / l->ulysses);
    return true;
}

/* Writes the dispatcher that is simulated; experts' matrices are cut like the others by default. */
static bool write_expert(RhLaunchText *t, GError **error)
{
    (void)error;
    if (t->layout->ep > 1)
        rh_launch_write(t, "--expert-model-parallel-size %d", t->layout->ep);
    return true;
}

static bool write_expert_tensor(RhLaunchText *t, GError **error)
{
    (void)error;
    if (t->layout->etp > 0)
        rh_launch_write(t, "--expert-tensor-parallel-size %d", t->layout->etp);
    return true;
}

#define FSDP                                                                                       \
    "--use-distributed-optimizer --use-megatron-fsdp --no-gradient-accumulation-fusion "           \
    "--overlap-grad-reduce --overlap-param-gather --ckpt-format fsdp_dtensor "                     \
    "--data-parallel-sharding-strategy "

/* Writes ZeRO. Reductions and gathers overlap in the simulation, so they do here. */
static bool write_zero(RhLaunchText *t, GError **error)
{
    static const char *const words[] = {
        "--overlap-grad-reduce",
        "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
        FSDP "optim_grads", FSDP "optim_grads_params --init-model-with-meta-device"};
    (void)error;
    if (t->layout->zero > 0 || t->layout->dp > 1)
        rh_launch_write(t, "%s", words[t->layout->zero]);
    return true;
}

/* Writes the sharding. Neighbours form a group, as they do here. */
static bool write_shard(RhLaunchText *t, GError **error)
{
    (void)error;
    if (t->layout->shard > 0)
        rh_launch_write(t, "--num-distributed-optimizer-instances %d",
                        rh_train_replicas(t->layout) / t->layout->shard);
    return true;
}

/* Number of recomputed layers of every chunk, if all are equal; -1: they are not. */
static int32_t again_everywhere(const RhProblem *c, const RhLayout *l)
{
    int32_t chunks = l->pp * l->vpp, most = 0;
    g_autofree int32_t *layers = g_new(int32_t, chunks);
    rh_partition_layers(c, l, layers);
    for (int32_t g = 0; g < chunks; g++)
        most = MAX(most, rh_layout_again(l, g, layers[g]));
    for (int32_t g = 0; g < chunks; g++)
        if (rh_layout_again(l, g, layers[g]) != MIN(most, layers[g]))
            return -1;
    return most;
}

/* Writes the number of recomputed layers of a chunk, which is the same for all; they are recomputed
 * whole. */
static bool write_again(RhLaunchText *t, GError **error)
{
    const RhLayout *l = t->layout;
    if (l->recomputed_layers_count == 0)
        return true;
    if ((uint32_t)l->recompute != RH_RECOMPUTE_FULL || again_everywhere(t->c, l) < 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "Megatron-LM recomputes whole layers, as many of every chunk\n"
                       "help: recompute=full with one number for relayers");
    return true;
}

/* Writes the recomputation; without a list of modules it is core_attn's. */
static bool write_recompute(RhLaunchText *t, GError **error)
{
    uint32_t modules = (uint32_t)t->layout->recompute;
    (void)error;
    if (modules == RH_RECOMPUTE_NONE)
        return true;
    if (modules == RH_RECOMPUTE_FULL) {
        bool some = t->layout->recomputed_layers_count != 0;
        rh_launch_write(t,
                        "--recompute-granularity full --recompute-method %s "
                        "--recompute-num-layers %d",
                        some ? "block" : "uniform", some ? again_everywhere(t->c, t->layout) : 1);
        return true;
    }
    g_autoptr(GString) names = g_string_new(NULL);
    for (int bit = 0; rh_recompute_modules[bit]; bit++)
        if (modules >> bit & 1)
            g_string_append_printf(names, " %s", rh_recompute_modules[bit]);
    rh_launch_write(t, "--recompute-granularity selective%s%s",
                    modules == RH_RECOMPUTE_SELECTIVE ? "" : " --recompute-modules",
                    modules == RH_RECOMPUTE_SELECTIVE ? "" : names->str);
    return true;
}

/* By value. The number of chunks is written for vpp. */
static const char *const schedule_words[] = {
    [RH_PIPELINE_1F1B] = "", [RH_PIPELINE_INTERLEAVED] = ""};
static const char *const dispatch_words[] = {"", "--moe-enable-deepep"};
static const char *const expert_overlap_words[] = {
    [RH_OVERLAP_NONE] = "",
    [RH_OVERLAP_SHARED] = "--moe-shared-expert-overlap",
    [RH_OVERLAP_PAIRS] = "--overlap-moe-expert-parallel-comm"};
static const char *const sequence_words[] = {"", "--sequence-parallel"};
static const char *const overlap_words[] = {"", "--tp-comm-overlap"};
static const char *const order_words[] = {
    [RH_ORDER_TP_DP_PP] = "", [RH_ORDER_TP_PP_DP] = "--use-tp-pp-dp-mapping"};

#define VALUES(words) .values = words, .values_count = G_N_ELEMENTS(words)

static const RhLaunchOption megatron_words[] = {
    {.key = "tp", .flag = "--tensor-model-parallel-size"},
    {.key = "pp", .write = write_pipeline}, /* stages too */
    {.key = "dp"},                          /* the world size over the other degrees */
    {.key = "cp", .write = write_context},
    {.key = "kv", .write = write_keys_and_values},
    {.key = "ulysses", .write = write_ulysses},
    {.key = "ep", .write = write_expert},
    {.key = "etp", .write = write_expert_tensor},
    {.key = "dispatch", VALUES(dispatch_words)},
    {.key = "epoverlap", VALUES(expert_overlap_words)},
    {.key = "vpp", .write = write_chunks},
    {.key = "mb", .flag = "--micro-batch-size"},
    {.key = "zero", .write = write_zero},
    {.key = "shard", .write = write_shard},
    {.key = "relayers", .write = write_again},
    {.key = "recompute", .write = write_recompute},
    {.key = "schedule", VALUES(schedule_words)},
    {.key = "sp", VALUES(sequence_words)},
    {.key = "tpoverlap", VALUES(overlap_words)},
    {.key = "order", VALUES(order_words)},
    {.key = "partition"},
    {.key = "stages"},
};

/* --- the job and where it runs --- */

static void write_optimizer(RhLaunchText *t)
{
    bool narrow = rh_launch_has_narrow_moments(t->c), gradients = rh_gradient_bytes(t->c) == 2;
    if (narrow || gradients)
        rh_launch_write(t, "--use-precision-aware-optimizer");
    if (narrow)
        rh_launch_write(t, "--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16");
    if (gradients)
        rh_launch_write(t, "--main-grads-dtype bf16 --grad-reduce-in-bf16");
    if (t->c->job.narrow_weights)
        rh_launch_write(t, t->c->job.recipe == &rh_recipe_nvfp4 ? "--fp4-param-gather"
                           : t->c->job.recipe == &rh_recipe_mxfp8
                               ? "--fp8-param-gather --reuse-grad-buf-for-mxfp8-param-ag"
                               : "--fp8-param-gather");
}

static void write_job(RhLaunchText *t)
{
    static const struct {
        const RhRecipe *recipe;
        const char *words;
    } narrow[] = {{&rh_recipe_fp8, "--fp8-format hybrid --fp8-recipe delayed"},
                  {&rh_recipe_fp8_current, "--fp8-format hybrid --fp8-recipe tensorwise"},
                  {&rh_recipe_fp8_block, "--fp8-format hybrid --fp8-recipe blockwise"},
                  {&rh_recipe_mxfp8, "--fp8-format hybrid --fp8-recipe mxfp8"},
                  {&rh_recipe_nvfp4, "--fp4-format e2m1 --fp4-recipe nvfp4"}};
    bool fp16 = t->c->job.recipe->dtype == RH_DTYPE_FP16;
    rh_launch_write(t, "--global-batch-size %" G_GINT64_FORMAT, t->c->job.global_batch);
    rh_launch_write(t, "%s --transformer-impl transformer_engine", fp16 ? "--fp16" : "--bf16");
    for (size_t i = 0; i < G_N_ELEMENTS(narrow); i++)
        if (t->c->job.recipe == narrow[i].recipe)
            rh_launch_write(t, "%s", narrow[i].words);
    if (fp16 && rh_gradient_bytes(t->c) == 4)
        rh_launch_write(t, "--accumulate-allreduce-grads-in-fp32");
    write_optimizer(t);
    rh_launch_write(t, "--tokenizer-type HuggingFaceTokenizer --tokenizer-model $TOKENIZER "
                       "--make-vocab-size-divisible-by 128 "
                       "--data-path $DATA --train-iters $ITERATIONS --lr $LEARNING_RATE");
    rh_launch_note(t,
                   "set $TOKENIZER (with the model's vocabulary of %" G_GINT64_FORMAT
                   " tokens), $DATA, "
                   "$ITERATIONS and $LEARNING_RATE before you run this",
                   t->c->model->vocab);
}

static void write_checkpoints(RhLaunchText *t)
{
    const RhLaunchOptions *e = t->extras;
    g_autofree char *save = e->save ? g_shell_quote(e->save) : NULL;
    g_autofree char *load = e->load ? g_shell_quote(e->load) : NULL;
    if (save)
        rh_launch_write(t, "--save %s --save-interval %" G_GINT64_FORMAT, save, e->save_steps);
    if (load)
        rh_launch_write(t, "--load %s --exit-on-missing-checkpoint", load);
}

/* Writes the environment. One queue to the device keeps a collective before the GEMM that it is to
 * run beside. Megatron-LM asks for it with tensor or context parallelism before Blackwell, and
 * without it for FSDP. */
static void write_environment(RhLaunchText *t)
{
    const RhLayout *l = t->layout;
    bool wants_one = l->tp > 1 || l->cp > 1;
    if (l->zero >= 2) {
        g_string_append(t->environment, RH_LAUNCH_CUDA_QUEUES);
        rh_launch_note(
            t, "CUDA_DEVICE_MAX_CONNECTIONS is set to 8, CUDA's default: Megatron-FSDP refuses 1, "
               "which many images and scripts set");
        if (wants_one)
            rh_launch_note(
                t,
                "Megatron-LM will warn that, before Blackwell, tensor and context parallelism are "
                "faster with CUDA_DEVICE_MAX_CONNECTIONS=1; Megatron-FSDP does not run with it");
    } else if (wants_one) {
        g_string_append(t->environment, "CUDA_DEVICE_MAX_CONNECTIONS=1");
        rh_launch_note(t, "Megatron-LM requires CUDA_DEVICE_MAX_CONNECTIONS=1 with tensor or "
                          "context parallelism on Hopper and older");
    }
}

static bool write_rest(RhLaunchText *t, GError **error)
{
    if (!rh_megatron_check_model(&rh_framework_megatron, t->c, error))
        return false;
    rh_megatron_say_model(&rh_framework_megatron, t);
    write_job(t);
    write_checkpoints(t);
    write_environment(t);
    return true;
}

/* Checks the layout, which may come from another stack that runs more. */
static bool check_layout(const RhProblem *c, const RhLayout *l, GError **error)
{
    if (c->job.lora.rank > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "Megatron-LM has no flags for adapters (lora.rank=%d)\n"
                       "help: Megatron-Bridge (nemo) trains them, or Transformers (deepspeed)",
                       c->job.lora.rank);
    if (rh_weight_bytes(c) > 2)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s: launches with weights of 4 bytes are not supported\n"
                       "help: `dtype=bf16` or `dtype=fp16`",
                       c->job.recipe->name);
    bool aware = rh_launch_has_narrow_moments(c) || rh_gradient_bytes(c) == 2;
    if (c->job.moments == &rh_adam_moments_8bit)
        return rh_fail(error, RH_ERROR_USAGE,
                       "Megatron-LM has no 8-bit moments in blocks\nhelp: `moments=bf16`");
    if (aware && l->zero != 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "Megatron-LM's optimizer has narrow moments and gradients where it is "
                       "distributed alone\nhelp: `zero=1`");
    return true;
}

const RhFramework rh_framework_megatron = {
    .name = "megatron",
    .title = "Megatron-LM",
    .version = "core_v0.15.3",
    .program = "pretrain_gpt.py",
    .words = megatron_words,
    .words_count = G_N_ELEMENTS(megatron_words),
    .starts = {{2, false, "builds its tensor and stage shares on its GPU", 0,
                "megatron/training/training.py:885"},
               {3, false, "builds the model on the meta device and fills its shards layer by layer",
                0, "megatron/training/training.py:881"}},
    .features = RH_FEATURE_KINDS | RH_FEATURE_LATENT | RH_FEATURE_WINDOW,
    .check = check_layout,
    .write_rest = write_rest,
};
