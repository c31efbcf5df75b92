#include "strategies/train/program/stage_program.h"

#include "strategies/train/parallelism/parallelism.h"
#include "strategies/train/program/chunk_layers.h"

/* Adds a layer. `stays`: as in rh_layer_offload(). */
static void add_item(RhStageProgram *s, int kind, int32_t layer, bool stays)
{
    RhStageLayer item = {.kind = kind,
                         .layer = layer,
                         .params = rh_layer_params(s->model_cost, s->layout, kind),
                         .weights = rh_layer_params(s->model_cost, s->layout, kind),
                         .bytes = rh_layer_bytes(s->model_cost, kind)};
    RhStates states = rh_layer_states(s->model_cost, s->layout, kind);
    rh_param_counts_add(&item.weights, &states.frozen);
    item.away_bytes = rh_layer_offload(s->layout, stays, &item.bytes);
    g_array_append_val(s->items, item);
    rh_states_add(&s->states, &states);
}

static int32_t model_chunk(const RhStageProgram *s, int32_t chunk)
{
    return rh_pipeline_model_chunk(rh_pipeline_of(s->layout), s->layout->pp, s->stage, chunk);
}

static void list_items(RhStageProgram *s)
{
    const RhLayout *l = s->layout;
    g_autofree RhChunkLayers *chunks = rh_chunk_layers_new(s->model_cost->c, l);
    for (int32_t chunk = 0; chunk < l->vpp; chunk++) {
        const RhChunkLayers *layers = &chunks[model_chunk(s, chunk)];
        s->chunk_layers[chunk] = (int32_t)s->items->len;
        if (layers->embedding)
            add_item(s, RH_LAYER_EMBEDDING, -1, true);
        for (int32_t i = 0; i < layers->count; i++)
            add_item(s, rh_chunk_layer(s->model_cost->c->model, layers, i), layers->first + i,
                     layers->head && i + 1 == layers->count);
        if (layers->head)
            add_item(s, RH_LAYER_HEAD, -1, true);
    }
    s->chunk_layers[l->vpp] = (int32_t)s->items->len;
}

static void run_item(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item)
{
    for (int i = 0; rh_parallelisms[i]; i++)
        if (rh_parallelisms[i]->before_layer)
            rh_parallelisms[i]->before_layer(w, slot, item);
    RhInstr run = {.kind = RH_INSTR_RUN, .item = item, .pass = (uint8_t)slot->pass};
    g_array_append_val(w->stage_program->steps, run);
    for (int i = 0; rh_parallelisms[i]; i++)
        if (rh_parallelisms[i]->after_layer)
            rh_parallelisms[i]->after_layer(w, slot, item);
}

static void write_slot(RhStageProgramWriter *w, const RhSlotKind *slot)
{
    RhStageProgram *s = w->stage_program;
    int32_t low = s->chunk_layers[slot->chunk], high = s->chunk_layers[slot->chunk + 1];
    RhInstrRange *steps = &s->slots[rh_slot_kind_index(slot)];
    steps->first = (int32_t)s->steps->len;
    for (int32_t k = 0; k < high - low; k++)
        run_item(w, slot, slot->pass == RH_SLOT_FORWARD ? low + k : high - 1 - k);
    for (int i = 0; rh_parallelisms[i]; i++)
        if (rh_parallelisms[i]->close)
            rh_parallelisms[i]->close(w, slot);
    steps->count = (int32_t)s->steps->len - steps->first;
    if (steps->count == high - low) { /* only runs of layers: their order needs no list */
        g_array_set_size(s->steps, (guint)steps->first);
        steps->count = 0;
    }
}

static void write_slots(RhStageProgramWriter *w)
{
    const RhLayout *l = w->stage_program->layout;
    bool splits = rh_pipeline_of(l)->splits_backward;
    bool one = rh_train_microbatches(w->stage_program->model_cost->c, l) == 1;
    for (int32_t chunk = 0; chunk < l->vpp; chunk++)
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++) {
            if (pass != RH_SLOT_FORWARD && splits != (pass != RH_SLOT_BACKWARD))
                continue;
            for (int place = one ? 3 : 0; place < (one ? 4 : 3); place++) {
                RhSlotKind kind = {chunk, (RhSlotPass)pass, place & 2, place & 1};
                write_slot(w, &kind);
            }
        }
}

static void write_begin(RhStageProgramWriter *w)
{
    RhStageProgram *s = w->stage_program;
    for (int i = 0; rh_parallelisms[i]; i++)
        if (rh_parallelisms[i]->begin)
            rh_parallelisms[i]->begin(w);
    s->begin.count = (int32_t)s->steps->len;
}

/* Writes the end of a step: the optimizer runs when all gradients have arrived and the
 * parallelisms' work on them is done. */
static void write_end(RhStageProgramWriter *w)
{
    RhStageProgram *s = w->stage_program;
    s->end.first = (int32_t)s->steps->len;
    if (s->communicates)
        rh_stage_program_wait(w, RH_LANE_DP);
    for (int i = 0; rh_parallelisms[i]; i++)
        if (rh_parallelisms[i]->end)
            rh_parallelisms[i]->end(w);
    s->end.count = (int32_t)s->steps->len - s->end.first;
}

RhStageProgram *rh_stage_program_new(const RhModelCost *model_cost, const RhLayout *layout,
                                     int32_t stage)
{
    RhStageProgram *s = g_new0(RhStageProgram, 1);
    s->model_cost = model_cost;
    s->layout = layout;
    s->stage = stage;
    s->items = g_array_new(FALSE, FALSE, sizeof(RhStageLayer));
    s->kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    s->steps = g_array_new(FALSE, FALSE, sizeof(RhInstr));
    s->chunk_layers = g_new(int32_t, layout->vpp + 1);
    s->slots = g_new0(RhInstrRange, (gsize)layout->vpp * RH_SLOT_PASSES * 4);
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        s->shares[cls] = rh_parallelism_shares(model_cost->c, layout, (RhParamsClass)cls);
    list_items(s);
    s->kinds = g_new(int, s->items->len + 1);
    for (guint i = 0; i < s->items->len; i++)
        s->kinds[i] = rh_stage_program_layer(s, (int32_t)i)->kind;
    g_autofree int32_t *begin_of_layer = g_new(int32_t, s->items->len + 1);
    for (guint i = 0; i < s->items->len; i++)
        begin_of_layer[i] = -1;
    RhStageProgramWriter w = {.stage_program = s, .begin_of_layer = begin_of_layer};
    write_begin(&w);
    write_slots(&w);
    write_end(&w);
    return s;
}

RhPairWalk rh_stage_program_pair(const RhStageProgram *s, int32_t forward, int32_t backward)
{
    const int32_t *first = s->chunk_layers;
    return (RhPairWalk){
        .kinds = {s->kinds + first[forward], s->kinds + first[backward]},
        .count = {first[forward + 1] - first[forward], first[backward + 1] - first[backward]}};
}

/* --- kernels --- */

static void add_bound(RhKernelSums *sums, const RhPlatform *platform, const RhKernel *kernel,
                      double times)
{
    bool computes = rh_kernel_computes(platform->device, kernel);
    double s = times * rh_platform_least_kernel_s(platform, kernel);
    *(computes ? &sums->bounds.compute_s : &sums->bounds.memory_s) += s;
    rh_extrapolation_add(sums->beyond, platform->device, kernel, s);
}

static void add_sequence(const RhStageProgram *s, RhKernelSums *sums,
                         const RhKernelSequence *sequence, RhPhase phase, double times)
{
    sums->seconds[phase] += times * sequence->seconds;
    for (int32_t i = 0; i < sequence->kernels_count; i++) {
        const RhKernel *kernel = &sequence->kernels[i];
        sums->flops += times * kernel->flops;
        add_bound(sums, s->model_cost->c->platform, kernel, times);
    }
}

static void add_run(const RhStageProgram *s, RhKernelSums *sums, const RhLayerPass *pass,
                    RhPhase own, double times)
{
    for (guint i = 0; i < pass->tasks->len; i++) {
        const RhLayerOp *task = &g_array_index(pass->tasks, RhLayerOp, i);
        RhPhase phase = task->phase != RH_PHASE_NONE ? task->phase : own;
        for (int k = 0; k < RH_PARTS_MAX && task->parts[k]; k++)
            add_sequence(s, sums, task->parts[k], phase, times);
    }
}

static void add_kernel(const RhStageProgram *s, RhKernelSums *sums, const RhKernel *kernel,
                       RhPhase phase, double times)
{
    sums->seconds[phase] += times * rh_sequence_kernel_s(s->model_cost->c, kernel);
    sums->flops += times * kernel->flops;
    add_bound(sums, s->model_cost->c->platform, kernel, times);
}

static void add_kernels(const RhStageProgram *s, RhKernelSums *sums, RhInstrRange steps,
                        RhPhase phase, double times)
{
    for (int32_t i = steps.first; i < steps.first + steps.count; i++)
        if (rh_stage_program_instr(s, i)->kind == RH_INSTR_KERNEL)
            add_kernel(s, sums, rh_stage_program_kernel(s, rh_stage_program_instr(s, i)), phase,
                       times);
}

/* Number of slots of a kind in a step of m micro-batches. */
static double slots_of_kind(const RhSlotKind *kind, int64_t m)
{
    bool only = kind->first && kind->last, inner = !kind->first && !kind->last;
    return inner ? (double)MAX(m - 2, 0) : only == (m == 1);
}

void rh_stage_program_add_kernels(const RhStageProgram *s, const RhLayerOps *items,
                                  RhKernelSums *sums)
{
    double m = (double)rh_train_microbatches(s->model_cost->c, s->layout);
    for (guint i = 0; i < s->items->len; i++)
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++) {
            const RhLayerPass *run =
                &items->pass[rh_stage_program_layer(s, (int32_t)i)->kind][pass];
            if (run->tasks) /* every micro-batch goes through every layer once */
                add_run(s, sums, run, rh_slot_phase((RhSlotPass)pass), m);
        }
    RhKernel adam = rh_optimizer_kernel(s->model_cost->c, s->layout, &s->states);
    if (rh_optimizer_runs(s->layout, &adam))
        add_kernel(s, sums, &adam, RH_PHASE_OPTIMIZER, 1);
    add_kernels(s, sums, s->end, RH_PHASE_OPTIMIZER, 1);
    for (int32_t chunk = 0; chunk < s->layout->vpp; chunk++)
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
            for (int place = 0; place < 4; place++) {
                RhSlotKind kind = {chunk, (RhSlotPass)pass, place & 2, place & 1};
                add_kernels(s, sums, rh_stage_program_slot(s, &kind),
                            rh_slot_phase((RhSlotPass)pass), slots_of_kind(&kind, (int64_t)m));
            }
}

/* --- tasks --- */

static double tasks_of_chunk(const RhStageProgram *s, const RhLayerOps *items, int32_t chunk,
                             int pass)
{
    double sum = 0;
    for (int32_t i = s->chunk_layers[chunk]; i < s->chunk_layers[chunk + 1]; i++)
        sum += items->pass[rh_stage_program_layer(s, i)->kind][pass].tasks->len;
    return sum;
}

/* Tasks of steps besides the runs of layers. */
static double tasks_of_steps(const RhStageProgram *s, RhInstrRange steps)
{
    double sum = 0;
    for (int32_t i = steps.first; i < steps.first + steps.count; i++) {
        uint8_t kind = rh_stage_program_instr(s, i)->kind;
        sum += kind != RH_INSTR_RUN && kind != RH_INSTR_WAIT;
    }
    return sum;
}

/* Tasks of all slots of a chunk with one pass: each runs the chunk's layers, and communicates by
 * its kind. */
static double tasks_of_slots(const RhStageProgram *s, const RhLayerOps *items, int32_t chunk,
                             int pass, int64_t m)
{
    double sum = (double)m * tasks_of_chunk(s, items, chunk, pass);
    for (int place = 0; place < 4; place++) {
        RhSlotKind kind = {chunk, (RhSlotPass)pass, place & 2, place & 1};
        double slots = slots_of_kind(&kind, m);
        if (slots > 0)
            sum += slots * tasks_of_steps(s, rh_stage_program_slot(s, &kind));
    }
    return sum;
}

/* Number of neighbours of a model chunk that another stage has. */
static int32_t neighbours(const RhStageProgram *s, int32_t g)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(s->layout);
    int32_t pp = s->layout->pp, last = pp * s->layout->vpp - 1;
    return (g > 0 && rh_pipeline_stage(schedule, pp, g - 1) != s->stage) +
           (g < last && rh_pipeline_stage(schedule, pp, g + 1) != s->stage);
}

double rh_stage_program_tasks(const RhStageProgram *s, const RhLayerOps *items, int64_t m)
{
    const RhLayout *l = s->layout;
    RhKernel adam = rh_optimizer_kernel(s->model_cost->c, l, &s->states);
    double sum =
        tasks_of_steps(s, s->begin) + tasks_of_steps(s, s->end) + rh_optimizer_runs(l, &adam);
    for (int32_t chunk = 0; chunk < l->vpp; chunk++) {
        /* one message arrives and one leaves, in each direction */
        sum += 2.0 * (double)m * neighbours(s, model_chunk(s, chunk));
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
            if (items->pass[RH_LAYER_HEAD][pass].tasks)
                sum += tasks_of_slots(s, items, chunk, pass, m);
    }
    if (rh_pipeline_of(l)->crosses && s->stage == l->pp - 1)
        sum += 2.0 * (double)m; /* exchanges with the twin */
    return sum;
}

void rh_stage_program_free(RhStageProgram *s)
{
    if (!s)
        return;
    g_array_unref(s->items);
    g_array_unref(s->kernels);
    g_array_unref(s->steps);
    g_free(s->chunk_layers);
    g_free(s->kinds);
    g_free(s->slots);
    g_free(s);
}
