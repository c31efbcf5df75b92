#include "tests/kit/train_kit.h"

TrainKit train_kit(const char *model, const char *platform, const char *stack, int64_t global_batch,
                   int64_t sequence)
{
    TrainKit k = {.model = rh_model_load(model, NULL), .bare = rh_platform_load(platform, NULL)};
    g_assert(k.model && k.bare);
    const RhStack *s = rh_stack_by_name(stack, NULL);
    k.platform = rh_stack_platform(s, k.bare);
    k.c = (RhProblem){k.model,
                      k.platform,
                      s,
                      {.global_batch = global_batch,
                       .sequence = sequence,
                       .gpus = rh_platform_gpus(k.bare),
                       .recipe = &rh_recipe_bf16}};
    return k;
}

void train_kit_runs_all(TrainKit *k)
{
    k->stack = g_memdup2(k->c.stack, sizeof *k->stack);
    k->stack->zero_unstaged = 0;
    k->stack->second_shards = true;
    k->stack->schedules = 0;
    k->stack->framework = NULL;
    k->c.stack = k->stack;
}

RhRecompute train_drawn_modules(const RhModel *model, uint32_t bits)
{
    uint32_t modules = 0;
    for (int k = 0; k < model->kinds_count; k++)
        modules |= (uint32_t)rh_kind_modules(model, &model->kinds[k]);
    return (RhRecompute)(modules & bits);
}

void train_kit_clear(TrainKit *k)
{
    rh_model_free(k->model);
    rh_platform_free(k->bare);
    rh_platform_free(k->platform);
    g_free(k->stack);
}

RhLayout train_layout(const TrainKit *k, const char *text)
{
    RhLayout l = rh_train_default(&k->c);
    GError *error = NULL;
    bool fine = rh_layout_parse(text, &l, &error);
    g_assert_no_error(error);
    l = rh_train_canonical(&k->c, &l);
    fine = fine && rh_train_legal(&k->c, &l, &error);
    g_assert_no_error(error);
    g_assert(fine);
    return l;
}

RhProgram *train_build(const TrainKit *k, const char *layout)
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

double train_step_s(const RhProblem *c, const RhLayout *l, bool unfolded)
{
    RhEngineOptions options = {.unfolded = unfolded};
    g_autoptr(GError) error = NULL;
    g_autoptr(RhProgram) p = rh_train_build(c, l, &error);
    g_assert_no_error(error);
    g_autoptr(RhRun) run = rh_rehearse_isolated(p, c->platform, &options, &error);
    g_assert_no_error(error);
    return run->step_time_s;
}

double train_segment_s(const RhProblem *c, const RhLayout *l)
{
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    return rh_segment_graph_s(cache, l);
}

void train_check_judged(const TrainJudged *row)
{
    g_auto(TrainKit) k = train_kit(row->model, "dgx-h100:2", row->stack, 48, 2048);
    RhLayout l = rh_train_default(&k.c);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE_FATAL(rh_layout_parse(row->layout, &l, NULL));
    rh_train_complete(&k.c, &l);
    CU_ASSERT_EQUAL(rh_train_legal(&k.c, &l, &error), row->why == NULL);
    if (row->why)
        CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, row->why));
}

double train_group_bytes(const RhProgram *p, const char *label, RhOp op)
{
    double sum = 0;
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *t = rh_program_task(p, (int32_t)i);
        if (t->kind != RH_TASK_COLLECTIVE || t->op != op)
            continue;
        int32_t of = rh_program_group(p, t->group)->label;
        if (strcmp(p->labels->pdata[of], label) == 0)
            sum += t->bytes;
    }
    return sum;
}

double train_buffers(const RhProgram *p, int32_t role, RhLane lane, RhOp op)
{
    const RhRole *r = rh_program_role(p, role);
    double sum = 0;
    for (int32_t i = r->tasks_first; i < r->tasks_first + r->tasks_count; i++) {
        const RhTask *t = rh_program_task(p, i);
        if (t->kind == RH_TASK_COLLECTIVE && t->lane == lane && (RhOp)t->op == op)
            sum += t->bytes;
    }
    return sum;
}

/* Sums FLOPs and bytes of a program's kernels of a class. */
static RhKernel train_kernels(const RhProgram *p, RhKernelClass cls)
{
    RhKernel sum = {0};
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *t = rh_program_task(p, (int32_t)i);
        const RhBundle *b = t->bundle >= 0 ? &g_array_index(p->bundles, RhBundle, t->bundle) : NULL;
        for (int32_t k = 0; b && k < b->count; k++) {
            const RhKernel *kernel = &g_array_index(p->kernels, RhKernel, b->first + k);
            sum.flops += kernel->cls == cls ? kernel->flops : 0;
            sum.bytes += kernel->cls == cls ? kernel->bytes : 0;
        }
    }
    return sum;
}

double train_kernel_flops(const RhProgram *p, RhKernelClass cls)
{
    return train_kernels(p, cls).flops;
}

double train_kernel_bytes(const RhProgram *p, RhKernelClass cls)
{
    return train_kernels(p, cls).bytes;
}
