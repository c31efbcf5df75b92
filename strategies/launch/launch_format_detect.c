/* Finds what a launch is by its content. */
#include <string.h>

#include "strategies/launch/hf_trainer.h"
#include "strategies/launch/readers.h"

static const RhLaunchKind kinds[] = {
    {"a TorchTitan configuration", &rh_framework_torchtitan, RH_LAUNCH_TOML,
     "training.seq_len|model.flavor|training.local_batch_size|training.batch_size|"
     "parallelism.tensor_parallel_degree",
     ""},
    {"a DeepSpeed configuration", &rh_framework_trainer, RH_LAUNCH_JSON,
     "train_micro_batch_size_per_gpu|train_batch_size|zero_optimization.stage|"
     "zero_optimization.allgather_partitions",
     ""},
    {"an Accelerate configuration", &rh_framework_peft, RH_LAUNCH_YAML, "distributed_type",
     "compute_environment"},
    {"a Megatron-LM configuration", &rh_framework_megatron, RH_LAUNCH_YAML,
     "MODEL_ARGS.--num-layers|MODEL_ARGS.--micro-batch-size|"
     "MODEL_ARGS.--tensor-model-parallel-size",
     ""},
    {"an axolotl configuration", &rh_framework_axolotl, RH_LAUNCH_YAML,
     "sequence_len|micro_batch_size|datasets.0.path|gradient_accumulation_steps", "base_model"},
    {"a LLaMA-Factory configuration", &rh_framework_llamafactory, RH_LAUNCH_YAML,
     "stage|finetuning_type|cutoff_len|per_device_train_batch_size", "model_name_or_path"},
    {"a MaxText configuration", &rh_framework_maxtext_read, RH_LAUNCH_YAML,
     "per_device_batch_size|base_emb_dim|max_target_length|ici_fsdp_parallelism|remat_policy", ""},
    {"a NeMo configuration", &rh_framework_nemo_read, RH_LAUNCH_YAML,
     "model.tensor_model_parallel_size|model.encoder_seq_length|tensor_model_parallel_size|"
     "train.global_batch_size|trainer.strategy.tensor_model_parallel_size|data.global_batch_size|"
     "model.data.seq_length|policy.megatron_cfg.tensor_model_parallel_size",
     ""},
    {"a NeMo recipe", &rh_framework_nemo_read, RH_LAUNCH_PYTHON, "", ""},
    {"a Megatron-LM launch script", &rh_framework_megatron, RH_LAUNCH_COMMAND,
     "--tensor-model-parallel-size|--num-layers|--micro-batch-size|--hidden-size", ""},
    {"a TorchTitan launch script", &rh_framework_torchtitan, RH_LAUNCH_COMMAND,
     "torchtitan.train|--job.config_file|--training.seq_len|--training.local_batch_size|"
     "--parallelism.tensor_parallel_degree|run_train.sh",
     ""},
    {"a MaxText launch script", &rh_framework_maxtext_read, RH_LAUNCH_COMMAND,
     "MaxText.train|maxtext.train|MaxText/train.py|maxtext/trainers/pre_train/train.py|"
     "maxtext.trainers.pre_train.train|MaxText.pretrain",
     ""},
    {"a launch of axolotl", &rh_framework_axolotl, RH_LAUNCH_COMMAND, "axolotl|axolotl.cli.train",
     ""},
    {"a launch of LLaMA-Factory", &rh_framework_llamafactory, RH_LAUNCH_COMMAND,
     "llamafactory-cli|src/train.py|llamafactory", ""},
    {"a NeMo launch script", &rh_framework_nemo_read, RH_LAUNCH_COMMAND,
     "trainer.num_nodes|trainer.devices|model.tensor_model_parallel_size|"
     "trainer.strategy.tensor_model_parallel_size|rehearsed_recipe.py",
     ""},
    {"a PEFT launch script", &rh_framework_peft, RH_LAUNCH_COMMAND, RH_TRAINER_FILE, ""},
    {"a DeepSpeed launch script", &rh_framework_trainer, RH_LAUNCH_COMMAND,
     "--deepspeed|--deepspeed_config|deepspeed|--per_device_train_batch_size", ""},
};

/* Does a line of it begin a table, "[training]"? */
static bool has_toml_header(const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t name = *line == '[' ? strspn(line + 1, G_CSET_a_2_z G_CSET_A_2_Z "_.-[]") : 0;
        if (name > 1 && line[name] == ']')
            return true;
    }
    return false;
}

/* Does a line of it begin with a key and a colon? */
static bool has_yaml_key(const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t name = strspn(line, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_.-");
        if (name > 0 && line[name] == ':' && strchr(" \r\n", line[name + 1]))
            return true;
    }
    return false;
}

RhLaunchFormat rh_launch_format_of(const char *name, const char *text)
{
    const char *first = text + strspn(text, " \t\r\n\xef\xbb\xbf");
    bool shell = g_str_has_prefix(first, "#!") || strstr(text, "torchrun ") ||
                 strstr(text, "python ") || strstr(text, "python3 ");
    bool bridge = strstr(text, "import") &&
                  (strstr(text, "from megatron.bridge") || strstr(text, "from nemo.collections"));
    bool named = g_str_has_suffix(name, ".sh") || g_str_has_suffix(name, ".slurm") ||
                 g_str_has_suffix(name, ".sbatch");
    if (named)
        return RH_LAUNCH_COMMAND;
    return bridge && !g_str_has_prefix(first, "#!/bin") && !strstr(text, "torchrun ")
               ? RH_LAUNCH_PYTHON
           : *first == '{' ? RH_LAUNCH_JSON
           : has_toml_header(text) && strchr(text, '=') && !g_str_has_prefix(first, "#!")
               ? RH_LAUNCH_TOML
           : !g_str_has_prefix(first, "#!") && has_yaml_key(text) ? RH_LAUNCH_YAML
           : shell || strstr(text, " --") || strchr(text, '=')    ? RH_LAUNCH_COMMAND
                                                                  : RH_LAUNCH_NONE;
}

static bool has_any(const RhLaunchSettings *s, const char *names)
{
    g_auto(GStrv) list = g_strsplit(names, "|", -1);
    for (char **name = list; *name; name++)
        if (rh_launch_setting_of(s, *name))
            return true;
    return false;
}

static bool has_all(const RhLaunchSettings *s, const char *names)
{
    g_auto(GStrv) list = g_strsplit(names, "|", -1);
    for (char **name = list; *name && **name; name++)
        if (!rh_launch_setting_of(s, *name))
            return false;
    return true;
}

const RhLaunchKind *rh_launch_kind_of_tree(RhLaunchFormat format, const RhLaunchSettings *s)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (kinds[i].format == format && (!*kinds[i].any || has_any(s, kinds[i].any)) &&
            has_all(s, kinds[i].all))
            return &kinds[i];
    return NULL;
}

/* Is the word, or its part before "=", the name, or does its path end in it? */
static bool is_named(const char *word, const char *name)
{
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word), wanted = strlen(name);
    if (length < wanted)
        return false;
    const char *end = word + length - wanted;
    for (size_t i = 0; i < wanted; i++) {
        bool dash = strchr("-_", end[i]) && strchr("-_", name[i]);
        if (end[i] != name[i] && !dash)
            return false;
    }
    bool dashed = end > word && end[-1] == '/' && name[0] != '-';
    return end == word || dashed;
}

const RhLaunchKind *rh_launch_kind_of_command(const RhShellCommand *command)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (kinds[i].format != RH_LAUNCH_COMMAND)
            continue;
        g_auto(GStrv) names = g_strsplit(kinds[i].any, "|", -1);
        for (char **name = names; *name; name++)
            for (guint k = 0; k < command->words->len; k++)
                if (is_named(rh_shell_word(command, k)->text, *name))
                    return &kinds[i];
    }
    return NULL;
}

char *rh_launch_file_of_run(const char *path, guint *run)
{
    const char *mark = strrchr(path, '#');
    int64_t number = mark ? g_ascii_strtoll(mark + 1, NULL, 10) : 0;
    bool chosen = number > 0 && number < 1 << 20 &&
                  strspn(mark + 1, G_CSET_DIGITS) == strlen(mark + 1) &&
                  !g_file_test(path, G_FILE_TEST_EXISTS);
    *run = chosen ? (guint)number : 0;
    return chosen ? g_strndup(path, (gsize)(mark - path)) : g_strdup(path);
}
