#pragma once
/* A case from catalogue names, for tests of strategies. */
#include "strategies/search/plan.h"
#include "strategies/train/build.h"
#include "strategies/train/train.h"

typedef struct {
    RhModel *model;
    RhPlatform *bare, *platform;
    RhStack *stack; /* its own, where it has one */
    RhCase c;
} TrainKit;

/* Model and platform from the catalogue or one-line form; every GPU of the platform. Free with
 * train_kit_clear. */
static inline TrainKit train_kit(const char *model, const char *platform, const char *stack,
                                 int64_t global_batch, int64_t sequence)
{
    TrainKit k = {.model = rh_model_load(model, NULL), .bare = rh_platform_load(platform, NULL)};
    g_assert(k.model && k.bare);
    const RhStack *s = rh_stack_by_name(stack, NULL);
    k.platform = rh_stack_platform(s, k.bare);
    k.c = (RhCase){k.model,
                   k.platform,
                   s,
                   {.global_batch = global_batch,
                    .sequence = sequence,
                    .gpus = rh_platform_gpus(k.bare),
                    .recipe = &rh_recipe_bf16}};
    return k;
}

/* Lets the stack run every degree of ZeRO with stages, second shares and every schedule, whatever its
 * framework does: for tests of what a step costs. */
static inline void train_kit_runs_all(TrainKit *k)
{
    k->stack = g_memdup2(k->c.stack, sizeof *k->stack);
    k->stack->zero_unstaged = 0;
    k->stack->second_shards = true;
    k->stack->schedules = 0;
    k->stack->framework = NULL;
    k->c.stack = k->stack;
}

/* Some modules of the model's layers, by the bits of a number that was drawn. */
static inline RhRecompute train_drawn_modules(const RhModel *model, uint32_t bits)
{
    uint32_t modules = 0;
    for (int k = 0; k < model->kinds_count; k++)
        modules |= (uint32_t)rh_kind_modules(model, &model->kinds[k]);
    return (RhRecompute)(modules & bits);
}

static inline void train_kit_clear(TrainKit *k)
{
    rh_model_free(k->model);
    rh_platform_free(k->bare);
    rh_platform_free(k->platform);
    g_free(k->stack);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TrainKit, train_kit_clear)

static inline RhLayout train_layout(const TrainKit *k, const char *text)
{
    RhLayout l = rh_train_default(&k->c);
    GError *error = NULL;
    bool read = rh_layout_parse(text, &l, &error);
    g_assert_no_error(error);
    g_assert(read);
    l = rh_train_canonical(&k->c, &l);
    rh_train_legal(&k->c, &l, &error);
    g_assert_no_error(error);
    return l;
}

/* Its program, well formed; caller frees. */
static inline RhProgram *train_build(const TrainKit *k, const char *layout)
{
    RhLayout l = train_layout(k, layout);
    g_autoptr(GError) error = NULL;
    RhProgram *p = rh_train_build(&k->c, &l, &error);
    g_assert_no_error(error);
    bool fine = rh_program_check(p, &error);
    g_assert_no_error(error);
    g_assert(fine);
    return p;
}
