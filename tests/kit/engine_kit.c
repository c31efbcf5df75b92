#include "tests/kit/engine_kit.h"

/* The groups of a step, and its messages by stage and micro-batch. */
typedef struct {
    int32_t stage_stride, tp_group, dp_group, shared_group;
    int32_t *forward_send, *forward_recv, *backward_send, *backward_recv;
} KitParts;

RhPlatform *kit_platform(const char *spec)
{
    g_autoptr(GError) error = NULL;
    RhPlatform *platform = rh_platform_load(spec, &error);
    if (!platform)
        fprintf(stderr, "%s: %s\n", spec, error->message);
    g_assert_nonnull(platform);
    return platform;
}

RhRun *kit_run(const RhProgram *p, const RhPlatform *platform, RhEngineOptions options)
{
    g_autoptr(GError) error = NULL;
    RhRun *run = rh_rehearse_isolated(p, platform, &options, &error);
    if (!run)
        fprintf(stderr, "    %s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(run);
    return run;
}

double kit_time_s(const RhProgram *p, const RhPlatform *platform, RhEngineOptions options)
{
    g_autoptr(RhRun) run = kit_run(p, platform, options);
    return run->step_time_s;
}

RhTask kit_task(RhTaskKind kind, RhLane lane)
{
    return (RhTask){.kind = (uint8_t)kind,
                    .lane = (uint8_t)lane,
                    .layer = -1,
                    .microbatch = -1,
                    .bundle = -1,
                    .group = -1,
                    .peer_task = -1};
}

int32_t kit_wait(RhProgram *p, double seconds, const int32_t *preds, int32_t count)
{
    RhTask task = kit_task(RH_TASK_KERNEL, RH_LANE_COMPUTE);
    task.label = rh_program_label(p, "kernel");
    task.bundle = rh_program_add_wait(p, seconds);
    return rh_program_add_task(p, task, preds, count);
}

int32_t kit_collective(RhProgram *p, RhLane lane, RhOp op, RhAlgo algo, int32_t group, double bytes,
                       int32_t pred)
{
    RhTask task = kit_task(RH_TASK_COLLECTIVE, lane);
    task.label = rh_program_label(p, rh_op_name(op));
    task.op = (uint8_t)op;
    task.algo = (uint8_t)algo;
    task.group = group;
    task.bytes = bytes;
    return rh_program_add_task(p, task, &pred, 1);
}

int32_t kit_message(RhProgram *p, RhTaskKind kind, RhLane lane, int32_t delta, double bytes,
                    int32_t pred)
{
    RhTask task = kit_task(kind, lane);
    task.label = rh_program_label(p, kind == RH_TASK_SEND ? "send" : "recv");
    task.peer_delta = delta;
    task.bytes = bytes;
    return rh_program_add_task(p, task, &pred, 1);
}

RhProgram *kit_one_collective(int32_t ranks, int32_t size, int32_t stride, RhOp op, RhAlgo algo,
                              double bytes)
{
    RhProgram *p = rh_program_new(ranks);
    RhStride all = {1, ranks}, span = {stride, size};
    rh_program_begin_role(p, "all", 0, &all, 1);
    int32_t group = rh_program_add_group(p, "group", &span, 1);
    kit_collective(p, RH_LANE_DP, op, algo, group, bytes, -1);
    rh_program_end_role(p);
    return p;
}

RhProgram *kit_messages(int32_t ranks, int32_t count, int32_t delta, double bytes)
{
    RhProgram *p = rh_program_new(ranks);
    RhStride span = {1, count};
    rh_program_begin_role(p, "senders", 0, &span, 1);
    int32_t send = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, delta, bytes, -1);
    rh_program_end_role(p);
    rh_program_begin_role(p, "receivers", delta, &span, 1);
    int32_t recv = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -delta, bytes, -1);
    rh_program_end_role(p);
    rh_program_match(p, send, recv);
    return p;
}

RhProgram *kit_kernel_then_message(double kernel_s, double bytes)
{
    RhProgram *p = rh_program_new(2);
    rh_program_begin_role(p, "sender", 0, NULL, 0);
    int32_t kernel = kit_wait(p, kernel_s, NULL, 0);
    int32_t send = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, 1, bytes, kernel);
    rh_program_end_role(p);
    rh_program_begin_role(p, "receiver", 1, NULL, 0);
    int32_t recv = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -1, bytes, -1);
    rh_program_end_role(p);
    rh_program_match(p, send, recv);
    return p;
}

static int32_t kit_layer(RhProgram *p, const KitStep *k, int32_t stage, int32_t group, int32_t pred)
{
    int32_t kernel = kit_wait(p, k->kernel_s + stage * k->uneven_s, &pred, 1);
    if (k->tp < 2)
        return kernel;
    return kit_collective(p, RH_LANE_TP, RH_OP_ALL_REDUCE, k->tp_algo, group, k->tp_bytes, kernel);
}

/* Gradients of what first and last stage share, and their norm over all. */
static int32_t kit_across(RhProgram *p, const KitStep *k, int32_t stage, int32_t group,
                          int32_t pred)
{
    if (stage == 0 || stage == k->pp - 1)
        pred = kit_collective(p, RH_LANE_DP, RH_OP_ALL_REDUCE, RH_ALGO_RING, group, k->shared_bytes,
                              pred);
    return kit_collective(p, RH_LANE_DP, RH_OP_ALL_REDUCE, RH_ALGO_TREE, group + 1, 8, pred);
}

static int32_t kit_groups_across(RhProgram *p, const KitStep *k, int32_t stage_stride)
{
    RhStride ends = {(k->pp - 1) * stage_stride, 2}, all = {1, p->ranks_count};
    int32_t group = rh_program_add_group(p, "shared", &ends, 1);
    rh_program_space_group(p, group, 0, k->pp * stage_stride);
    rh_program_add_group(p, "all", &all, 1);
    return group;
}

static void kit_forwards(RhProgram *p, const KitStep *k, const KitParts *of, int32_t s)
{
    for (int32_t m = 0; m < k->microbatches; m++) {
        int32_t last = -1, at = s * k->microbatches + m;
        if (s > 0)
            last = of->forward_recv[at] = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV,
                                                      -of->stage_stride, k->message_bytes, -1);
        for (int32_t l = 0; l < k->layers; l++)
            last = kit_layer(p, k, s, of->tp_group, last);
        if (s < k->pp - 1)
            of->forward_send[at] = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, of->stage_stride,
                                               k->message_bytes, last);
    }
}

/* `reduced`: by layer, the sums of gradients, which the last micro-batch starts. */
static void kit_backwards(RhProgram *p, const KitStep *k, const KitParts *of, int32_t s,
                          int32_t *reduced)
{
    for (int32_t m = 0; m < k->microbatches; m++) {
        int32_t last = -1, at = s * k->microbatches + m;
        if (s < k->pp - 1)
            last = of->backward_recv[at] = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_NEXT,
                                                       of->stage_stride, k->message_bytes, -1);
        for (int32_t l = 0; l < k->layers; l++) {
            last = kit_layer(p, k, s, of->tp_group, last);
            last = kit_layer(p, k, s, of->tp_group, last);
            if (m == k->microbatches - 1 && k->dp > 1)
                reduced[l] = kit_collective(p, RH_LANE_DP, RH_OP_ALL_REDUCE, k->dp_algo,
                                            of->dp_group, k->dp_bytes, last);
        }
        if (s > 0)
            of->backward_send[at] = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_PREV,
                                                -of->stage_stride, k->message_bytes, last);
    }
}

static void kit_match(RhProgram *p, const KitStep *k, const KitParts *of)
{
    for (int32_t i = 0; i + k->microbatches < k->pp * k->microbatches; i++) {
        rh_program_match(p, of->forward_send[i], of->forward_recv[i + k->microbatches]);
        rh_program_match(p, of->backward_send[i + k->microbatches], of->backward_recv[i]);
    }
}

RhProgram *kit_step(KitStep k)
{
    RhProgram *p = rh_program_new(k.tp * k.dp * k.pp);
    RhStride spans[] = {{1, k.tp}, {k.stages_inside ? k.tp * k.pp : k.tp, k.dp}};
    gsize slots = (gsize)k.pp * (gsize)k.microbatches;
    g_autofree int32_t *messages = g_new0(int32_t, 4 * slots);
    g_autofree int32_t *reduced = g_new0(int32_t, k.layers + 1);
    KitParts of = {.stage_stride = k.stages_inside ? k.tp : k.tp * k.dp,
                   .tp_group = rh_program_add_group(p, "tp", &spans[0], 1),
                   .shared_group = -1,
                   .forward_send = messages,
                   .forward_recv = messages + slots,
                   .backward_send = messages + 2 * slots,
                   .backward_recv = messages + 3 * slots};
    of.dp_group = rh_program_add_group(p, "dp", &spans[1], 1);
    if (k.shared_bytes > 0 && k.pp > 1)
        of.shared_group = kit_groups_across(p, &k, of.stage_stride);
    for (int32_t s = 0; s < k.pp; s++) {
        g_autofree char *name = g_strdup_printf("stage %d", s);
        rh_program_begin_role(p, name, s * of.stage_stride, spans, 2);
        kit_forwards(p, &k, &of, s);
        kit_backwards(p, &k, &of, s, reduced);
        int32_t awaited = k.dp > 1 ? k.layers : 0;
        if (of.shared_group >= 0)
            reduced[awaited++] = kit_across(p, &k, s, of.shared_group, (int32_t)p->tasks->len - 1);
        kit_wait(p, k.kernel_s / 2, reduced, awaited);
        rh_program_end_role(p);
    }
    kit_match(p, &k, &of);
    return p;
}

KitStep kit_draw(gsl_rng *rng)
{
    static const RhAlgo algos[] = {RH_ALGO_RING, RH_ALGO_TREE, RH_ALGO_RECURSIVE_DOUBLING,
                                   RH_ALGO_RABENSEIFNER, RH_ALGO_HIERARCHICAL};
    return (KitStep){.tp = 1 << gsl_rng_uniform_int(rng, 4),
                     .dp = 1 + (int32_t)gsl_rng_uniform_int(rng, 4),
                     .pp = 1 + (int32_t)gsl_rng_uniform_int(rng, 4),
                     .microbatches = 1 + (int32_t)gsl_rng_uniform_int(rng, 4),
                     .layers = 1 + (int32_t)gsl_rng_uniform_int(rng, 3),
                     .stages_inside = gsl_rng_uniform_int(rng, 2) == 1,
                     .tp_algo = algos[gsl_rng_uniform_int(rng, 4)],
                     .dp_algo = algos[gsl_rng_uniform_int(rng, 5)],
                     .kernel_s = 1e-4 + 1e-3 * gsl_rng_uniform(rng),
                     .tp_bytes = 1e6 + 1e8 * gsl_rng_uniform(rng),
                     .dp_bytes = 1e6 + 4e8 * gsl_rng_uniform(rng),
                     .message_bytes = 1e5 + 1e8 * gsl_rng_uniform(rng),
                     .uneven_s = 1e-4 * gsl_rng_uniform(rng)};
}

void kit_shuffle(RhProgram *p, gsl_rng *rng)
{
    p->gpu_of_rank = g_new(int32_t, p->ranks_count);
    for (int32_t i = 0; i < p->ranks_count; i++)
        p->gpu_of_rank[i] = i;
    gsl_ran_shuffle(rng, p->gpu_of_rank, (size_t)p->ranks_count, sizeof(int32_t));
}

void kit_settle(RhProgram *p, const RhPlatform *platform)
{
    for (uint32_t i = 0; i < p->tasks->len; i++) {
        RhTask *task = &g_array_index(p->tasks, RhTask, i);
        const RhRole *role = rh_program_role(p, task->role);
        if (task->kind != RH_TASK_COLLECTIVE)
            continue;
        const RhGroup *group = rh_program_group(p, task->group);
        g_autofree int32_t *nodes = g_new(int32_t, group->size);
        for (int32_t k = 0; k < role->ranks_count; k++) {
            rh_group_members(group, rh_role_rank(role, k), nodes);
            for (int32_t m = 0; m < group->size; m++)
                nodes[m] = rh_platform_node_of(platform, rh_program_gpu(p, nodes[m]));
            g_autoptr(RhSchedule) schedule =
                rh_schedule_new((RhOp)task->op, (RhAlgo)task->algo, group->size, nodes, 1e6, NULL);
            if (!schedule)
                task->algo = RH_ALGO_RING;
        }
    }
}
