/* The builder: one role per pipeline stage, its slots in the schedule's order. */
#include <string.h>

#include "base/error.h"
#include "sim/collective/collective.h"
#include "strategies/train/emit.h"

typedef struct {
    int32_t dp, pp;
} Strides;

static Strides strides_of(const RhLayout *l)
{
    bool dp_inside = l->order != RH_ORDER_TP_PP_DP;
    return (Strides){dp_inside ? l->tp : l->tp * l->pp, dp_inside ? l->tp * l->dp : l->tp};
}

static void add_groups(RhProgram *p, const RhLayout *l, int32_t *tp_group, int32_t *dp_group)
{
    RhSpan tp = {1, l->tp}, dp = {strides_of(l).dp, l->dp};
    *tp_group = l->tp > 1 ? rh_program_add_group(p, "tp", &tp, 1) : -1;
    *dp_group = l->dp > 1 ? rh_program_add_group(p, "dp", &dp, 1) : -1;
}

static void begin_stage(RhProgram *p, const RhLayout *l, int32_t stage)
{
    g_autofree char *name = g_strdup_printf("stage %d", stage);
    RhSpan spans[] = {{1, l->tp}, {strides_of(l).dp, l->dp}};
    rh_program_begin_role(p, name, stage * strides_of(l).pp, spans, 2);
}

RhProgram *rh_train_skeleton(const RhCase *c, const RhLayout *l, int32_t *tp_group,
                             int32_t *dp_group)
{
    RhProgram *p = rh_program_new(c->job.gpus);
    add_groups(p, l, tp_group, dp_group);
    for (int32_t stage = 0; stage < l->pp; stage++) {
        begin_stage(p, l, stage);
        rh_program_end_role(p);
    }
    return p;
}

int32_t *rh_train_group_nodes(const RhCase *c, const RhProgram *p, int32_t group, int32_t rank)
{
    const RhGroup *g = rh_program_group(p, group);
    int32_t *nodes = g_new(int32_t, g->size);
    rh_group_members(g, rank, nodes);
    for (int32_t i = 0; i < g->size; i++)
        nodes[i] = rh_platform_node_of(c->platform, rh_program_gpu(p, nodes[i]));
    return nodes;
}

RhAlgo rh_train_algorithm(const RhCase *c, const RhProgram *p, int32_t group, RhOp op, double bytes)
{
    g_autofree int32_t *nodes = rh_train_group_nodes(c, p, group, 0);
    return rh_collective_choose(op, rh_program_group(p, group)->size, nodes, bytes, c->platform,
                                NULL);
}

/* The library's choice for this group and size, remembered: a program has few distinct ones. */
RhAlgo rh_emit_algorithm(RhEmit *e, int32_t group, RhOp op, double bytes)
{
    for (guint i = 0; i < e->choices->len; i++) {
        const RhChoice *have = &g_array_index(e->choices, RhChoice, i);
        if (have->group == group && have->op == op && have->bytes == bytes)
            return have->algo;
    }
    RhChoice made = {group, op, bytes, rh_train_algorithm(e->c, e->program, group, op, bytes)};
    g_array_append_val(e->choices, made);
    return made.algo;
}

static void add_item(RhEmit *e, RhBlock block, int32_t layer, double params)
{
    e->items[e->items_count++] =
        (RhItem){.block = block, .layer = layer, .params = params, .gather = -1};
}

static void list_items(RhEmit *e)
{
    const RhLayout *l = e->layout;
    e->items_count = 0;
    for (int32_t c = 0; c < l->vpp; c++) {
        int32_t first, count, g = c * l->pp + e->stage;
        rh_train_chunk_layers(e->c, l, g, &first, &count);
        e->chunk_items[c] = e->items_count;
        if (g == 0)
            add_item(e, RH_BLOCK_EMBEDDING, -1, rh_embedding_params(e->pieces, l));
        for (int32_t i = first; i < first + count; i++)
            add_item(e, RH_BLOCK_NONE, i, e->pieces->layer_params[rh_pieces_kind(e->pieces, i)]);
        if (g == l->pp * l->vpp - 1)
            add_item(e, RH_BLOCK_HEAD, -1, rh_head_params(e->pieces, l));
    }
    e->chunk_items[l->vpp] = e->items_count;
}

static void emit_slots(RhEmit *e)
{
    const RhLayout *l = e->layout;
    int32_t total = 2 * e->microbatches * l->vpp;
    g_autofree RhSlot *slots = g_new(RhSlot, total);
    int32_t left[RH_STAGE_CHUNKS_MAX];
    for (int32_t c = 0; c < l->vpp; c++)
        left[c] = e->microbatches;
    rh_pipeline_schedule(l->schedule)->order(l->pp, l->vpp, e->microbatches, e->stage, slots);
    for (int32_t i = 0; i < total; i++)
        rh_emit_slot(e, &slots[i], slots[i].backward && --left[slots[i].chunk] == 0);
}

static void emit_stage(RhEmit *e, int32_t stage)
{
    const RhLayout *l = e->layout;
    e->stage = stage;
    e->last = e->last_dp = -1;
    e->pending_count = e->starts_count = 0;
    e->bucket_params = 0;
    e->memory = rh_stage_memory(e->pieces, l, stage);
    list_items(e);
    begin_stage(e->program, l, stage);
    for (int use = 0; use < RH_MEMORY_LAST; use++)
        rh_program_add_memory(e->program, RH_MEMORY_TIER_HBM, (RhMemoryUse)use,
                              e->memory.fixed_bytes[use]);
    rh_emit_step_begin(e);
    emit_slots(e);
    rh_emit_step_end(e);
    rh_program_end_role(e->program);
}

static void match_messages(RhEmit *e)
{
    int32_t chunks = e->layout->pp * e->layout->vpp;
    for (int32_t g = 0; g + 1 < chunks; g++)
        for (int32_t m = 0; m < e->microbatches; m++) {
            int32_t here = g * e->microbatches + m, next = here + e->microbatches;
            rh_program_match(e->program, e->sends[0][here], e->recvs[0][next]);
            rh_program_match(e->program, e->sends[1][next], e->recvs[1][here]);
        }
}

double rh_train_tasks(const RhCase *c, const RhLayout *l)
{
    return 2.0 * (double)rh_train_microbatches(c, l) * c->model->layers_count * 14;
}

static bool small_enough(const RhCase *c, const RhLayout *l, GError **error)
{
    double tasks = rh_train_tasks(c, l);
    if (l->vpp > RH_STAGE_CHUNKS_MAX)
        return rh_fail(error, RH_ERROR_USAGE, "vpp=%d is more than %d chunks per stage", l->vpp,
                       RH_STAGE_CHUNKS_MAX);
    if (tasks > RH_TRAIN_TASKS_MAX)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "this step has about %.0f million tasks, more than a rehearsal holds\nhelp: fewer "
            "micro-batches (a larger mb, a smaller global batch) or --quick",
            tasks / 1e6);
    return true;
}

RhProgram *rh_train_build(const RhCase *c, const RhLayout *layout, GError **error)
{
    if (!small_enough(c, layout, error))
        return NULL;
    g_autoptr(RhPieces) pieces = rh_pieces_new(c, layout);
    int32_t microbatches = (int32_t)rh_train_microbatches(c, layout);
    size_t messages = (size_t)layout->pp * (size_t)layout->vpp * (size_t)microbatches;
    g_autoptr(GArray) merged = g_array_new(FALSE, FALSE, sizeof(RhMerged));
    g_autoptr(GArray) choices = g_array_new(FALSE, FALSE, sizeof(RhChoice));
    g_autoptr(GPtrArray) optimizers = g_ptr_array_new_with_free_func(rh_piece_free);
    g_autofree RhItem *items = g_new(RhItem, c->model->layers_count + 2);
    g_autofree int32_t *ends = g_new(int32_t, 4 * messages);
    memset(ends, -1, 4 * messages * sizeof(int32_t));
    RhEmit e = {.c = c,
                .layout = layout,
                .pieces = pieces,
                .program = rh_program_new(c->job.gpus),
                .merged = merged,
                .choices = choices,
                .optimizers = optimizers,
                .items = items,
                .stride_pp = strides_of(layout).pp,
                .microbatches = microbatches,
                .sends = {ends, ends + messages},
                .recvs = {ends + 2 * messages, ends + 3 * messages}};
    e.program->kernel_gap_s = c->stack->kernel_gap_s.value;
    e.program->gap_source = c->stack->kernel_gap_s.source;
    add_groups(e.program, layout, &e.tp_group, &e.dp_group);
    for (int32_t stage = 0; stage < layout->pp; stage++)
        emit_stage(&e, stage);
    match_messages(&e);
    return e.program;
}
