/* DeepSpeed under the Trainer of Hugging Face Transformers
 * (examples/pytorch/language-modeling/run_clm.py), with the model as a config.json. Names and rules
 * are those of DeepSpeed v0.19.5 and Transformers v4.57 (docs/guide/deepspeed-flags.md cites them);
 * a test compares every option and every key written here with
 * strategies/data/deepspeed-flags.txt. */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "strategies/launch/framework.h"
#include "strategies/train/block_cost.h"
#include "workloads/operators/operator.h"

#define CONFIG_FILE  "ds_config.json"
#define MODEL_FILE   "rehearsed_model/config.json"
#define TRAINER_FILE "rehearsed_lora.py"

/* --- knobs --- */

static const char *const recompute_words[] = {
    [RH_RECOMPUTE_NONE] = "", [RH_RECOMPUTE_FULL] = "--gradient_checkpointing"};

#define VALUES(words) .values = words, .values_count = G_N_ELEMENTS(words)

static const RhLaunchOption deepspeed_words[] = {
    {.key = "dp"}, /* the world size over the other degrees */
    {.key = "mb", .flag = "--per_device_train_batch_size"},
    {.key = "zero"}, /* in the configuration, like hpz */
    {.key = "hpz"},
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
    rh_json_end_object(w);
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
    rh_json_end_object(w);
    g_autofree char *text = rh_json_writer_steal(w);
    rh_launch_file(t, CONFIG_FILE, text);
}

/* --- adapters: a short trainer with PEFT in place of run_clm.py --- */

static const char trainer[] =
    "import sys\n"
    "from itertools import chain\n\n"
    "import torch\n"
    "from datasets import load_dataset\n"
    "from peft import LoraConfig, get_peft_model\n"
    "from transformers import (AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments,\n"
    "                          default_data_collator)\n\n"
    "given = dict(zip(sys.argv[1::2], sys.argv[2::2]))\n"
    "# Before the model: under ZeRO-3 from_pretrained then shares out weights as it loads them.\n"
    "arguments = TrainingArguments(\n"
    "    output_dir=given[\"--output\"], deepspeed=\"" CONFIG_FILE "\", %s=True,\n"
    "    per_device_train_batch_size=%d, gradient_accumulation_steps=%" G_GINT64_FORMAT ",\n"
    "    max_steps=int(given[\"--iterations\"]), learning_rate=float(given[\"--lr\"]),\n"
    "    max_grad_norm=1.0, logging_steps=1,%s\n"
    "    gradient_checkpointing=%s, gradient_checkpointing_kwargs={\"use_reentrant\": False})\n"
    "tokenizer = AutoTokenizer.from_pretrained(given[\"--base\"])\n"
    "model = AutoModelForCausalLM.from_pretrained(given[\"--base\"], torch_dtype=torch.%s)\n"
    "model.config.use_cache = False\n"
    "model.enable_input_require_grads()\n"
    "model = get_peft_model(model, LoraConfig(\n"
    "    task_type=\"CAUSAL_LM\", r=%d, lora_alpha=%d, lora_dropout=0.0,\n"
    "    target_modules=[%s]))\n"
    "model.print_trainable_parameters()\n"
    "length = %" G_GINT64_FORMAT "  # tokens of a sample: texts one behind the other, cut\n\n\n"
    "def cut(texts):\n"
    "    ids = list(chain.from_iterable(tokenizer(texts[\"text\"])[\"input_ids\"]))\n"
    "    parts = [ids[i:i + length] for i in range(0, len(ids) - length + 1, length)]\n"
    "    return {\"input_ids\": parts, \"attention_mask\": [[1] * length] * len(parts),\n"
    "            \"labels\": parts}\n\n\n"
    "with arguments.main_process_first():\n"
    "    texts = load_dataset(given[\"--data\"], split=\"train\")\n"
    "    samples = texts.map(cut, batched=True, remove_columns=texts.column_names)\n"
    "Trainer(model=model, args=arguments, train_dataset=samples,\n"
    "        data_collator=default_data_collator).train(\n"
    "            resume_from_checkpoint=given.get(\"--load\"))\n"
    "model.save_pretrained(given[\"--output\"])\n";

/* Names of these families' linear layers in Transformers; a mixtral's experts are w1, w2, w3. */
static char *target_modules(const RhProblem *c)
{
    bool mixtral = strcmp(c->model->family, "mixtral") == 0;
    const struct {
        RhLinearName linear;
        const char *names;
    } rows[] = {{RH_LINEAR_QKV, "\"q_proj\", \"k_proj\", \"v_proj\""},
                {RH_LINEAR_PROJ, "\"o_proj\""},
                {RH_LINEAR_FC1, mixtral ? "\"w1\", \"w3\"" : "\"gate_proj\", \"up_proj\""},
                {RH_LINEAR_FC2, mixtral ? "\"w2\"" : "\"down_proj\""}};
    g_autoptr(GString) out = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rh_lora_adapts(&c->job.lora, rows[i].linear))
            g_string_append_printf(out, "%s%s", out->len > 0 ? ", " : "", rows[i].names);
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* Names the variables that the user fills in: how long and how fast to train, and where to. */
static const char *choices(const RhLaunchText *t)
{
    return t->extras->save ? "$ITERATIONS and $LEARNING_RATE"
                           : "$ITERATIONS, $LEARNING_RATE and $OUTPUT";
}

/* Notes that Transformers resumes from one checkpoint, not from the folder that it saves them
 * in. */
static void note_load(RhLaunchText *t)
{
    if (t->extras->load)
        rh_launch_note(
            t,
            "the folder to load is that of one checkpoint: checkpoint-N inside the folder of --save");
}

static void write_adapters(RhLaunchText *t)
{
    const RhProblem *c = t->c;
    const RhLaunchOptions *e = t->extras;
    bool fp16 = c->job.recipe->dtype == RH_DTYPE_FP16;
    g_autofree char *modules = target_modules(c);
    g_autofree char *saving =
        e->save ? g_strdup_printf(" save_steps=%" G_GINT64_FORMAT ",", e->save_steps)
                : g_strdup(" save_strategy=\"no\",");
    g_autofree char *text = g_strdup_printf(
        trainer, fp16 ? "fp16" : "bf16", t->layout->microbatch, rh_train_microbatches(c, t->layout),
        saving, t->layout->recompute == RH_RECOMPUTE_FULL ? "True" : "False",
        fp16 ? "float16" : "bfloat16", c->job.lora.rank, 2 * c->job.lora.rank, modules,
        c->job.sequence);
    rh_launch_file(t, TRAINER_FILE, text);
    t->program = TRAINER_FILE;
    g_string_truncate(t->flags, 0); /* of run_clm.py */
    g_autofree char *save = e->save ? g_shell_quote(e->save) : g_strdup("$OUTPUT");
    g_autofree char *load = e->load ? g_shell_quote(e->load) : NULL;
    rh_launch_write(t,
                    "--base $BASE --data $DATA --iterations $ITERATIONS --lr $LEARNING_RATE "
                    "--output %s",
                    save);
    if (load)
        rh_launch_write(t, "--load %s", load);
    rh_launch_note(
        t,
        "set $BASE to the trained weights of %s, a folder or a name on the Hub (its config.json is "
        "used as it is), $DATA (a data set of texts), %s before you run this",
        c->model->name, choices(t));
    note_load(t);
    rh_launch_note(
        t, "PEFT gives q, k and v (gate and up) an adapter each, where one for all of them is "
           "simulated: its matrices A have up to three times as many parameters");
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
        write_adapters(t);
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
                   c->model->vocab, choices(t));
    note_load(t);
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
    .starts = {{2, true, "loads the whole model on its host, in 16 bits", 2,
                "from_pretrained() of " TRAINER_FILE},
               {2, false, "builds the whole model on its host, in fp32", 4,
                "examples/pytorch/language-modeling/run_clm.py"},
               {3, false, "shares out each layer as it is made (zero.Init)", 0,
                "deepspeed/runtime/zero/partition_parameters.py"}},
    .features = RH_FEATURE_WINDOW,
    .check = check_own,
    .write_rest = write_rest,
};
