#include "validate/step_kernel_lists.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "strategies/train/train.h"
#include "workloads/operators/mixture_of_experts.h"

/* A training list: a stage of a layout (-1 = the last), on so many GPUs in all. On a processor it is
 * in single precision. */
typedef struct {
    const char *name, *model, *layout;
    int32_t gpus, stage;
    int64_t batch, sequence;
    bool on_processor;
} Training;

static const Training trainings[] = {
    {"gpt2-124m", "gpt2", "tp1,mb8", 1, 0, 8, 1024, false},
    {"llama-3.1-8b-tp1", "llama-3.1-8b", "tp1,pp8", 8, 0, 2, 4096, false},
    {"llama-3.1-8b-tp2", "llama-3.1-8b", "tp2,pp4", 8, 0, 2, 4096, false},
    {"llama-3.1-8b-tp4", "llama-3.1-8b", "tp4,pp4", 16, -1, 2, 4096, false},
    {"llama-3.1-8b-tp8", "llama-3.1-8b", "tp8,pp4", 32, 3, 1, 8192, false},
    {"llama-3.1-70b-tp1", "llama-3.1-70b", "tp1,pp40", 40, 0, 2, 4096, false},
    {"llama-3.1-70b-tp2", "llama-3.1-70b", "tp2,pp20", 40, -1, 2, 4096, false},
    {"llama-3.1-70b-tp4", "llama-3.1-70b", "tp4,pp16", 64, 1, 2, 4096, false},
    {"llama-3.1-70b-tp8", "llama-3.1-70b", "tp8,pp8", 64, -1, 2, 8192, false},
    {"cpu-gpt2-64", "gpt2", "tp1", 1, 0, 1, 64, true},
    {"cpu-gpt2-256", "gpt2", "tp1", 1, 0, 1, 256, true},
    {"cpu-gpt2-last-of-4", "gpt2", "tp1,pp4", 4, -1, 4, 128, true},
    {"cpu-bert-base-128", "bert-base", "tp1", 1, 0, 2, 128, true},
    {"cpu-resnet-50", "resnet-50", "tp1", 1, 0, 4, 1, true},
};

/* A decoding list: one token of each of `batch` sequences, whose caches hold `context` tokens. */
typedef struct {
    const char *name, *model;
    int32_t tp, layers;
    int64_t batch, context;
} Decode;

#define DECODE_8B(batch, context)                                                                  \
    {                                                                                              \
        "decode-8b-b" #batch "-c" #context, "llama-3.1-8b", 1, 4, batch, context                   \
    }
#define DECODE_70B(batch, context)                                                                 \
    {                                                                                              \
        "decode-70b-tp8-b" #batch "-c" #context, "llama-3.1-70b", 8, 8, batch, context             \
    }
static const Decode decodes[] = {
    DECODE_8B(1, 512),   DECODE_8B(16, 512),   DECODE_8B(64, 512),    DECODE_8B(256, 512),
    DECODE_8B(1, 4096),  DECODE_8B(16, 4096),  DECODE_8B(64, 4096),   DECODE_8B(256, 4096),
    DECODE_8B(1, 32768), DECODE_8B(16, 32768), DECODE_8B(64, 32768),  DECODE_8B(256, 32768),
    DECODE_70B(1, 4096), DECODE_70B(64, 4096), DECODE_70B(256, 4096), DECODE_70B(16, 32768),
};

/* A list of the experts of one rank, in so many layers. */
typedef struct {
    const char *name;
    RhExperts share;
    int32_t layers;
} Experts;

static const Experts shards[] = {
    /* Mixtral 8x7B (arXiv 2401.04088), ep4: two of eight experts, top 2 of 16,384 tokens */
    {"experts-mixtral-ep4", {2, 8192, 4096, 14336, RH_DTYPE_BF16}, 4},
    /* DeepSeek-V3 (arXiv 2412.19437), ep64: four of 256 experts */
    {"experts-deepseek-v3-ep64", {4, 4096, 7168, 2048, RH_DTYPE_BF16}, 4},
};

static void add_list(GArray *list, const RhKernel *kernel, bool grouped)
{
    RhListedKernel *last = list->len ? &g_array_index(list, RhListedKernel, list->len - 1) : NULL;
    if (last && last->grouped == grouped && memcmp(&last->kernel, kernel, sizeof *kernel) == 0) {
        last->count++;
        return;
    }
    RhListedKernel listed = {.kernel = *kernel, .grouped = grouped, .count = 1};
    g_array_append_val(list, listed);
}

/* --- training --- */

static bool add_stage(GArray *list, const RhProblem *c, const Training *t, GError **error)
{
    RhLayout layout = rh_train_default(c);
    if (!rh_layout_parse(t->layout, &layout, error))
        return false;
    rh_train_complete(c, &layout);
    if (!rh_train_legal(c, &layout, error))
        return false;
    layout = rh_train_canonical(c, &layout);
    g_autoptr(RhProgram) p = rh_train_build(c, &layout, error);
    if (!p)
        return false;
    const RhRole *role =
        rh_program_role(p, t->stage < 0 ? (int32_t)p->roles->len + t->stage : t->stage);
    for (int32_t i = role->tasks_first; i < role->tasks_first + role->tasks_count; i++) {
        const RhTask *task = rh_program_task(p, i);
        if (task->kind != RH_TASK_KERNEL)
            continue;
        const RhBundle *bundle = &g_array_index(p->bundles, RhBundle, task->bundle);
        for (int32_t k = bundle->first; k < bundle->first + bundle->count; k++)
            add_list(list, &g_array_index(p->kernels, RhKernel, k), false);
    }
    return true;
}

static bool add_training(GArray *list, const Training *t, GError **error)
{
    g_autofree char *spec = g_strdup_printf("dgx-h200:%d", (t->gpus + 7) / 8);
    g_autoptr(RhModel) model = rh_model_load(t->model, error);
    g_autoptr(RhPlatform) platform = model ? rh_platform_load(spec, error) : NULL;
    const RhStack *megatron = platform ? rh_stack_by_name("megatron", error) : NULL;
    if (!megatron)
        return false;
    RhStack stack = *megatron;
    stack.gradient_norm = false; /* forward, backward and Adam */
    RhProblem c = {.model = model,
                   .platform = platform,
                   .stack = &stack,
                   .job = {.global_batch = t->batch,
                           .sequence = t->sequence,
                           .gpus = t->gpus,
                           .recipe = t->on_processor ? &rh_recipe_fp32 : &rh_recipe_bf16}};
    return add_stage(list, &c, t, error);
}

/* --- decoding --- */

static bool add_decode(GArray *list, const Decode *d, GError **error)
{
    static const RhPart parts[] = {RH_PART_SEQUENCE, RH_PART_TENSOR};
    static const RhBlock blocks[] = {RH_BLOCK_MIXER, RH_BLOCK_FFN};
    g_autoptr(RhModel) model = rh_model_load(d->model, error);
    g_autoptr(GArray) kernels = g_array_new(FALSE, TRUE, sizeof(RhKernel));
    RhShard shard = {.tp = d->tp,
                     .sequence = d->context,
                     .microbatch = d->batch,
                     .dtype = RH_DTYPE_BF16,
                     .flash = true,
                     .fused_norms = true,
                     .fused_softmax = true,
                     .fused_elementwise = true};
    if (!model)
        return false;
    for (int32_t layer = 0; layer < d->layers; layer++)
        for (size_t b = 0; b < G_N_ELEMENTS(blocks); b++)
            for (size_t p = 0; p < G_N_ELEMENTS(parts); p++)
                rh_block_kernels(model, &model->kinds[model->kind_of_layer[layer]], blocks[b],
                                 parts[p], RH_PASS_DECODE, &shard, kernels);
    for (guint i = 0; i < kernels->len; i++)
        add_list(list, &g_array_index(kernels, RhKernel, i), false);
    return true;
}

/* --- experts --- */

static void add_experts(GArray *list, const Experts *e)
{
    g_autoptr(GArray) kernels = g_array_new(FALSE, TRUE, sizeof(RhKernel));
    for (int32_t layer = 0; layer < e->layers; layer++)
        rh_experts_kernels(&e->share, kernels);
    for (guint i = 0; i < kernels->len; i++) {
        const RhKernel *k = &g_array_index(kernels, RhKernel, i);
        add_list(list, k, k->cls == RH_KERNEL_GEMM);
    }
}

/* --- all --- */

const char *const *rh_step_names(void)
{
    static const char
        *names[G_N_ELEMENTS(trainings) + G_N_ELEMENTS(decodes) + G_N_ELEMENTS(shards) + 1];
    size_t count = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(trainings); i++)
        names[count++] = trainings[i].name;
    for (size_t i = 0; i < G_N_ELEMENTS(decodes); i++)
        names[count++] = decodes[i].name;
    for (size_t i = 0; i < G_N_ELEMENTS(shards); i++)
        names[count++] = shards[i].name;
    return names;
}

bool rh_step_is_on_processor(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(trainings); i++)
        if (strcmp(trainings[i].name, name) == 0)
            return trainings[i].on_processor;
    return false;
}

GArray *rh_step_list(const char *name, GError **error)
{
    g_autoptr(GArray) list = g_array_new(FALSE, TRUE, sizeof(RhListedKernel));
    for (size_t i = 0; i < G_N_ELEMENTS(trainings); i++)
        if (strcmp(trainings[i].name, name) == 0 && !add_training(list, &trainings[i], error))
            return NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(decodes); i++)
        if (strcmp(decodes[i].name, name) == 0 && !add_decode(list, &decodes[i], error))
            return NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(shards); i++)
        if (strcmp(shards[i].name, name) == 0)
            add_experts(list, &shards[i]);
    if (list->len > 0)
        return g_steal_pointer(&list);
    rh_fail(error, RH_ERROR_USAGE, "there is no step \"%s\"", name);
    return NULL;
}

bool rh_step_lists_write(const char *folder, GError **error)
{
    for (const char *const *name = rh_step_names(); *name; name++) {
        if (rh_step_is_on_processor(*name))
            continue;
        g_autoptr(GArray) list = rh_step_list(*name, error);
        g_autofree char *file = g_strconcat(*name, ".csv", NULL);
        g_autofree char *path = g_build_filename(folder, file, NULL);
        g_autofree char *text = list ? rh_kernel_list_text(list, error) : NULL;
        if (!text || !rh_file_write(path, text, strlen(text), error))
            return false;
    }
    return true;
}
