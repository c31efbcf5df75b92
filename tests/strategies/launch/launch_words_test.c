/* Words of launches that cost something, or that a framework refuses: none passes in silence. */
#include <glib/gstdio.h>
#include <string.h>

#include "strategies/launch/launch_read.h"
#include "tests/kit/testkit.h"

/* Where a word is answered. */
typedef enum {
    IN_ERROR, /* the launch is refused, at a position */
    IN_NOTES,
    IN_UNKNOWN, /* its effect on cost is unknown */
    NOWHERE
} Answer;

typedef struct {
    const char *ending, *text;
    Answer answer;
    const char *words;
} Case;

#define MEGATRON                                                                                   \
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "              \
    "--num-attention-heads 32 --seq-length 4096 --micro-batch-size 1 "
#define TITAN "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 4096\n"
#define MAXTEXT                                                                                    \
    "model_name: llama3.1-8b\nper_device_batch_size: 1\nmax_target_length: 4096\n"                 \
    "ici_fsdp_parallelism: 8\n"
#define FACTORY                                                                                    \
    "model_name_or_path: meta-llama/Llama-3.1-8B\nfinetuning_type: full\ncutoff_len: 4096\n"
#define AXOLOTL "base_model: meta-llama/Llama-3.1-8B\nsequence_len: 4096\nmicro_batch_size: 2\n"

static const Case cases[] = {
    {".sh", MEGATRON "--global-batch-size 8\n", IN_NOTES, "the model is a guess: "},
    {".sh", MEGATRON "--global-batch-size 0\n", IN_ERROR, ":1:"},
    {".sh", MEGATRON "--global-batch-size -1\n", IN_ERROR, "at least 1"},
    {".sh", MEGATRON "--global-batch-size 8 --bf16 --fp16\n", IN_ERROR, "exclude each other"},
    {".sh", MEGATRON "--global-batch-size 8 --tensor-model-parallel-size 3\n", IN_ERROR,
     "do not divide 8 GPUs"},
    {".sh", MEGATRON "--global-batch-size 8 --tensor-model-parallel-size 3\n", IN_ERROR, ":1:166"},
    {".sh", MEGATRON "--global-batch-size 7\n", IN_ERROR, "no multiple of 1 of a micro-batch"},
    {".sh", MEGATRON "--global-batch-size 7 --tensor-model-parallel-size 8\n", NOWHERE, NULL},
    {".sh", MEGATRON "--nproc_per_node 64 --global-batch-size 64 --tensor-model-parallel-size 64\n",
     IN_ERROR, "does not divide 32 attention heads"},
    {".sh",
     "for X in 1 2; do " MEGATRON "--global-batch-size 8 "
     "--tensor-model-parallel-size $X; done\n",
     IN_ERROR, "choose one: "},
    {".sh", "for X in 1 2; do " MEGATRON "--global-batch-size 8 --seed $X; done\n", NOWHERE, NULL},
    {".sh", MEGATRON "--global-batch-size 8 --bf16 --optimizer sgd\n", IN_NOTES, "sgd"},
    {".sh", MEGATRON "--global-batch-size 8 --bf16 --optimizer adam\n", NOWHERE, NULL},
    {".sh", MEGATRON "--global-batch-size 8 --bf16 --rampup-batch-size 8 8 99\n", IN_NOTES,
     "full batch"},
    {".sh", MEGATRON "--global-batch-size 8 --bf16 --no-bias-swiglu-fusion\n", IN_UNKNOWN,
     "no-bias-swiglu-fusion"},
    {".sh", MEGATRON "--global-batch-size 8 --bf16 --transformer-impl local\n", IN_UNKNOWN,
     "transformer-impl"},
    {".sh", MEGATRON "--global-batch-size 8 --bf16 --transformer-impl transformer_engine\n",
     NOWHERE, NULL},
    {".toml", TITAN "global_batch_size = -1\n", NOWHERE, NULL},
    {".toml", TITAN "global_batch_size = 0\n", IN_ERROR, "at least 1"},
    {".toml", TITAN "mixed_precision_param = \"float32\"\n", IN_UNKNOWN, "mixed_precision_param"},
    {".toml", TITAN "[optimizer]\nname = \"SGD\"\n", IN_NOTES, "SGD"},
    {".yaml", MAXTEXT "fused_qkv: true\n", IN_UNKNOWN, "fused_qkv"},
    {".yaml", MAXTEXT "fused_qkv: false\n", NOWHERE, NULL},
    {".yaml", MAXTEXT "cast_logits_to_fp32: false\n", IN_UNKNOWN, "cast_logits_to_fp32"},
    {".yaml", MAXTEXT "float32_logits: true\n", IN_UNKNOWN, "float32_logits"},
    {".yaml", MAXTEXT "weight_dtype: bfloat16\n", IN_UNKNOWN, "weight_dtype"},
    {".yaml", MAXTEXT "global_parameter_scale: 2\n", IN_NOTES, "global_parameter_scale 2"},
    {".yaml", MAXTEXT "global_parameter_scale: 1\n", NOWHERE, NULL},
    {".yaml", FACTORY "stage: dpo\n", IN_NOTES, "a sample is a pair"},
    {".yaml", FACTORY "stage: kto\n", IN_NOTES, "kto"},
    {".yaml", FACTORY "optim: paged_adamw_8bit\n", IN_NOTES, "counted on the GPU"},
    {".yaml", FACTORY "stage: sft\nper_device_train_batch_size: 0\n", IN_ERROR, "at least 1"},
    {".yaml", FACTORY "stage: sft\nbf16: true\nfp16: true\n", IN_ERROR, "exclude each other"},
    {".yaml", FACTORY "stage: sft\n", IN_NOTES, "8, the trainer's default"},
    {".yaml", AXOLOTL "rl: dpo\n", IN_NOTES, "a sample is a pair"},
    {".yaml", AXOLOTL "load_in_8bit: true\nadapter: lora\nlora_r: 8\n", IN_NOTES, "8 bits"},
    {".yaml", AXOLOTL "flash_attention: false\n", IN_UNKNOWN, "flash_attention"},
    {".yaml", AXOLOTL "liger_rms_norm: true\n", IN_UNKNOWN, "liger_rms_norm"},
};

static RhLaunchFile *read_text(const Case *c, GError **error)
{
    g_autofree char *pattern = g_strconcat("launch-XXXXXX", c->ending, NULL);
    g_autofree char *path = NULL;
    int file = g_file_open_tmp(pattern, &path, NULL);
    g_assert(file >= 0 && g_file_set_contents(path, c->text, -1, NULL));
    g_close(file, NULL);
    RhLaunchFile *read = rh_launch_read(path, error);
    g_unlink(path);
    return read;
}

static bool holds(const GPtrArray *lines, const char *words)
{
    for (guint i = 0; i < lines->len; i++)
        if (strstr(g_ptr_array_index(lines, i), words))
            return true;
    return false;
}

static void words_that_cost_are_answered(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Case *c = &cases[i];
        g_autoptr(GError) error = NULL;
        g_autoptr(RhLaunchFile) file = read_text(c, &error);
        bool right = c->answer == IN_ERROR     ? error && strstr(error->message, c->words)
                     : !file                   ? false
                     : c->answer == IN_NOTES   ? holds(file->notes, c->words)
                     : c->answer == IN_UNKNOWN ? holds(file->unknown, c->words)
                                               : file->unknown->len == 0;
        if (!right)
            printf("\n%s\n%s\n", c->text, error ? error->message : "");
        CU_ASSERT_TRUE(right);
    }
}

/* "FILE#N" is the run of a loop; a ds_config.json that a script names is among the files read. */
static void runs_of_loops_are_chosen(void)
{
    g_autofree char *folder = g_dir_make_tmp("launch-XXXXXX", NULL);
    g_autofree char *script = g_build_filename(folder, "a.sh", NULL);
    g_autofree char *config = g_build_filename(folder, "ds.json", NULL);
    g_assert(g_file_set_contents(
        script,
        "for B in 2 4; do deepspeed --num_gpus 8 t.py --deepspeed ds.json "
        "--model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size $B; done\n",
        -1, NULL));
    g_assert(g_file_set_contents(config, "{\"zero_optimization\": {\"stage\": 3}}\n", -1, NULL));
    for (int32_t run = 1; run <= 3; run++) {
        g_autofree char *name = g_strdup_printf("%s#%d", script, run);
        g_autoptr(RhLaunchFile) file = rh_launch_read(name, NULL);
        CU_ASSERT_EQUAL(file != NULL, run <= 2);
        CU_ASSERT_EQUAL(file ? file->layout.microbatch : 6, 2 * run);
        CU_ASSERT_TRUE(!file || (file->files->len == 2 && holds(file->files, config)));
    }
    g_unlink(script);
    g_unlink(config);
    g_rmdir(folder);
}

int main(void)
{
    return rh_test_main("launch words",
                        (RhTest[]){{"words that cost are answered", words_that_cost_are_answered},
                                   {"runs of loops are chosen", runs_of_loops_are_chosen},
                                   {0}});
}
