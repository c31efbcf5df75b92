/* DeepSpeed under the Trainer of Hugging Face Transformers
 * (examples/pytorch/language-modeling/run_clm.py), with the model as a config.json. Names and rules
 * are those of DeepSpeed v0.19.5 and Transformers v4.57 (docs/guide/deepspeed-flags.md cites them);
 * a test compares every option and every key written here with
 * strategies/data/deepspeed-flags.txt. */
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "strategies/launch/hf_trainer.h"
#include "strategies/train/block_cost.h"
#include "workloads/operators/operator.h"

#define CONFIG_FILE "ds_config.json"
#define MODEL_FILE  "rehearsed_model/config.json"
#define NVME_FOLDER "/local_nvme" /* as DeepSpeed's own examples have it */

/* --- knobs --- */

static const char *const recompute_words[] = {
    [RH_RECOMPUTE_NONE] = "", [RH_RECOMPUTE_FULL] = "--gradient_checkpointing"};

#define VALUES(words) .values = words, .values_count = G_N_ELEMENTS(words)

static const RhLaunchOption deepspeed_words[] = {
    {.key = "dp"}, /* the world size over the other degrees */
    {.key = "mb", .flag = "--per_device_train_batch_size"},
    {.key = "zero"}, /* in the configuration, like hpz */
    {.key = "hpz"},
    {.key = "states"},
    {.key = "hosted"},
    {.key = "qwz"},
    {.key = "codec"},
    {.key = "params"},
    {.key = "recompute", VALUES(recompute_words)},
    {.key = "partition"}, /* there is one stage */
    {.key = "sp"},        /* there is one tensor rank */
};

/* --- the model --- */

/* Checks that the family's Transformers class reads the keys that are written here. */
static bool check_model(const RhProblem *c, GError **error)
{
    static const char *const families[] = {"llama", "mistral", "qwen2", "qwen3", NULL};
    static const char *const adapted[] = {"mixtral", "qwen3_moe", NULL};
    const RhModel *m = c->model;
    if (c->job.lora.rank > 0 && m->family && g_strv_contains(adapted, m->family))
        return true; /* its own file describes it */
    if (!m->family || !g_strv_contains(families, m->family))
        return rh_launch_fail_model(&rh_framework_deepspeed, c,
                                    "its family (known: llama, mistral, qwen2, qwen3)", error);
    if (m->kinds[0].ffn != &rh_ffn)
        return rh_launch_fail_model(&rh_framework_deepspeed, c, "its layers", error);
    return true;
}

/* Writes the window. Without its key Transformers uses defaults: a mistral has windows of 4096, a
 * qwen has none where use_sliding_window is missing, and otherwise only from max_window_layers
 * on. */
static void write_window(RhJsonWriter *w, const RhModel *m)
{
    int64_t window = m->kinds[0].window_tokens;
    bool qwen = g_str_has_prefix(m->family, "qwen");
    if (window > 0)
        rh_json_put_int(w, "sliding_window", window);
    else if (strcmp(m->family, "mistral") == 0)
        rh_json_put_null(w, "sliding_window");
    if (qwen && window > 0) {
        rh_json_put_bool(w, "use_sliding_window", true);
        rh_json_put_int(w, "max_window_layers", 0);
    }
}

/* Writes the biases. A qwen2 always has them on queries, keys and values, a mistral never. */
static void write_biases(RhJsonWriter *w, const RhLayerKind *k)
{
    if (k->o_bias)
        rh_json_put_bool(w, "attention_bias", true);
    if (k->ffn_bias)
        rh_json_put_bool(w, "mlp_bias", true);
}

static void put_given(RhJsonWriter *w, const char *key, double value)
{
    if (value > 0)
        rh_json_put_number(w, key, value);
}

/* Writes the numerics as the model's own file has them, which Transformers reads. */
static void write_numerics(RhJsonWriter *w, const RhNumerics *n)
{
    const RhRopeScaling *rope = &n->rope;
    if (n->activation)
        rh_json_put_string(w, "hidden_act", n->activation);
    put_given(w, "rms_norm_eps", n->norm_epsilon);
    if (!rope->type)
        return;
    rh_json_begin_object(w, "rope_scaling");
    rh_json_put_string(w, "rope_type", rope->type);
    put_given(w, "factor", rope->factor);
    put_given(w, "low_freq_factor", rope->low_freq_factor);
    put_given(w, "high_freq_factor", rope->high_freq_factor);
    put_given(w, "beta_fast", rope->beta_fast);
    put_given(w, "beta_slow", rope->beta_slow);
    if (rope->original_positions > 0)
        rh_json_put_int(w, "original_max_position_embeddings", rope->original_positions);
    rh_json_end_object(w);
}

static void write_model(RhLaunchText *t)
{
    const RhModel *m = t->c->model;
    const RhLayerKind *k = &m->kinds[0];
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "model_type", m->family);
    rh_json_put_int(w, "hidden_size", m->hidden);
    rh_json_put_int(w, "intermediate_size", k->ffn_width);
    rh_json_put_int(w, "num_hidden_layers", m->layers_count);
    rh_json_put_int(w, "num_attention_heads", k->heads);
    rh_json_put_int(w, "num_key_value_heads", k->kv_heads);
    rh_json_put_int(w, "head_dim", k->head_size);
    write_window(w, m);
    write_biases(w, k);
    rh_json_put_int(w, "vocab_size", m->vocab);
    rh_json_put_int(w, "max_position_embeddings", MAX(m->positions, t->c->job.sequence));
    rh_json_put_int(w, "rope_theta", m->rotary_base);
    write_numerics(w, &m->numerics);
    rh_json_put_bool(w, "tie_word_embeddings", m->tied_embeddings);
    rh_json_end_object(w);
    g_autofree char *text = rh_json_writer_steal(w);
    g_string_append(t->files, "mkdir -p rehearsed_model\n");
    rh_launch_file(t, MODEL_FILE, text);
    const char *rope = m->numerics.rope.type;
    bool whole = !rope || !strstr(rope, "longrope"); /* has lists of factors */
    rh_launch_note_numerics(t, &rh_framework_deepspeed, whole);
}

/* --- the job --- */

/* Writes where states or weights are; the user names the folder on drives. */
static void write_place(RhJsonWriter *w, const char *key, RhPlace place, int32_t percent)
{
    rh_json_begin_object(w, key);
    rh_json_put_string(w, "device", place == RH_PLACE_NVME ? "nvme" : "cpu");
    rh_json_put_bool(w, "pin_memory", true);
    if (place == RH_PLACE_NVME)
        rh_json_put_string(w, "nvme_path", NVME_FOLDER);
    if (percent < 100)
        rh_json_put_number(w, "ratio", percent / 100.0);
    rh_json_end_object(w);
}

static void write_sharing(RhJsonWriter *w, const RhLayout *l)
{
    rh_json_begin_object(w, "zero_optimization");
    rh_json_put_int(w, "stage", l->zero);
    if (l->zero > 0) {
        rh_json_put_bool(w, "overlap_comm", true);
        rh_json_put_bool(w, "contiguous_gradients", true);
        rh_json_put_bool(w, "reduce_scatter", true);
    }
    if (l->hpz > 0)
        rh_json_put_int(w, "zero_hpz_partition_size", l->hpz);
    if (l->states != RH_PLACE_DEVICE)
        write_place(w, "offload_optimizer", l->states, l->states_percent);
    if (l->weights != RH_PLACE_DEVICE)
        write_place(w, "offload_param", l->weights, 100);
    if (l->qwz)
        rh_json_put_bool(w, "zero_quantized_weights", true);
    rh_json_end_object(w);
}

const char *const rh_deepspeed_optimizers[RH_CODEC_LAST] = {[RH_CODEC_ONEBIT] = "OneBitAdam",
                                                            [RH_CODEC_ONEBIT_LAMB] = "OneBitLamb",
                                                            [RH_CODEC_ZERO_ONE] = "ZeroOneAdam"};

/* Steps of warm-up, in which nothing is compressed: the optimizers' own default
 * (deepspeed/runtime/fp16/onebit/adam.py, freeze_step; zoadam.py, var_freeze_step). */
#define FREEZE_STEP 100000

/* Writes the optimizer where it is not the one that the trainer makes: compressed, or on the host. */
static void write_optimizer(RhLaunchText *t, RhJsonWriter *w)
{
    const char *compressed = rh_deepspeed_optimizers[t->layout->codec];
    const char *key = t->layout->codec == RH_CODEC_ZERO_ONE ? "var_freeze_step" : "freeze_step";
    if (!compressed && t->layout->states == RH_PLACE_DEVICE)
        return;
    rh_json_begin_object(w, "optimizer");
    rh_json_put_string(w, "type", compressed ? compressed : "AdamW");
    rh_json_begin_object(w, "params");
    rh_json_put_string(w, "lr", "auto");
    if (compressed)
        rh_json_put_int(w, key, FREEZE_STEP);
    rh_json_end_object(w);
    rh_json_end_object(w);
    if (compressed)
        rh_launch_note(t,
                       "set %s in " CONFIG_FILE " to the steps of warm-up: what is simulated is a "
                       "step behind it in which %s exchanges",
                       key, compressed);
}

static void write_configuration(RhLaunchText *t)
{
    const RhProblem *c = t->c;
    const RhLayout *l = t->layout;
    bool fp16 = c->job.recipe->dtype == RH_DTYPE_FP16;
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_int(w, "train_batch_size", c->job.global_batch);
    rh_json_put_int(w, "train_micro_batch_size_per_gpu", l->microbatch);
    rh_json_put_int(w, "gradient_accumulation_steps", rh_train_microbatches(c, l));
    rh_json_put_number(w, "gradient_clipping", 1);
    rh_json_begin_object(w, fp16 ? "fp16" : "bf16");
    rh_json_put_bool(w, "enabled", true);
    rh_json_end_object(w);
    rh_json_begin_object(w, "data_types");
    rh_json_put_string(w, "grad_accum_dtype",
                       rh_gradient_bytes(c) == 4 ? "fp32"
                       : fp16                    ? "fp16"
                                                 : "bf16");
    rh_json_end_object(w);
    write_sharing(w, l);
    write_optimizer(t, w);
    rh_json_end_object(w);
    g_autofree char *text = rh_json_writer_steal(w);
    rh_launch_file(t, CONFIG_FILE, text);
}

static void write_checkpoints(RhLaunchText *t)
{
    const RhLaunchOptions *e = t->extras;
    g_autofree char *save = e->save ? g_shell_quote(e->save) : NULL;
    g_autofree char *load = e->load ? g_shell_quote(e->load) : NULL;
    rh_launch_write(t, "--output_dir %s", save ? save : "$OUTPUT");
    if (save)
        rh_launch_write(t, "--save_strategy steps --save_steps %" G_GINT64_FORMAT, e->save_steps);
    else
        rh_launch_write(t, "--save_strategy no");
    if (load)
        rh_launch_write(t, "--resume_from_checkpoint %s", load);
}

static bool write_rest(RhLaunchText *t, GError **error)
{
    const RhProblem *c = t->c;
    (void)error;
    write_configuration(t);
    if (c->job.lora.rank > 0) {
        rh_launch_write_trainer(t); /* run_clm.py has no adapters */
        rh_launch_write(t, "--deepspeed " CONFIG_FILE);
        return true;
    }
    write_model(t);
    rh_launch_write(t,
                    "--gradient_accumulation_steps %" G_GINT64_FORMAT
                    " --max_grad_norm 1.0 --block_size %" G_GINT64_FORMAT " --%s",
                    rh_train_microbatches(c, t->layout), c->job.sequence,
                    c->job.recipe->dtype == RH_DTYPE_FP16 ? "fp16" : "bf16");
    rh_launch_write(t, "--deepspeed " CONFIG_FILE " --config_name rehearsed_model "
                       "--tokenizer_name $TOKENIZER --dataset_name $DATA --do_train --max_steps "
                       "$ITERATIONS --learning_rate $LEARNING_RATE");
    write_checkpoints(t);
    if (!t->extras->load)
        rh_launch_note(t,
                       "training begins with random weights: to begin with trained ones, put "
                       "--model_name_or_path NAME in the place of --config_name rehearsed_model");
    rh_launch_note(t,
                   "set $TOKENIZER (with the model's vocabulary of %" G_GINT64_FORMAT
                   " tokens), $DATA, %s before you run this",
                   c->model->vocab, rh_trainer_choices(t));
    rh_trainer_note_load(t);
    if (t->layout->states == RH_PLACE_NVME || t->layout->weights == RH_PLACE_NVME)
        rh_launch_note(t,
                       "the drives of every node are taken to be at " NVME_FOLDER " (nvme_path)");
    rh_launch_note(t, "the files must be on every node; attention is PyTorch's fused kernel");
    return true;
}

/* --- refused jobs --- */

static bool check_job(const RhProblem *c, const RhLayout *l, GError **error)
{
    if (c->job.narrow_weights || c->job.narrow_attention)
        return rh_fail(error, RH_ERROR_USAGE, "DeepSpeed has no narrow weights or attention here");
    if (rh_launch_has_narrow_moments(c))
        return rh_fail(error, RH_ERROR_USAGE,
                       "DeepSpeed shares out PyTorch's AdamW here, whose moments are fp32");
    if (c->job.recipe != &rh_recipe_bf16 && c->job.recipe->dtype != RH_DTYPE_FP16)
        return rh_fail(error, RH_ERROR_USAGE,
                       "DeepSpeed's trainer runs no %s\nhelp: `dtype=bf16` or `dtype=fp16`",
                       c->job.recipe->name);
    if (l->zero == 0 && rh_gradient_bytes(c) == 4)
        return rh_fail(error, RH_ERROR_USAGE,
                       "DeepSpeed without ZeRO keeps gradients in the model's own format, and the "
                       "plan has them in fp32\n"
                       "help: plan with `zero>=1`, or `job.gradients=bf16`");
    return true;
}

static bool check_own(const RhProblem *c, const RhLayout *l, GError **error)
{
    return check_model(c, error) && check_job(c, l, error);
}

const RhFramework rh_framework_deepspeed = {
    .name = "deepspeed",
    .title = "DeepSpeed",
    .version = "v0.19.5 with Transformers v4.57",
    .program = "run_clm.py",
    .words = deepspeed_words,
    .words_count = G_N_ELEMENTS(deepspeed_words),
    /* memory of from_config(), in fp32, before DeepSpeed casts it and moves it to the GPU
     * (engine.py:1714) */
    .starts = {{2, true, false, "loads the whole model on its host, in 16 bits", 2,
                "from_pretrained() of " RH_TRAINER_FILE},
               {2, false, false, "builds the whole model on its host, in fp32", 4,
                "examples/pytorch/language-modeling/run_clm.py"},
               {3, false, false, "shares out each layer as it is made (zero.Init)", 0,
                "deepspeed/runtime/zero/partition_parameters.py"}},
    .features = RH_FEATURE_WINDOW,
    .check = check_own,
    .write_rest = write_rest,
};
