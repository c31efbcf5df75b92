/* The program that trains adapters under the Trainer of Hugging Face Transformers. All that costs is an
 * option of its command, so that the command is read again by the rows of hf_trainer_reader.c. */
#include <string.h>

#include "strategies/launch/hf_trainer.h"
#include "strategies/train/block_cost.h"
#include "workloads/config/hf_hub.h"
#include "workloads/operators/operator.h"

static const char program[] =
    "from dataclasses import dataclass\n"
    "from itertools import chain\n\n"
    "import torch\n"
    "from datasets import load_dataset\n"
    "from peft import LoraConfig, get_peft_model\n"
    "from transformers import (AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig,\n"
    "                          HfArgumentParser, Trainer, TrainingArguments,\n"
    "                          default_data_collator)\n\n\n"
    "@dataclass\n"
    "class Job:\n"
    "    model_name_or_path: str\n"
    "    dataset_name: str\n"
    "    block_size: int  # tokens of a sample: texts one behind the other, cut\n"
    "    lora_r: int\n"
    "    lora_alpha: int\n"
    "    lora_target_modules: str  # names, commas between\n"
    "    load_in_4bit: bool = False  # frozen weights in 4 bits (NF4)\n"
    "    bnb_4bit_use_double_quant: bool = True\n\n\n"
    "# Before the model: where weights are shared out, from_pretrained then loads them for that.\n"
    "job, arguments = HfArgumentParser((Job, TrainingArguments)).parse_args_into_dataclasses()\n"
    "arguments.gradient_checkpointing_kwargs = {\"use_reentrant\": False}\n"
    "tokenizer = AutoTokenizer.from_pretrained(job.model_name_or_path)\n"
    "half = torch.float16 if arguments.fp16 else torch.bfloat16\n"
    "# Weights of 4 bits are stored in numbers of 16, as FSDP shares out nothing else.\n"
    "frozen = BitsAndBytesConfig(\n"
    "    load_in_4bit=True, bnb_4bit_quant_type=\"nf4\", bnb_4bit_compute_dtype=half,\n"
    "    bnb_4bit_use_double_quant=job.bnb_4bit_use_double_quant,\n"
    "    bnb_4bit_quant_storage=half) if job.load_in_4bit else None\n"
    "model = AutoModelForCausalLM.from_pretrained(\n"
    "    job.model_name_or_path, dtype=half, quantization_config=frozen)\n"
    "model.config.use_cache = False\n"
    "model.enable_input_require_grads()\n"
    "model = get_peft_model(model, LoraConfig(\n"
    "    task_type=\"CAUSAL_LM\", r=job.lora_r, lora_alpha=job.lora_alpha, lora_dropout=0.0,\n"
    "    target_modules=job.lora_target_modules.split(\",\")))\n"
    "model.print_trainable_parameters()\n\n\n"
    "def cut(texts):\n"
    "    length = job.block_size\n"
    "    ids = list(chain.from_iterable(tokenizer(texts[\"text\"])[\"input_ids\"]))\n"
    "    parts = [ids[i:i + length] for i in range(0, len(ids) - length + 1, length)]\n"
    "    return dict(input_ids=parts, attention_mask=[[1] * length] * len(parts), labels=parts)\n"
    "\n\n"
    "with arguments.main_process_first():\n"
    "    texts = load_dataset(job.dataset_name, split=\"train\")\n"
    "    samples = texts.map(cut, batched=True, remove_columns=texts.column_names)\n"
    "trainer = Trainer(model=model, args=arguments, train_dataset=samples,\n"
    "                  data_collator=default_data_collator)\n"
    "trainer.train(resume_from_checkpoint=arguments.resume_from_checkpoint)\n"
    "if trainer.is_fsdp_enabled:\n"
    "    trainer.accelerator.state.fsdp_plugin.set_state_dict_type(\"FULL_STATE_DICT\")\n"
    "trainer.save_model()\n";

/* Names of these families' linear layers in Transformers, commas between; a mixtral's experts are w1,
 * w2, w3. Caller frees. */
static char *target_modules(const RhProblem *c)
{
    bool mixtral = strcmp(c->model->family, "mixtral") == 0;
    const struct {
        RhLinearName linear;
        const char *names;
    } rows[] = {{RH_LINEAR_QKV, "q_proj,k_proj,v_proj"},
                {RH_LINEAR_PROJ, "o_proj"},
                {RH_LINEAR_FC1, mixtral ? "w1,w3" : "gate_proj,up_proj"},
                {RH_LINEAR_FC2, mixtral ? "w2" : "down_proj"}};
    g_autoptr(GString) out = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rh_lora_adapts(&c->job.lora, rows[i].linear))
            g_string_append_printf(out, "%s%s", out->len > 0 ? "," : "", rows[i].names);
    return g_string_free(g_steal_pointer(&out), FALSE);
}

const char *rh_trainer_choices(const RhLaunchText *t)
{
    return t->extras->save ? "$ITERATIONS and $LEARNING_RATE"
                           : "$ITERATIONS, $LEARNING_RATE and $OUTPUT";
}

void rh_trainer_note_load(RhLaunchText *t)
{
    if (t->extras->load)
        rh_launch_note(
            t,
            "the folder to load is that of one checkpoint: checkpoint-N inside the folder of --save");
}

/* Writes where weights come from: the hub's name of a model of the catalogue, unless $BASE is set. */
static void write_base(RhLaunchText *t)
{
    g_autofree char *id = rh_hub_id(t->c->model->name);
    rh_launch_write(t, "--model_name_or_path %s%s%s", id ? "${BASE:-" : "$BASE", id ? id : "",
                    id ? "}" : "");
    if (!id)
        rh_launch_note(t,
                       "set $BASE to the trained weights of %s, a folder or a name on the Hub "
                       "(its config.json is used as it is)",
                       t->c->model->name);
}

static void write_checkpoints(RhLaunchText *t)
{
    const RhLaunchOptions *e = t->extras;
    g_autofree char *save = e->save ? g_shell_quote(e->save) : g_strdup("$OUTPUT");
    g_autofree char *load = e->load ? g_shell_quote(e->load) : NULL;
    rh_launch_write(t, "--output_dir %s", save);
    if (e->save)
        rh_launch_write(t, "--save_strategy steps --save_steps %" G_GINT64_FORMAT, e->save_steps);
    else
        rh_launch_write(t, "--save_strategy no");
    if (load)
        rh_launch_write(t, "--resume_from_checkpoint %s", load);
}

void rh_launch_write_trainer(RhLaunchText *t)
{
    const RhProblem *c = t->c;
    g_autofree char *modules = target_modules(c);
    rh_launch_file(t, RH_TRAINER_FILE, program);
    t->program = RH_TRAINER_FILE;
    rh_launch_write(
        t,
        "--gradient_accumulation_steps %" G_GINT64_FORMAT " --block_size %" G_GINT64_FORMAT
        " --lora_r %d --lora_alpha %d --lora_target_modules %s --%s",
        rh_train_microbatches(c, t->layout), c->job.sequence, c->job.lora.rank,
        2 * c->job.lora.rank, modules, c->job.recipe->dtype == RH_DTYPE_FP16 ? "fp16" : "bf16");
    if (c->job.frozen)
        rh_launch_write(t, "--load_in_4bit true --bnb_4bit_use_double_quant %s",
                        c->job.frozen == &rh_frozen_format_nf4 ? "true" : "false");
    write_base(t);
    rh_launch_write(t, "--dataset_name $DATA --max_steps $ITERATIONS --learning_rate "
                       "$LEARNING_RATE --max_grad_norm 1.0 --logging_steps 1");
    write_checkpoints(t);
    rh_launch_note(t, "set $DATA (a data set of texts), %s before you run this",
                   rh_trainer_choices(t));
    rh_trainer_note_load(t);
    rh_launch_note(
        t, "PEFT gives q, k and v (gate and up) an adapter each, where one for all of them is "
           "simulated: its matrices A have up to three times as many parameters");
}
