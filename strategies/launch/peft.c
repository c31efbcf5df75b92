/* Adapters of PEFT under the Trainer of Transformers, whose weights PyTorch's FSDP2 shares out through
 * Accelerate, or every rank holds. Names and rules are those of Transformers at 00349ae8, Accelerate
 * v1.14.0 and PEFT v0.19 (docs/guide/peft-flags.md cites them); a test compares every option and every
 * key written here with strategies/data/peft-flags.txt. */
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "strategies/launch/hf_trainer.h"
#include "strategies/train/block_cost.h"

/* Families whose linear layers PEFT finds by name, and their layers, which FSDP2 gathers one by one. */
static const struct {
    const char *family, *layer;
} families[] = {{"llama", "LlamaDecoderLayer"},
                {"mistral", "MistralDecoderLayer"},
                {"qwen2", "Qwen2DecoderLayer"},
                {"qwen3", "Qwen3DecoderLayer"}};

/* Returns the class of a model's layers; NULL: it is of no such family. */
static const char *layer_of(const RhModel *m)
{
    for (size_t i = 0; m->family && i < G_N_ELEMENTS(families); i++)
        if (strcmp(families[i].family, m->family) == 0)
            return families[i].layer;
    return NULL;
}

static bool check(const RhProblem *c, const RhLayout *l, GError **error)
{
    (void)l;
    if (!layer_of(c->model))
        return rh_launch_fail_model(&rh_framework_peft, c,
                                    "its family (known: llama, mistral, qwen2, qwen3)", error);
    if (c->job.recipe != &rh_recipe_bf16 || c->job.narrow_weights || c->job.narrow_attention)
        return rh_fail(error, RH_ERROR_USAGE, "PEFT is launched in bf16 here\nhelp: `dtype=bf16`");
    if (rh_launch_has_narrow_moments(c) || rh_gradient_bytes(c) != RH_MASTER_BYTES)
        return rh_fail(error, RH_ERROR_USAGE,
                       "PEFT trains adapters in fp32, with gradients and moments in fp32\n"
                       "help: without moments= and gradients=");
    return true;
}

static void write_sharing(RhLaunchText *t)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_int(w, "version", 2);
    rh_json_put_bool(w, "reshard_after_forward", true);
    rh_json_put_string(w, "transformer_layer_cls_to_wrap", layer_of(t->c->model));
    rh_json_put_bool(w, "cpu_ram_efficient_loading", !t->c->job.frozen);
    rh_json_end_object(w);
    g_autofree char *text = rh_json_writer_steal(w);
    rh_launch_file(t, RH_TRAINER_FSDP_FILE, text);
    g_string_append(t->environment, "ACCELERATE_USE_FSDP=true FSDP_VERSION=2");
    rh_launch_note(t, "before v1.13 Accelerate made frozen weights fp32, too, which takes twice "
                      "their memory");
}

/* Notes how weights of 4 bits come onto the GPUs, and checks that each has room for all of them. */
static bool note_frozen(RhLaunchText *t, GError **error)
{
    RhLayout whole = *t->layout;
    whole.zero = 0;
    double bytes = rh_train_memory(t->c, &whole).at_peak_bytes[RH_MEMORY_WEIGHTS];
    double room_bytes = rh_train_memory_capacity(t->c);
    if (bytes > room_bytes)
        return rh_fail(error, RH_ERROR_USAGE,
                       "PEFT at its start: each rank quantizes the whole model on its GPU "
                       "(fsdp2_prepare_model moves no weights of 4 bits to the meta device), "
                       "%.1f GiB of %.1f\nhelp: plan without a launch",
                       bytes / RH_GIB_BYTES, room_bytes / RH_GIB_BYTES);
    rh_launch_note(t,
                   "while it starts, each rank quantizes the whole model on its GPU, which needs "
                   "%.1f GiB there (src/accelerate/utils/fsdp_utils.py, fsdp2_prepare_model)",
                   bytes / RH_GIB_BYTES);
    rh_launch_note(t, "weights of 4 bits need bitsandbytes");
    return true;
}

static bool write_rest(RhLaunchText *t, GError **error)
{
    if (t->c->job.frozen && !note_frozen(t, error))
        return false;
    if (t->layout->zero > 0)
        write_sharing(t);
    else
        rh_launch_write(t, "--ddp_find_unused_parameters False");
    rh_launch_write_trainer(t);
    return true;
}

const RhFramework rh_framework_peft = {
    .name = "peft",
    .title = "PEFT",
    .version = "v0.19 with Accelerate v1.14",
    .program = RH_TRAINER_FILE,
    .rows = rh_trainer_rows,
    .rows_count = RH_TRAINER_ROWS,
    .assigned = " ",
    .dashes = "--",
    .usual = RH_TRAINER_USUAL,
    .costless = rh_trainer_costless,
    .finish = rh_trainer_finish,
    .starts = {{0, true, false, "loads the whole model on its host, in 16 bits", 2,
                "from_pretrained() of " RH_TRAINER_FILE},
               {3, true, true, "loads the whole model on its host, in 16 bits", 2,
                "src/accelerate/utils/fsdp_utils.py:817"}},
    .features = RH_FEATURE_WINDOW,
    .holds_nf4 = true,
    .check = check,
    .write_rest = write_rest,
};
