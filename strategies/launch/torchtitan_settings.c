/* TorchTitan's settings, in both directions. Names are those of v0.2.2 (docs/guide/torchtitan-flags.md
 * cites them) and, to be read, of releases before it. */
#include <string.h>

#include "base/error.h"
#include "strategies/launch/torchtitan.h"
#include "strategies/layer_partition.h"

/* --- knobs --- */

static const char *const schedule_names[RH_PIPELINE_LAST] = {
    [RH_PIPELINE_GPIPE] = "GPipe",
    [RH_PIPELINE_1F1B] = "1F1B",
    [RH_PIPELINE_INTERLEAVED] = "Interleaved1F1B",
    [RH_PIPELINE_ZB_V] = "ZBVZeroBubble",
    [RH_PIPELINE_DUALPIPE_V] = "DualPipeV",
};

/* Do chunks have the layers that generate_llm_fqn_per_model_part of pipeline_parallel.py gives
 * them, with the embedding counted as `first` layers and the head as `last`? */
static bool deals_out(const int32_t *layers, int32_t chunks, int32_t count, int32_t first,
                      int32_t last)
{
    int32_t all = count + first + last, each = all / chunks, more = all % chunks;
    if (each == 0 || first > each || last > each)
        return false;
    for (int32_t g = 0; g < chunks; g++) {
        int32_t held = each + (g < more) - (g == 0 ? first : 0) - (g == chunks - 1 ? last : 0);
        if (held != layers[g])
            return false;
    }
    return true;
}

/* How stages are said: layers of each, and as how many the embedding and the head count. */
typedef struct {
    int32_t each, first, last;
} Split;

/* Finds how the layout's stages are said; false: they cannot be. */
static bool split_of(const RhProblem *c, const RhLayout *l, Split *split)
{
    int32_t chunks = l->pp * l->vpp, count = c->model->layers_count;
    g_autofree int32_t *layers = g_new(int32_t, chunks);
    rh_partition_layers(c, l, layers);
    for (int32_t ends = 0; ends <= 2 * (count / chunks); ends++)
        for (int32_t first = 0; first <= ends; first++) {
            int32_t all = count + ends, each = (all + chunks - 1) / chunks;
            if ((all + each - 1) / each != chunks ||
                !deals_out(layers, chunks, count, first, ends - first))
                continue;
            *split = (Split){each, first, ends - first};
            return true;
        }
    return false;
}

bool rh_torchtitan_check_stages(const RhProblem *c, const RhLayout *l, GError **error)
{
    Split split;
    if (l->pp == 1)
        return true;
    if (!schedule_names[l->schedule])
        return rh_fail(error, RH_ERROR_USAGE, "TorchTitan has no schedule=%s",
                       rh_pipeline_kind_name(l->schedule));
    return split_of(c, l, &split) ||
           rh_fail(error, RH_ERROR_USAGE,
                   "TorchTitan deals out layers evenly, embedding and head counted as some; this "
                   "split of %d layers over pp%d vpp%d is not one of these\n"
                   "help: plan with `partition=uniform`, or vpp that divides the layers",
                   c->model->layers_count, l->pp, l->vpp);
}

/* Figures that TorchTitan alone has, beside RhLaunchJobField. */
enum {
    JOB_REPLICATED = RH_JOB_FIELD_OWN,
    JOB_SHARDED,  /* -1: the rest */
    JOB_RESHARDS, /* 0: never, 1: always, 2: by default */
    JOB_LOCAL,    /* samples of a replica, of a pipeline those of all its micro-batches */
    JOB_STAGE_LAYERS,
    JOB_FIRST_LESS,
    JOB_LAST_LESS,
    JOB_SCHEDULE,
    JOB_PIPELINE_BATCH,
    JOB_MULTIPLE, /* of a feed-forward width */
};

static char *number_text(int64_t number)
{
    return g_strdup_printf("%" G_GINT64_FORMAT, number);
}

/* --- stages --- */

static char *write_schedule(const RhLaunchText *t)
{
    return t->layout->pp > 1 ? g_strdup(schedule_names[t->layout->schedule]) : NULL;
}

static void read_schedule(RhLaunchReading *r, const char *text)
{
    for (int kind = 0; kind < RH_PIPELINE_LAST; kind++)
        if (schedule_names[kind] && g_ascii_strcasecmp(schedule_names[kind], text) == 0) {
            r->job[JOB_SCHEDULE] = kind;
            return;
        }
    rh_launch_tell(r, "the schedule %s is simulated as 1F1B", text);
}

static char *write_stage_batch(const RhLaunchText *t)
{
    return t->layout->pp > 1 ? number_text(t->layout->microbatch) : NULL;
}

static char *write_part(const RhLaunchText *t, int which)
{
    Split split;
    if (t->layout->pp == 1 || !split_of(t->c, t->layout, &split))
        return NULL;
    return number_text(which == 0 ? split.each : which == 1 ? split.first : split.last);
}

static char *write_stage_layers(const RhLaunchText *t)
{
    return write_part(t, 0);
}

static char *write_first_less(const RhLaunchText *t)
{
    return write_part(t, 1);
}

static char *write_last_less(const RhLaunchText *t)
{
    return write_part(t, 2);
}

/* Returns the layers of the model, if its name or sizes say them; 0: they do not. */
static int64_t layers_of(const RhLaunchReading *r)
{
    g_autoptr(RhModel) model = r->model ? rh_model_load(r->model, NULL) : NULL;
    return r->sizes[RH_SIZE_LAYERS] > 0 ? r->sizes[RH_SIZE_LAYERS]
           : model                      ? model->layers_count
                                        : 0;
}

/* Sets the layers of each chunk as generate_llm_fqn_per_model_part deals them out. */
static void deal_out(RhLaunchReading *r, int64_t count, int64_t chunks)
{
    int64_t first = MAX(r->job[JOB_FIRST_LESS], 0), last = MAX(r->job[JOB_LAST_LESS], 0);
    int64_t all = count + first + last, each = all / chunks, more = all % chunks;
    RhLayout *l = &r->layout;
    bool even = count % chunks == 0 && more == 0 && first == 0 && last == 0;
    if (even || chunks > (int64_t)G_N_ELEMENTS(l->stage_layers) || first > each || last > each)
        return;
    for (int64_t g = 0; g < chunks; g++)
        l->stage_layers[g] =
            (int16_t)(each + (g < more) - (g == 0 ? first : 0) - (g == chunks - 1 ? last : 0));
    l->stage_layers_count = (int32_t)chunks;
    r->given |= RH_KNOB_BIT(stage_layers_count);
}

static void finish_stages(RhLaunchReading *r)
{
    RhLayout *l = &r->layout;
    int64_t each = r->job[JOB_STAGE_LAYERS], count = layers_of(r);
    int64_t ends = MAX(r->job[JOB_FIRST_LESS], 0) + MAX(r->job[JOB_LAST_LESS], 0);
    if (l->pp == 1)
        return;
    int64_t kind = r->job[JOB_SCHEDULE] >= 0 ? r->job[JOB_SCHEDULE] : RH_PIPELINE_1F1B;
    bool looped = kind != RH_PIPELINE_GPIPE && kind != RH_PIPELINE_1F1B;
    int64_t chunks =
        each > 0 && count > 0 ? (count + ends + each - 1) / each : l->pp * (looped ? 2 : 1);
    rh_launch_store(r, RH_ROW_KNOB(schedule), kind);
    if (chunks % l->pp == 0)
        rh_launch_store(r, RH_ROW_KNOB(vpp), chunks / l->pp);
    if (count > 0 && r->job[JOB_FIRST_LESS] >= 0)
        deal_out(r, count, chunks);
}

/* --- batches --- */

/* Writes the micro-batch. A pipeline takes all samples of a replica at once. */
static char *write_local(const RhLaunchText *t)
{
    return number_text(t->layout->pp > 1 ? t->c->job.global_batch / t->layout->dp
                                         : (int64_t)t->layout->microbatch);
}

static void finish_batches(RhLaunchReading *r)
{
    int64_t local = MAX(r->job[JOB_LOCAL], 1), stage = MAX(r->job[JOB_PIPELINE_BATCH], 1);
    bool piped = r->layout.pp > 1;
    rh_launch_store(r, RH_ROW_KNOB(microbatch), piped ? MIN(stage, local) : local);
    if (r->job[RH_JOB_FIELD_GLOBAL_BATCH] <= 0)
        r->job[RH_JOB_FIELD_ACCUMULATION] = piped ? MAX(local / stage, 1) : 1;
    else if (piped)
        r->job[RH_JOB_FIELD_ACCUMULATION] = MAX(local / stage, 1);
}

/* --- context and experts --- */

static char *write_rotation(const RhLaunchText *t)
{
    return t->layout->cp == 1                 ? NULL
           : t->layout->kv == RH_CONTEXT_RING ? g_strdup("alltoall")
                                              : g_strdup("allgather");
}

/* Reads how keys and values go around; without a word it is all gathers. */
static void read_rotation(RhLaunchReading *r, const char *text)
{
    bool ring = strcmp(text, "alltoall") == 0;
    rh_launch_store(r, RH_ROW_KNOB(kv), ring ? RH_CONTEXT_RING : RH_CONTEXT_GATHER);
}

static char *write_expert_tensor(const RhLaunchText *t)
{
    return t->layout->ep > 1 ? number_text(rh_train_expert_tensor(t->layout)) : NULL;
}

static void read_expert_tensor(RhLaunchReading *r, const char *text)
{
    int64_t degree = 1;
    if (rh_launch_read_number(r, text, &degree))
        rh_launch_store(r, RH_ROW_KNOB(etp), degree);
}

bool rh_torchtitan_check_expert(const RhProblem *c, const RhLayout *l, GError **error)
{
    int32_t etp = rh_train_expert_tensor(l);
    (void)c;
    if (l->ep == 1)
        return etp == l->tp ||
               rh_fail(error, RH_ERROR_USAGE, "TorchTitan has etp beside ep above 1 alone");
    int32_t shards = l->zero == 0 ? 1 : l->shard > 0 ? l->shard : rh_train_replicas(l);
    if (shards * l->tp % (l->ep * etp) != 0)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "TorchTitan spreads experts over ranks that share out weights: ep=%d, etp=%d "
            "do not divide %d of these x tp=%d",
            l->ep, etp, shards, l->tp);
    return true;
}

static char *write_backend(const RhLaunchText *t)
{
    return t->layout->dispatch == RH_DISPATCH_DEEPEP ? g_strdup("deepep") : NULL;
}

static void read_backend(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "deepep") == 0)
        rh_launch_store(r, RH_ROW_KNOB(dispatch), RH_DISPATCH_DEEPEP);
}

/* --- ZeRO: FSDP2 shards all three states; it keeps the gathered weights for backward (ZeRO-2's
 * traffic), or not --- */

static int32_t shared_by(const RhLayout *l)
{
    return l->shard > 0 ? l->shard : rh_train_replicas(l);
}

static char *write_replicated(const RhLaunchText *t)
{
    const RhLayout *l = t->layout;
    return number_text(l->zero == 0 ? l->dp : rh_train_replicas(l) / shared_by(l));
}

static char *write_sharded(const RhLaunchText *t)
{
    const RhLayout *l = t->layout;
    return number_text(l->zero == 0 ? 1 : shared_by(l) / l->cp);
}

static char *write_resharding(const RhLaunchText *t)
{
    int32_t zero = t->layout->zero;
    return zero == 0 ? NULL : g_strdup(zero == 3 ? "always" : "never");
}

static void read_resharding(RhLaunchReading *r, const char *text)
{
    r->job[JOB_RESHARDS] = strcmp(text, "always") == 0 ? 1 : strcmp(text, "never") == 0 ? 0 : 2;
}

static void finish_sharing(RhLaunchReading *r)
{
    RhLayout *l = &r->layout;
    int64_t replicated = MAX(r->job[JOB_REPLICATED], 1), sharded = r->job[JOB_SHARDED];
    int64_t how = r->job[JOB_RESHARDS] < 0 ? 2 : r->job[JOB_RESHARDS];
    bool alone = sharded == 1 && l->cp == 1;
    rh_launch_store(r, RH_ROW_KNOB(zero), alone ? 0 : how == 0 || (how == 2 && l->pp > 1) ? 2 : 3);
    if (replicated > 1 && !alone && sharded > 0)
        rh_launch_store(r, RH_ROW_KNOB(shard), rh_launch_times(sharded, l->cp));
    int64_t group = MAX(rh_launch_times(rh_launch_times(l->tp, l->pp), l->cp), 1);
    if (sharded > 0 && r->job[RH_JOB_FIELD_GPUS] < 0)
        r->job[RH_JOB_FIELD_GPUS] = rh_launch_times(rh_launch_times(replicated, sharded), group);
    else if (replicated > 1 && sharded < 0 && r->job[RH_JOB_FIELD_GPUS] > 0)
        rh_launch_store(
            r, RH_ROW_KNOB(shard),
            rh_launch_times(MAX(r->job[RH_JOB_FIELD_GPUS] / group / replicated, 1), l->cp));
}

/* --- recomputation --- */

static char *write_checkpointing(const RhLaunchText *t)
{
    return g_strdup(t->layout->recompute == RH_RECOMPUTE_NONE ? "none" : "full");
}

static void read_checkpointing(RhLaunchReading *r, const char *text)
{
    bool full = strcmp(text, "full") == 0, selective = strcmp(text, "selective") == 0;
    rh_launch_store(r, RH_ROW_KNOB(recompute), full ? RH_RECOMPUTE_FULL : RH_RECOMPUTE_NONE);
    if (selective)
        rh_launch_tell(r, "selective recomputation, which keeps each second product of matrices, "
                          "is simulated as none: memory is too large, and the step a little too "
                          "short");
    else if (!full && strcmp(text, "none") != 0)
        rh_launch_problem(r, "none, selective or full", "no %s is \"%s\"", r->at->name, text);
}

/* --- the job --- */

static char *write_converter(const RhLaunchText *t)
{
    const RhRecipe *recipe = t->c->job.recipe;
    return recipe == &rh_recipe_fp8_current ? g_strdup("quantize.linear.float8")
           : recipe == &rh_recipe_mxfp8     ? g_strdup("quantize.linear.mx")
                                            : NULL;
}

static void read_converter(RhLaunchReading *r, const char *text)
{
    if (strstr(text, "mx"))
        r->dtype = "mxfp8";
    else if (strstr(text, "float8"))
        r->dtype = "fp8-current";
}

static void read_float8(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        r->dtype = "fp8-current";
}

static void keep_text(RhLaunchReading *r, int which, const char *text)
{
    g_free(r->texts[which]);
    r->texts[which] = g_strdup(text);
}

static void read_model_name(RhLaunchReading *r, const char *text)
{
    keep_text(r, 0, text);
}

static void read_flavor(RhLaunchReading *r, const char *text)
{
    keep_text(r, 1, text);
}

/* Reads a folder of the Hub's files, whose name often is the model's. */
static void read_assets(RhLaunchReading *r, const char *text)
{
    keep_text(r, 2, text);
}

static void read_offload(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        rh_launch_tell(r, "states are simulated on the GPU, not on the host: time and memory "
                          "differ");
}

/* Flavors of the project's models, by their names in the catalogue. */
static const struct {
    const char *name, *flavor, *model;
} flavors[] = {{"llama3", "8B", "llama-3.1-8b"},
               {"llama3", "70B", "llama-3.1-70b"},
               {"llama3", "405B", "llama-3.1-405b"},
               {"llama3_ft", "8B", "llama-3.1-8b"},
               {"llama3_simple_fsdp", "8B", "llama-3.1-8b"},
               {"llama2", "7B", "llama-2-7b"},
               {"llama2", "13B", "llama-2-13b"},
               {"llama2", "70B", "llama-2-70b"},
               {"deepseek_v3", "16B", "deepseek-v2-lite"},
               {"deepseek_v3", "236B", "deepseek-v2"},
               {"deepseek_v3", "671B", "deepseek-v3"},
               {"qwen3", "0.6B", "qwen3-0.6b"},
               {"qwen3", "1.7B", "qwen3-1.7b"},
               {"qwen3", "4B", "qwen3-4b"},
               {"qwen3", "8B", "qwen3-8b"},
               {"qwen3", "14B", "qwen3-14b"},
               {"qwen3", "32B", "qwen3-32b"},
               {"qwen3", "30B-A3B", "qwen3-30b-a3b"},
               {"qwen3", "235B-A22B", "qwen3-235b-a22b"},
               {"gpt_oss", "20b", "gpt-oss-20b"},
               {"gpt_oss", "120b", "gpt-oss-120b"}};

static void read_tying(RhLaunchReading *r, const char *text)
{
    r->sizes[RH_SIZE_TIED] = rh_launch_read_switch(text);
}

static void read_multiplier(RhLaunchReading *r, const char *text)
{
    keep_text(r, 3, text);
}

/* Works out the sizes of a flavor that the launch itself describes. */
static void finish_sizes(RhLaunchReading *r)
{
    int64_t *s = r->sizes, dim = s[RH_SIZE_HIDDEN], multiple = r->job[JOB_MULTIPLE];
    double said = r->texts[3] ? g_ascii_strtod(r->texts[3], NULL) : 1;
    double factor = said > 0 && said < 1e3 ? said : 1;
    if (dim <= 0)
        return;
    if (s[RH_SIZE_FFN] < 0 && multiple > 0) {
        int64_t width = (int64_t)(factor * (double)(8 * dim / 3));
        s[RH_SIZE_FFN] = (width + multiple - 1) / multiple * multiple;
    }
    s[RH_SIZE_RMS] = s[RH_SIZE_GATED] = s[RH_SIZE_ROTARY] = 1;
    if (s[RH_SIZE_TIED] < 0)
        s[RH_SIZE_TIED] = 0;
}

static void finish_model(RhLaunchReading *r)
{
    finish_sizes(r);
    const char *name = r->texts[0], *flavor = r->texts[1];
    for (size_t i = 0; name && flavor && i < G_N_ELEMENTS(flavors); i++)
        if (g_str_has_prefix(name, flavors[i].name) &&
            g_ascii_strcasecmp(flavor, flavors[i].flavor) == 0) {
            r->model = g_strdup(flavors[i].model);
            return;
        }
    if (r->sizes[RH_SIZE_HIDDEN] > 0)
        return;
    if (flavor)
        rh_launch_tell(r, "the model %s of flavor %s is not known: say it with -w",
                       name ? name : "", flavor);
    else if (r->texts[2])
        r->model = g_strdup(r->texts[2]);
}

void rh_torchtitan_finish(RhLaunchReading *r)
{
    if (!r->dtype)
        r->dtype = "bf16";
    finish_model(r);
    if (!(r->given & RH_KNOB_BIT(kv)) && r->layout.cp > 1)
        rh_launch_store(r, RH_ROW_KNOB(kv), RH_CONTEXT_GATHER);
    finish_sharing(r);
    finish_stages(r);
    finish_batches(r);
}

#define WORK(flag, figure, function)                                                               \
    {                                                                                              \
        .name = (flag), .job = (figure), .write = (function)                                       \
    }

const RhLaunchRow rh_torchtitan_rows[RH_TORCHTITAN_ROWS] = {
    {.name = "parallelism.tensor_parallel_degree",
     .also = "training.tensor_parallel_degree",
     .knob = RH_ROW_KNOB(tp),
     .otherwise = RH_ROW_ALWAYS},
    {.name = "parallelism.pipeline_parallel_degree",
     .also = "training.pipeline_parallel_degree|experimental.pipeline_parallel_degree",
     .knob = RH_ROW_KNOB(pp),
     .otherwise = 1},
    {.name = "parallelism.pipeline_parallel_schedule",
     .also = "experimental.pipeline_parallel_schedule",
     .knob = RH_ROW_KNOB(schedule),
     .write = write_schedule,
     .read = read_schedule},
    WORK("parallelism.pipeline_parallel_microbatch_size", JOB_PIPELINE_BATCH, write_stage_batch),
    WORK("parallelism.pipeline_parallel_layers_per_stage", JOB_STAGE_LAYERS, write_stage_layers),
    WORK("parallelism.pipeline_parallel_first_stage_less_layers", JOB_FIRST_LESS, write_first_less),
    WORK("parallelism.pipeline_parallel_last_stage_less_layers", JOB_LAST_LESS, write_last_less),
    {.knob = RH_ROW_KNOB(dp)}, /* follows from ZeRO */
    {.name = "parallelism.context_parallel_degree",
     .also = "experimental.context_parallel_degree",
     .knob = RH_ROW_KNOB(cp),
     .otherwise = 1},
    {.name = "parallelism.context_parallel_rotate_method",
     .also = "experimental.context_parallel_rotate_method",
     .knob = RH_ROW_KNOB(kv),
     .write = write_rotation,
     .read = read_rotation},
    {.name = "parallelism.expert_parallel_degree", .knob = RH_ROW_KNOB(ep), .otherwise = 1},
    {.name = "parallelism.expert_tensor_parallel_degree",
     .knob = RH_ROW_KNOB(etp),
     .write = write_expert_tensor,
     .read = read_expert_tensor},
    {.name = "parallelism.expert_parallel_comm_backend",
     .knob = RH_ROW_KNOB(dispatch),
     .write = write_backend,
     .read = read_backend},
    {.knob = RH_ROW_KNOB(vpp)},
    {.name = "training.local_batch_size",
     .also = "training.batch_size",
     .job = JOB_LOCAL,
     .write = write_local},
    {.knob = RH_ROW_KNOB(microbatch)}, /* the local batch, or that of a pipeline */
    {.name = "parallelism.data_parallel_replicate_degree",
     .also = "training.data_parallel_replicate_degree",
     .job = JOB_REPLICATED,
     .write = write_replicated},
    {.name = "parallelism.data_parallel_shard_degree",
     .also = "training.data_parallel_shard_degree|training.data_parallel_degree",
     .job = JOB_SHARDED,
     .write = write_sharded},
    {.name = "parallelism.fsdp_reshard_after_forward",
     .also = "training.fsdp_reshard_after_forward",
     .knob = RH_ROW_KNOB(zero),
     .write = write_resharding,
     .read = read_resharding},
    {.knob = RH_ROW_KNOB(shard)},
    {.name = "activation_checkpoint.mode",
     .knob = RH_ROW_KNOB(recompute),
     .write = write_checkpointing,
     .read = read_checkpointing},
    {.knob = RH_ROW_KNOB(sequence_parallel)}, /* always on with tensor parallelism */
    {.name = "parallelism.enable_async_tensor_parallel",
     .also = "experimental.enable_async_tensor_parallel|training.enable_async_tensor_parallel",
     .knob = RH_ROW_KNOB(tensor_overlap),
     .on = 1},
    {.knob = RH_ROW_KNOB(order), .allowed = 1 << RH_ORDER_TP_DP_PP},
    {.knob = RH_ROW_KNOB(partition)},
    {.knob = RH_ROW_KNOB(stage_layers_count)},
    {.name = "training.seq_len", .job = RH_JOB_FIELD_SEQUENCE, .otherwise = RH_ROW_ALWAYS},
    {.name = "training.global_batch_size",
     .job = RH_JOB_FIELD_GLOBAL_BATCH,
     .otherwise = RH_ROW_ALWAYS,
     .may_be_unset = true},
    {.name = "optimizer.name", .read = rh_launch_read_optimizer},
    {.name = "model.converters", .write = write_converter, .read = read_converter},
    {.name = "model.name", .read = read_model_name},
    {.name = "model.flavor", .read = read_flavor},
    {.name = "model.hf_assets_path", .also = "model.tokenizer_path", .read = read_assets},
    {.name = "float8.enable_float8_linear", .read = read_float8},
    {.name = "dim", .size = RH_SIZE_HIDDEN, .otherwise = RH_ROW_NEVER},
    {.name = "n_layers", .size = RH_SIZE_LAYERS, .otherwise = RH_ROW_NEVER},
    {.name = "n_heads", .size = RH_SIZE_HEADS, .otherwise = RH_ROW_NEVER},
    {.name = "n_kv_heads", .size = RH_SIZE_GROUPS, .otherwise = RH_ROW_NEVER},
    {.name = "head_dim", .size = RH_SIZE_HEAD, .otherwise = RH_ROW_NEVER},
    {.name = "hidden_dim", .size = RH_SIZE_FFN, .otherwise = RH_ROW_NEVER},
    {.name = "vocab_size", .size = RH_SIZE_VOCAB, .otherwise = RH_ROW_NEVER},
    {.name = "rope_theta", .size = RH_SIZE_ROTARY_BASE, .otherwise = RH_ROW_NEVER},
    {.name = "multiple_of", .job = JOB_MULTIPLE, .otherwise = RH_ROW_NEVER},
    {.name = "ffn_dim_multiplier", .read = read_multiplier},
    {.name = "enable_weight_tying", .read = read_tying},
    {.name = "training.enable_cpu_offload", .read = read_offload},
};

/* Patterns of settings that change neither time nor memory of a step. */
const char rh_torchtitan_costless[] =
    "job.*|profiling.*|metrics.*|optimizer.lr|optimizer.eps|"
    "optimizer.beta*|optimizer.weight_decay|optimizer.fused=true|optimizer.implementation=fused|"
    "lr_scheduler.*|checkpoint.*|comm.*|debug.*|"
    "validation.*|training.dataset*|training.steps|training.max_norm|training.gc_*|training.seed|"
    "training.deterministic|training.warmup_steps|training.mixed_precision_param=bfloat16|training.mixed_precision_reduce=float32|"
    "training.dataloader.*|"
    "training.compile|training.data_*|compile.*|experimental.custom_import|fault_tolerance.enable=false|fault_tolerance.replica*|"
    "fault_tolerance.group*|fault_tolerance.process*|fault_tolerance.min*|fault_tolerance.semi*|"
    "memory_estimation.*|activation_checkpoint.selective_ac_option|activation_checkpoint.per_op_*|"
    "activation_checkpoint.early_stop|activation_checkpoint.debug|"
    "activation_checkpoint.preserve_rng_state|activation_checkpoint.determinism_check|float8.*|"
    "quantize.*|mx.*|parallelism.context_parallel_load_balancer=headtail|model.norm_type|"
    "model.print_after_conversion|parallelism.disable_loss_parallel=false|training.disable_loss_parallel=false|"
    "tokenizer.*|dump.*|parallelism.enable_compiled_autograd=false|"
    "training.enable_compiled_autograd=false|"
    "experimental.enable_compiled_autograd=false|norm_eps|qk_norm|scaling_factor|low_freq_factor|"
    "high_freq_factor|original_max_position_embeddings|rope_scaling_args|moe_*|score_*|*route*";
