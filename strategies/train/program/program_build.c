/* Builds the program: one role per pipeline stage, its slots in the schedule's order, every slot by
 * its stage program, every layer by its tasks. */
#include <string.h>

#include "base/error.h"
#include "sim/collective/collective.h"
#include "strategies/layer_partition.h"
#include "strategies/train/codecs/codec.h"
#include "strategies/train/parallelism/parallelism.h"
#include "strategies/train/program/build_private.h"

/* --- the skeleton: groups and roles --- */

static uint32_t mirrored(const RhLayout *l)
{
    return (uint32_t)rh_pipeline_of(l)->mirrors << RH_GROUP_MIRRORED;
}

/* Groups that join stages of such a job, except the gradient norm's. */
static uint32_t joining(const RhProblem *c)
{
    return (uint32_t)c->model->tied_embeddings << RH_GROUP_TIED;
}

/* Groups that join stages in a skeleton, whichever degree of ZeRO and schedule; these only change
 * which ranks sum the norm, and whether two stages hold a tied matrix. Copies of the model are not
 * among them. */
static uint32_t joining_at_all(const RhProblem *c)
{
    uint32_t norm = c->stack->gradient_norm ? 1U << RH_GROUP_MODEL | 1U << RH_GROUP_ALL : 0;
    return joining(c) | norm;
}

uint32_t rh_train_joined(const RhModelCost *model_cost, const RhLayout *l)
{
    uint32_t norm = (uint32_t)model_cost->c->stack->gradient_norm << rh_norm_group(l);
    return norm | mirrored(l) | (rh_tied_params(model_cost, l) > 0 ? joining(model_cost->c) : 0);
}

RhProgram *rh_train_skeleton(const RhProblem *c, const RhLayout *l, int32_t groups[RH_GROUP_LAST])
{
    RhProgram *p = rh_program_new(c->job.gpus);
    RhGrid grid = rh_grid(l);
    rh_grid_add_groups(&grid, p, joining_at_all(c) | mirrored(l), groups);
    for (int32_t stage = 0; stage < l->pp; stage++) {
        rh_grid_begin_stage(&grid, p, stage);
        rh_program_end_role(p);
    }
    return p;
}

/* --- stages --- */

/* The largest message before or after any of the stage's chunks. */
static double largest_message(const RhBuild *b)
{
    const RhLayout *l = b->layout;
    double most = 0;
    for (int32_t c = 0; l->pp > 1 && c < l->vpp; c++) {
        int32_t g = rh_pipeline_model_chunk(rh_pipeline_of(l), l->pp, b->stage_program->stage, c);
        bool begins = rh_pipeline_begins(rh_pipeline_of(l), l->pp, g);
        bool ends = rh_pipeline_ends(rh_pipeline_of(l), l->pp, l->vpp, g);
        most = MAX(most, begins ? 0 : b->messages[g - 1].forward);
        most = MAX(most, ends ? 0 : b->messages[g].forward);
    }
    return most;
}

/* Bytes of all messages that the stage's chunks receive and send, of every micro-batch, and of the
 * model's outputs. */
static double all_messages(const RhBuild *b)
{
    const RhLayout *l = b->layout;
    double sum = 0, outputs = 0;
    for (int32_t c = 0; l->pp > 1 && c < l->vpp; c++) {
        int32_t g = rh_pipeline_model_chunk(rh_pipeline_of(l), l->pp, b->stage_program->stage, c);
        sum += rh_pipeline_begins(rh_pipeline_of(l), l->pp, g) ? 0 : b->messages[g - 1].forward;
        if (!rh_pipeline_ends(rh_pipeline_of(l), l->pp, l->vpp, g))
            sum += b->messages[g].forward + b->messages[g].back;
        else
            outputs = rh_model_cost_outputs_bytes(b->model_cost, l);
    }
    return sum * (double)b->microbatches + outputs;
}

/* Bytes of a layer's weights, made wide out of what was gathered in 8 bits: those of the largest layer. */
static double widened_bytes(const RhBuild *b)
{
    double sum = 0;
    for (int cls = 0; b->layout->qwz && cls < RH_PARAMS_LAST; cls++) {
        double most = 0;
        for (guint i = 0; i < b->stage_program->items->len; i++) {
            const RhStageLayer *layer = rh_stage_program_layer(b->stage_program, (int32_t)i);
            most = MAX(most, rh_layer_gather_bytes(b->c, layer->params.of[cls],
                                                   layer->weights.of[cls], layer->layer >= 0));
        }
        sum += rh_params_zero(b->c, b->layout, (RhParamsClass)cls) >= 3 ? most : 0;
    }
    return sum;
}

/* Bytes of communication buffers: for each lane and class of parameters those of the largest step;
 * and a message from each side. */
static double buffer_bytes(const RhBuild *b)
{
    double most[RH_LANE_LAST][RH_PARAMS_LAST] = {{0}};
    double sum = b->c->stack->keeps_messages ? all_messages(b) : 2 * largest_message(b);
    for (guint i = 0; i < b->stage_program->steps->len; i++) {
        const RhInstr *step = rh_stage_program_instr(b->stage_program, (int32_t)i);
        bool experts = step->group == rh_params_group(RH_PARAMS_EXPERTS) ||
                       step->group == rh_params_shard_group(b->layout, RH_PARAMS_EXPERTS) ||
                       step->group == rh_params_second_group(RH_PARAMS_EXPERTS);
        if (step->lane == RH_LANE_DP && b->c->stack->buckets.value > 0)
            continue;
        double *have = &most[step->lane][experts ? RH_PARAMS_EXPERTS : RH_PARAMS_COMMON];
        if (step->kind == RH_INSTR_COMMUNICATE || step->kind == RH_INSTR_COPY)
            *have = MAX(*have, step->buffers * step->bytes);
    }
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
            sum += most[lane][cls];
    return sum + widened_bytes(b) + rh_bucket_bytes(b->c, b->layout) +
           rh_codec_kept_bytes(b->c, b->layout, &b->stage_program->states);
}

/* Records what the stage holds off its device for the whole step. */
static void hold_away(RhBuild *b)
{
    RhParamCounts largest = {0};
    for (guint i = 0; i < b->stage_program->items->len; i++)
        for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
            largest.of[cls] =
                MAX(largest.of[cls],
                    rh_stage_program_layer(b->stage_program, (int32_t)i)->params.of[cls]);
    RhTierBytes away = rh_states_away(b->c, b->layout, &b->stage_program->states, &largest);
    for (int tier = 0; tier < RH_MEMORY_TIER_LAST; tier++)
        for (int use = 0; use < RH_MEMORY_LAST; use++)
            if (away.of[tier][use] > 0)
                rh_program_add_memory(b->program, (RhMemoryTier)tier, (RhMemoryUse)use,
                                      away.of[tier][use]);
}

/* Records the memory that the stage holds for the whole step. */
static void hold_states(RhBuild *b)
{
    const RhStack *stack = b->c->stack;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++) {
        double params = b->stage_program->states.params.of[cls];
        RhShares shares = rh_parallelism_shares(b->c, b->layout, (RhParamsClass)cls);
        double wide = rh_weight_bytes(b->c) * rh_states_wide(b->c, &b->stage_program->states, cls);
        if (params <= 0 && wide <= 0)
            continue;
        double weights =
            rh_states_weights(b->c, b->layout, &b->stage_program->states, (RhParamsClass)cls);
        if (weights > 0)
            rh_build_memory(b, RH_MEMORY_WEIGHTS, weights);
        if (shares.again > 0)
            rh_build_memory(b, RH_MEMORY_WEIGHTS, wide / shares.again);
        if (!stack->frees_gradients)
            rh_build_memory(b, RH_MEMORY_GRADIENTS,
                            rh_states_gradients(b->c, b->layout, &b->stage_program->states,
                                                (RhParamsClass)cls));
        rh_build_memory(b, RH_MEMORY_OPTIMIZER,
                        (1 - rh_states_away_frac(b->layout)) * rh_optimizer_state_bytes(b->c) *
                            params / shares.optimizer);
    }
    hold_away(b);
    double dummies = rh_states_dummies(b->model_cost, b->layout, &b->stage_program->states);
    if (dummies > 0)
        rh_build_memory(b, RH_MEMORY_GRADIENTS, dummies);
    double copies = rh_states_copies(b->c, b->layout, &b->stage_program->states);
    if (copies > 0)
        rh_build_memory(b, RH_MEMORY_WEIGHTS, copies);
    rh_build_memory(b, RH_MEMORY_COMMUNICATION, buffer_bytes(b));
    rh_build_memory(b, RH_MEMORY_RESERVE, stack->reserve_bytes.value);
}

/* Adds what a stage that reads samples waits for: their copy to the device, after they were loaded
 * where nothing loads ahead; and the loading of the next step's. */
static void load_samples(RhBuild *b)
{
    const RhProblem *c = b->c;
    int32_t loaded = -1;
    if (!rh_stage_loads(c, b->stage_program->stage))
        return;
    RhTask load = rh_build_task(b, RH_TASK_KERNEL, RH_LANE_LOADER, "load samples");
    RhTask copy = rh_build_task(b, RH_TASK_COPY, RH_LANE_COPY_IN, "copy samples");
    load.bundle = rh_program_add_wait(b->program, rh_step_loading_s(c, b->layout));
    int32_t task = rh_program_add_task(b->program, load, NULL, 0);
    if (!rh_loads_beside(&c->job.loader)) {
        RhTask ready = rh_build_task(b, RH_TASK_KERNEL, RH_LANE_COMPUTE, "samples loaded");
        ready.bundle = rh_program_add_wait(b->program, 0);
        loaded = b->now->last = rh_program_add_task(b->program, ready, &task, 1);
    }
    copy.from = RH_MEMORY_TIER_HOST;
    copy.to = RH_MEMORY_TIER_HBM;
    copy.bytes = rh_step_sample_bytes(c, b->layout);
    rh_build_wait_for(b, rh_program_add_task(b->program, copy, &loaded, 1));
}

static void begin_step(RhBuild *b)
{
    b->now->last = -1;
    b->now->pending_count = 0;
    b->layer = b->now->microbatch = -1;
    b->now->phase = RH_PHASE_PARAMETER;
    g_array_set_size(b->begin, 0);
    for (int lane = 0; lane < RH_LANE_LAST; lane++) {
        g_array_set_size(b->sent[lane], 0);
        b->latest[lane] = b->before[lane] = -1;
    }
    load_samples(b);
    rh_build_instrs(b, b->stage_program->begin);
}

static void end_step(RhBuild *b)
{
    b->now->phase = RH_PHASE_OPTIMIZER;
    b->layer = b->now->microbatch = -1;
    if (b->c->job.forward_only)
        return;
    rh_build_instrs(b, b->stage_program->end);
    double flattened = rh_states_flattened(b->c, b->layout, &b->stage_program->states);
    if (flattened > 0)
        rh_build_memory(b, RH_MEMORY_GRADIENTS, flattened);
    RhKernel kernel = rh_optimizer_kernel(b->c, b->layout, &b->stage_program->states);
    if (rh_optimizer_runs(b->layout, &kernel))
        rh_build_kernel(b, &kernel, "optimizer");
    if (flattened > 0)
        rh_build_memory(b, RH_MEMORY_GRADIENTS, -flattened);
    rh_build_gradients_free(b);
}

static void run_stage(RhBuild *b, int32_t stage)
{
    g_autoptr(RhStageProgram) stage_program = rh_stage_program_new(b->model_cost, b->layout, stage);
    g_autofree int32_t *copies = g_new(int32_t, stage_program->items->len * (guint)b->microbatches);
    g_autofree double *gradients = g_new0(double, b->layout->vpp);
    b->stage_program = stage_program;
    b->groups[RH_GROUP_MIRRORED] = b->mirrored + rh_grid_pair(&b->grid, stage);
    b->copies = copies;
    b->gradients = gradients;
    rh_grid_begin_stage(&b->grid, b->program, stage);
    hold_states(b);
    begin_step(b);
    rh_build_slots(b);
    end_step(b);
    rh_program_end_role(b->program);
}

/* Tasks of the stages [first, end). */
static double tasks_of(const RhModelCost *model_cost, const RhLayerOps *items, const RhLayout *l,
                       int32_t first, int32_t end)
{
    int64_t m = rh_train_microbatches(model_cost->c, l);
    double sum = 0;
    for (int32_t stage = first; stage < end; stage++) {
        g_autoptr(RhStageProgram) stage_program = rh_stage_program_new(model_cost, l, stage);
        sum += rh_stage_program_tasks(stage_program, items, m);
        sum += rh_stage_loads(model_cost->c, stage)
                   ? 3 - rh_loads_beside(&model_cost->c->job.loader)
                   : 0;
    }
    return sum;
}

double rh_train_tasks(const RhProblem *c, const RhLayout *layout)
{
    double sum = 0;
    for (int32_t stage = 0; stage < layout->pp; stage = rh_part_end(layout, stage)) {
        RhLayout l = rh_part_layout(c, layout, stage);
        g_autoptr(RhModelCost) model_cost = rh_model_cost_new(c, &l);
        g_autoptr(RhLayerOps) items = rh_layer_ops_new(&l, model_cost);
        sum += tasks_of(model_cost, items, &l, stage, rh_part_end(layout, stage));
    }
    return sum;
}

static bool small_enough(double tasks, GError **error)
{
    if (tasks > RH_TRAIN_TASKS_MAX)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "this step has about %.0f million tasks, more than a simulation holds\nhelp: fewer "
            "micro-batches (a larger mb, a smaller global batch)",
            tasks / 1e6);
    return true;
}

/* Begins a part of the pipeline: what its ranks hold and run. */
static void begin_part(RhBuild *b, const RhLayout *layout, int32_t stage)
{
    g_autofree int32_t *layers = g_new(int32_t, layout->pp * layout->vpp);
    b->part = rh_part_layout(b->c, layout, stage);
    b->layout = &b->part;
    b->model_cost = rh_model_cost_new(b->c, b->layout);
    b->items = rh_layer_ops_new(b->layout, b->model_cost);
    b->grid = rh_part_grid(layout, stage);
    rh_partition_layers(b->c, layout, layers);
    b->messages = rh_model_cost_messages_new(b->model_cost, layers, layout->pp * layout->vpp);
}

static void end_part(RhBuild *b)
{
    rh_model_cost_free(b->model_cost);
    rh_layer_ops_free(b->items);
    g_free(b->messages);
    g_hash_table_remove_all(b->bundles); /* by the part's lists of tasks */
}

static void build_begin(RhBuild *b, const RhLayout *layout)
{
    size_t messages = (size_t)layout->pp * (size_t)layout->vpp * (size_t)b->microbatches;
    int32_t *ends = g_new(int32_t, 4 * messages);
    memset(ends, -1, 4 * messages * sizeof(int32_t));
    b->sends[0] = ends;
    b->sends[1] = ends + messages;
    b->recvs[0] = ends + 2 * messages;
    b->recvs[1] = ends + 3 * messages;
    b->bundles = g_hash_table_new(g_direct_hash, g_direct_equal);
    b->now = b->half;
    b->choices = g_array_new(FALSE, FALSE, sizeof(RhChoice));
    b->sites = rh_algorithm_sites_new(b->c);
    b->begin = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        b->sent[lane] = g_array_new(FALSE, FALSE, sizeof(int32_t));
    b->program = rh_program_new(b->c->job.gpus);
    b->program->kernel_gap_s = b->c->stack->kernel_gap_s.value;
    b->program->gap_source = b->c->stack->kernel_gap_s.source;
    b->join_stage = -1;
}

/* Adds the groups of all stages, or of one among stages of unequal widths. */
static void add_groups(RhBuild *b, int32_t stage)
{
    if (b->grid.lap > 0)
        rh_grid_add_stage_groups(&b->grid, b->program, stage, b->groups);
    else if (stage == 0)
        rh_grid_add_groups(&b->grid, b->program, rh_train_joined(b->model_cost, b->layout),
                           b->groups);
    if (stage == 0)
        b->mirrored = b->groups[RH_GROUP_MIRRORED];
}

/* Volumes between n tiles and the ranks behind them, which are the last members: each tile sends every
 * one its part of that one's pictures, or gets its part of their gradients. */
static int32_t join_volumes(RhProgram *p, int32_t tiles, int32_t behind, bool back)
{
    int32_t members = tiles + behind;
    g_autofree double *shares = g_new0(double, members *members);
    for (int32_t tile = 0; tile < tiles; tile++)
        for (int32_t rank = tiles; rank < members; rank++)
            shares[back ? rank * members + tile : tile * members + rank] = 1.0 / tiles / behind;
    return rh_program_add_volumes(p, shares, members * members);
}

/* Adds the exchange of a part's last stage with the next part: tiles are gathered, their gradients
 * scattered. */
static void add_join(RhBuild *b, const RhLayout *layout, int32_t stage)
{
    int32_t tiles = b->layout->cp;
    if (rh_part_end(layout, stage) != stage + 1 || stage + 1 == layout->pp)
        return;
    b->join_stage = stage;
    for (int back = 0; back < 2; back++) {
        const char *label = back ? "join, back" : "join, forward";
        b->join[back].group = rh_grid_add_join(layout, b->program, stage, label);
        b->join[back].volumes = join_volumes(b->program, tiles, layout->local_dp, back);
        b->join[back].bytes = tiles * rh_boundary_message_bytes(&b->messages[stage], back);
    }
}

static void build_end(RhBuild *b)
{
    g_free(b->sends[0]);
    g_hash_table_destroy(b->bundles);
    g_array_unref(b->choices);
    rh_algorithm_sites_free(b->sites);
    g_array_unref(b->begin);
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        g_array_unref(b->sent[lane]);
}

RhProgram *rh_train_build(const RhProblem *c, const RhLayout *layout, GError **error)
{
    if (!small_enough(rh_train_tasks(c, layout), error))
        return NULL;
    RhBuild b = {.c = c, .microbatches = (int32_t)rh_train_microbatches(c, layout)};
    build_begin(&b, layout);
    for (int32_t stage = 0; stage < layout->pp; stage++) {
        bool begins = stage == 0 || rh_part_end(layout, stage - 1) == stage;
        if (begins)
            begin_part(&b, layout, stage);
        add_groups(&b, stage);
        add_join(&b, layout, stage);
        run_stage(&b, stage);
        if (rh_part_end(layout, stage) == stage + 1)
            end_part(&b);
    }
    rh_build_match(&b);
    build_end(&b);
    return b.program;
}
