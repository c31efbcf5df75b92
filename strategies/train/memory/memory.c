/* Accounts for memory. Weights take 2 B a parameter, main gradients and the optimizer's state as
 * the job says; ZeRO shards optimizer (1), gradients (2), weights (3) over the replicas
 * (Rajbhandari et al. 2020, arXiv 1910.02054, figure 1). Activations per Korthikanti et al. 2022
 * (workloads/operators/). Layers of a chunk run in order in forward, and in reverse in backward;
 * each keeps its bytes from its forward to its backward. So while layer k runs, in either
 * direction, the micro-batch holds the kept bytes of layers 0 to k, and k's working bytes. Where
 * backward runs in two halves, the first frees nothing. */
#include "strategies/train/memory/memory.h"
#include "strategies/train/codecs/codec.h"

#include <math.h>

/* --- chunks --- */

static double in_flight_bytes(const RhInFlight *f)
{
    return f->activations + f->logits + f->working + f->gradients;
}

static void keep_fuller(RhInFlight *fullest, const RhInFlight *kept, double working)
{
    RhInFlight now = *kept;
    now.working = working;
    if (in_flight_bytes(&now) > in_flight_bytes(fullest))
        *fullest = now;
}

/* Larger of two bytes; unlike fmax() without a check for NaN. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static void keep_largest(RhParamCounts *largest, const RhParamCounts *params)
{
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        largest->of[cls] = larger(largest->of[cls], params->of[cls]);
}

/* Adds a layer to a chunk. `stays`: its activations are not offloaded, as in rh_layer_offload(). */
static void add_item(const RhModelCost *model_cost, const RhLayout *l, int kind, bool stays,
                     RhChunkMemory *m)
{
    RhActivation bytes = rh_layer_bytes(model_cost, kind);
    double away = rh_layer_offload(l, stays, &bytes);
    RhStates states = rh_layer_states(model_cost, l, kind);
    double whole = larger(m->fullest[RH_SLOT_BACKWARD_DATA].working, bytes.backward);
    rh_states_add(&m->states, &states);
    keep_largest(&m->largest_params, &states.params);
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++) {
        double trained = states.params.of[cls], weights = trained + states.frozen.of[cls];
        double gathered =
            rh_layer_gather_bytes(model_cost->c, trained, weights, kind < RH_LAYER_OP_LAYERS);
        m->largest_gather_bytes[cls] = larger(m->largest_gather_bytes[cls], gathered);
    }
    m->largest_away_bytes = larger(m->largest_away_bytes, away);
    m->kept.host += away;
    *(kind == RH_LAYER_HEAD ? &m->kept.logits : &m->kept.activations) += bytes.kept;
    keep_fuller(&m->fullest[RH_SLOT_FORWARD], &m->kept, bytes.forward);
    keep_fuller(&m->fullest[RH_SLOT_BACKWARD], &m->kept, bytes.backward);
    m->fullest[RH_SLOT_BACKWARD_WEIGHT] = m->fullest[RH_SLOT_BACKWARD];
    m->fullest[RH_SLOT_BACKWARD_DATA] = m->kept;
    m->fullest[RH_SLOT_BACKWARD_DATA].working = whole;
}

RhChunkMemory rh_chunk_memory(const RhModelCost *model_cost, const RhLayout *l,
                              const RhChunkLayers *items)
{
    RhChunkMemory m = {.items = *items};
    if (!items->head)
        m.message = rh_model_cost_message(model_cost, items->first + items->count);
    if (items->embedding)
        add_item(model_cost, l, RH_LAYER_EMBEDDING, true, &m);
    for (int32_t i = 0; i < items->count; i++)
        add_item(model_cost, l, rh_chunk_layer(model_cost->c->model, items, i),
                 items->head && i + 1 == items->count, &m);
    if (items->head)
        add_item(model_cost, l, RH_LAYER_HEAD, true, &m);
    return m;
}

RhChunkMemory *rh_chunk_memory_new(const RhModelCost *model_cost, const RhLayout *l)
{
    int32_t chunks = l->pp * l->vpp;
    RhChunkMemory *all = g_new(RhChunkMemory, chunks);
    g_autofree RhChunkLayers *layers = rh_chunk_layers_new(model_cost->c, l);
    for (int32_t g = 0; g < chunks; g++)
        all[g] = rh_chunk_memory(model_cost, l, &layers[g]);
    return all;
}

const RhChunkMemory **rh_chunks_each(const RhChunkMemory *chunks, const RhLayout *l)
{
    const RhChunkMemory **each = g_new(const RhChunkMemory *, l->pp * l->vpp);
    for (int32_t g = 0; g < l->pp * l->vpp; g++)
        each[g] = &chunks[g];
    return each;
}

/* Chunk before model chunk g; NULL before the first of a copy of the model. */
static const RhChunkMemory *chunk_before(const RhChunkMemory *const *chunks, int32_t g)
{
    return chunks[g]->items.embedding ? NULL : chunks[g - 1];
}

static void hold(const RhChunkMemory *const *chunks, const RhLayout *l, int32_t g,
                 RhStageHeld *held)
{
    const RhChunkMemory *chunk = chunks[g], *before = chunk_before(chunks, g);
    double message = larger(chunk->message.forward, before ? before->message.forward : 0);
    held->message_bytes = l->pp > 1 ? larger(held->message_bytes, message) : 0;
    held->messages_bytes +=
        (before ? before->message.forward : 0) + chunk->message.forward + chunk->message.back;
    held->ends |= chunk->items.head;
    rh_states_add(&held->states, &chunk->states);
    keep_largest(&held->largest_params, &chunk->largest_params);
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        held->largest_gather_bytes[cls] =
            larger(held->largest_gather_bytes[cls], chunk->largest_gather_bytes[cls]);
    held->largest_away_bytes = larger(held->largest_away_bytes, chunk->largest_away_bytes);
}

/* Are the stage's chunks, and those before them, the same objects as those of the previous
 * stage? */
static bool held_as_before(const RhChunkMemory *const *chunks, const RhLayout *l,
                           const RhPipelineSchedule *schedule, int32_t stage)
{
    bool same = stage > 0;
    for (int32_t c = 0; c < l->vpp && same; c++) {
        int32_t g = rh_pipeline_model_chunk(schedule, l->pp, stage, c);
        int32_t other = rh_pipeline_model_chunk(schedule, l->pp, stage - 1, c);
        same = chunks[g] == chunks[other] && chunk_before(chunks, g) == chunk_before(chunks, other);
    }
    return same;
}

void rh_stage_held(const RhChunkMemory *const *chunks, const RhLayout *l, RhStageHeld *all)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    for (int32_t stage = 0; stage < l->pp; stage++)
        if (held_as_before(chunks, l, schedule, stage))
            all[stage] = all[stage - 1];
        else
            for (int32_t c = 0; c < l->vpp; c++)
                hold(chunks, l, rh_pipeline_model_chunk(schedule, l->pp, stage, c), &all[stage]);
}

RhStageHeld *rh_stage_held_new(const RhChunkMemory *const *chunks, const RhLayout *l)
{
    RhStageHeld *all = g_new0(RhStageHeld, l->pp);
    rh_stage_held(chunks, l, all);
    return all;
}

/* --- peaks --- */

static void add_in_flight(RhInFlight *sum, const RhInFlight *each, int32_t times)
{
    sum->activations += times * each->activations;
    sum->logits += times * each->logits;
    sum->working += times * each->working;
    sum->host += times * each->host;
}

int32_t rh_chunk_kinds(const RhModelCost *model_cost, const RhChunkLayers *items, int *kinds)
{
    int32_t count = 0;
    if (items->embedding)
        kinds[count++] = RH_LAYER_EMBEDDING;
    for (int32_t i = 0; i < items->count; i++)
        kinds[count++] = rh_chunk_layer(model_cost->c->model, items, i);
    if (items->head)
        kinds[count++] = RH_LAYER_HEAD;
    return count;
}

static void keep(RhInFlight *kept, int kind, double bytes)
{
    *(kind == RH_LAYER_HEAD ? &kept->logits : &kept->activations) += bytes;
}

/* Peak of both micro-batches of a pair: a forward adds layers one by one while a backward frees
 * them. */
static RhInFlight fullest_of_pair(const RhModelCost *model_cost, const RhChunkMemory *forward,
                                  const RhChunkMemory *backward)
{
    g_autofree int *kinds = g_new(int, forward->items.count + backward->items.count + 4);
    int *behind = kinds + forward->items.count + 2;
    RhPairWalk walk = {.kinds = {kinds, behind}};
    RhInFlight fullest = {0}, kept = backward->kept;
    int32_t f, b;
    walk.count[0] = rh_chunk_kinds(model_cost, &forward->items, kinds);
    walk.count[1] = rh_chunk_kinds(model_cost, &backward->items, behind);
    while (rh_pair_next(&walk, &f, &b)) {
        RhActivation ahead = {0}, back = {0};
        if (f >= 0)
            ahead = rh_layer_bytes(model_cost, walk.kinds[0][f]);
        if (b >= 0)
            back = rh_layer_bytes(model_cost, walk.kinds[1][b]);
        if (f >= 0)
            keep(&kept, walk.kinds[0][f], ahead.kept);
        keep_fuller(&fullest, &kept, ahead.forward + back.backward);
        if (b >= 0)
            keep(&kept, walk.kinds[1][b], -back.kept);
    }
    return fullest;
}

/* Kept bytes of one micro-batch of each of the stage's chunks, summed before each chunk, and over
 * all. */
static RhInFlight *kept_before(const RhChunkMemory *const *chunks, const RhPipelineProfile *profile,
                               int32_t stage)
{
    RhInFlight *before = g_new0(RhInFlight, profile->v + 1);
    for (int32_t c = 0; c < profile->v; c++) {
        before[c + 1] = before[c];
        add_in_flight(
            &before[c + 1],
            &chunks[rh_pipeline_model_chunk(profile->schedule, profile->p, stage, c)]->kept, 1);
    }
    return before;
}

RhGradientBytes rh_gradients_each(const RhProblem *c, const RhLayout *l)
{
    RhGradientBytes each = {0};
    for (int cls = 0; c->stack->frees_gradients && cls < RH_PARAMS_LAST; cls++) {
        int32_t shards = rh_params_shards(l, (RhParamsClass)cls);
        int32_t zero = rh_params_degree(l, (RhParamsClass)cls);
        bool always = rh_stack_reduces_each(c->stack, zero, l->pp);
        each.summed[cls] = rh_gradient_bytes(c) / (always ? shards : 1);
        each.reduced[cls] = rh_gradient_bytes(c) / (zero >= 1 ? shards : 1);
    }
    return each;
}

/* Bytes of gradients of all chunks of the stage at one time. */
static double gradients_at(const RhChunkMemory *const *chunks, const RhPipelineProfile *profile,
                           const RhGradientBytes *gradients, int32_t stage,
                           const RhPeakCandidate *candidate)
{
    double sum = 0;
    for (int32_t c = 0; profile->gradients && c < profile->v; c++) {
        uint8_t have = g_array_index(profile->gradients, uint8_t, candidate->gradients_first + c);
        const double *each = have == RH_GRADIENTS_SUMMED ? gradients->summed : gradients->reduced;
        const RhParamCounts *params =
            &chunks[rh_pipeline_model_chunk(profile->schedule, profile->p, stage, c)]
                 ->states.params;
        for (int cls = 0; have != RH_GRADIENTS_NONE && cls < RH_PARAMS_LAST; cls++)
            sum += each[cls] * params->of[cls];
    }
    return sum;
}

/* Peak of a stage. The kept micro-batches of the slot's own chunk include the slot's; with a pair,
 * each one's chunk includes its own. */
RhInFlight rh_stage_peak(const RhModelCost *model_cost, const RhChunkMemory *const *chunks,
                         const RhPipelineProfile *profile, const RhGradientBytes *gradients,
                         int32_t stage)
{
    RhInFlight peak = {0};
    double host = 0;
    g_autofree RhInFlight *before = kept_before(chunks, profile, stage);
    for (int32_t i = profile->candidates_first[stage]; i < profile->candidates_first[stage + 1];
         i++) {
        const RhPeakCandidate *candidate = &g_array_index(profile->candidates, RhPeakCandidate, i);
        const RhInFlightRun *runs =
            &g_array_index(profile->runs, RhInFlightRun, candidate->runs_first);
        const RhChunkMemory *own =
            chunks[rh_pipeline_model_chunk(profile->schedule, profile->p, stage, candidate->chunk)];
        RhInFlight now = own->fullest[candidate->pass];
        if (candidate->beside >= 0) {
            const RhChunkMemory *beside = chunks[rh_pipeline_model_chunk(
                profile->schedule, profile->p, stage, candidate->beside)];
            now = fullest_of_pair(model_cost, own, beside);
            add_in_flight(&now, &beside->kept, -1);
        }
        now.host = own->kept.host; /* at the end of its forward, when its backward begins */
        add_in_flight(&now, &own->kept, -1);
        for (int32_t r = 0, begin = 0; r < candidate->runs_count; begin = runs[r++].end) {
            add_in_flight(&now, &before[runs[r].end], runs[r].kept);
            add_in_flight(&now, &before[begin], -runs[r].kept);
        }
        now.gradients = gradients_at(chunks, profile, gradients, stage, candidate);
        host = larger(host, now.host);
        if (in_flight_bytes(&now) > in_flight_bytes(&peak))
            peak = now;
    }
    peak.host = host;
    return peak;
}

/* --- stages --- */

/* Bytes of communication buffers, for each class of parameters: gradients that are not reduced in
 * place use one for the largest layer; sharded weights one for each layer gathered ahead, and one
 * more. Activations on their way to the host, and back, use one of a layer each. */
static double buffer_bytes(const RhModelCost *model_cost, const RhLayout *l,
                           const RhStageHeld *held)
{
    const RhParamCounts *largest = &held->largest_params;
    const RhStack *stack = model_cost->c->stack;
    bool each = rh_stack_reduces_each(stack, l->zero, l->pp);
    double width = each ? rh_weight_bytes(model_cost->c) : rh_gradient_bytes(model_cost->c);
    double scattered = 0, gathered = 0; /* of the largest layers */
    double messages = stack->keeps_messages && l->pp > 1
                          ? (double)rh_train_microbatches(model_cost->c, l) * held->messages_bytes
                          : 2 * held->message_bytes;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++) {
        int32_t zero = rh_params_zero(model_cost->c, l, (RhParamsClass)cls);
        bool leaves = zero >= 2 || (zero == 1 && stack->frees_gradients);
        scattered += leaves && stack->buckets.value <= 0 ? largest->of[cls] : 0;
        gathered += zero >= 3 ? held->largest_gather_bytes[cls] : 0;
    }
    return messages + (held->ends ? rh_model_cost_outputs_bytes(model_cost, l) : 0) +
           width * scattered + rh_bucket_bytes(model_cost->c, l) +
           (stack->prefetch_layers + 1) * rh_gather_sent_frac(model_cost->c, l) * gathered +
           (l->qwz ? gathered : 0) + 2 * held->largest_away_bytes +
           rh_away_buffer_bytes(model_cost->c, l, largest, held->largest_gather_bytes) +
           rh_codec_kept_bytes(model_cost->c, l, &held->states);
}

/* Bytes of gradients that are freed behind the optimizer alone. */
static double freed_later_bytes(const RhProblem *c, const RhLayout *l, const RhParamCounts *params)
{
    RhGradientBytes each = rh_gradients_each(c, l);
    double sum = 0;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        sum += each.reduced[cls] * params->of[cls];
    return sum;
}

RhStageMemory rh_stage_memory_of(const RhModelCost *model_cost, const RhStageHeld *held,
                                 const RhLayout *l)
{
    RhStageMemory m = {.params = held->states.params};
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++) {
        double params = m.params.of[cls];
        double weights = rh_weight_bytes(model_cost->c) *
                         rh_states_wide(model_cost->c, &held->states, (RhParamsClass)cls);
        m.fixed_bytes[RH_MEMORY_WEIGHTS] +=
            rh_states_weights(model_cost->c, l, &held->states, (RhParamsClass)cls);
        m.fixed_bytes[RH_MEMORY_GRADIENTS] +=
            rh_states_gradients(model_cost->c, l, &held->states, (RhParamsClass)cls);
        m.fixed_bytes[RH_MEMORY_OPTIMIZER] += (1 - rh_states_away_frac(l)) *
                                              rh_optimizer_state_bytes(model_cost->c) * params /
                                              rh_params_optimizer_shards(l, (RhParamsClass)cls);
        int32_t second = rh_params_second_shards(l, (RhParamsClass)cls);
        m.fixed_bytes[RH_MEMORY_WEIGHTS] += second > 0 ? weights / second : 0;
    }
    m.fixed_bytes[RH_MEMORY_GRADIENTS] += rh_states_dummies(model_cost, l, &held->states);
    m.fixed_bytes[RH_MEMORY_WEIGHTS] += rh_states_copies(model_cost->c, l, &held->states);
    m.fixed_bytes[RH_MEMORY_COMMUNICATION] = buffer_bytes(model_cost, l, held);
    m.fixed_bytes[RH_MEMORY_RESERVE] = model_cost->c->stack->reserve_bytes.value;
    m.flattened_bytes = rh_states_flattened(model_cost->c, l, &held->states);
    RhTierBytes away = rh_states_away(model_cost->c, l, &held->states, &held->largest_params);
    for (int tier = 0; tier < RH_MEMORY_TIER_LAST; tier++)
        for (int use = 0; use < RH_MEMORY_LAST; use++)
            m.tier_bytes[tier] += away.of[tier][use];
    if (m.flattened_bytes > 0)
        m.flattened_bytes += freed_later_bytes(model_cost->c, l, &m.params);
    return m;
}

RhStageMemory rh_stage_memory(const RhModelCost *model_cost, const RhLayout *l, int32_t stage)
{
    g_autofree RhChunkMemory *chunks = rh_chunk_memory_new(model_cost, l);
    g_autofree const RhChunkMemory **each = rh_chunks_each(chunks, l);
    g_autofree RhStageHeld *held = rh_stage_held_new(each, l);
    return rh_stage_memory_of(model_cost, &held[stage], l);
}

RhTrainMemory rh_stage_memory_with(const RhStageMemory *fixed, const RhInFlight *peak,
                                   int32_t stage)
{
    RhTrainMemory m = {.stage = stage};
    for (int use = 0; use < RH_MEMORY_LAST; use++)
        m.at_peak_bytes[use] = fixed->fixed_bytes[use];
    if (fixed->flattened_bytes > in_flight_bytes(peak)) {
        m.at_peak_bytes[RH_MEMORY_GRADIENTS] += fixed->flattened_bytes;
    } else {
        m.at_peak_bytes[RH_MEMORY_ACTIVATIONS] += peak->activations;
        m.at_peak_bytes[RH_MEMORY_LOGITS] += peak->logits;
        m.at_peak_bytes[RH_MEMORY_RECOMPUTE] += peak->working;
        m.at_peak_bytes[RH_MEMORY_GRADIENTS] += peak->gradients;
    }
    for (int use = 0; use < RH_MEMORY_LAST; use++)
        m.peak_bytes += m.at_peak_bytes[use];
    m.tier_peak_bytes[RH_MEMORY_TIER_HBM] = m.peak_bytes;
    for (int tier = RH_MEMORY_TIER_HBM + 1; tier < RH_MEMORY_TIER_LAST; tier++)
        m.tier_peak_bytes[tier] = fixed->tier_bytes[tier];
    m.tier_peak_bytes[RH_MEMORY_TIER_HOST] += peak->host;
    return m;
}

RhTrainMemory rh_train_memory_of_stage(const RhModelCost *model_cost, const RhStageHeld *held,
                                       const RhInFlight *peak, const RhLayout *l, int32_t stage)
{
    RhStageMemory fixed = rh_stage_memory_of(model_cost, &held[stage], l);
    return rh_stage_memory_with(&fixed, peak, stage);
}

/* Gets the memory of the stages of a part, beginning with `first`. */
static void memory_of_part(const RhProblem *c, const RhLayout *layout,
                           const RhPipelineProfile *profile, int32_t first, RhTrainMemory *out)
{
    RhLayout l = rh_part_layout(c, layout, first);
    g_autoptr(RhModelCost) model_cost = rh_model_cost_sized_new(c, &l);
    RhGradientBytes gradients = rh_gradients_each(c, &l);
    g_autofree RhChunkMemory *chunks = rh_chunk_memory_new(model_cost, &l);
    g_autofree const RhChunkMemory **each = rh_chunks_each(chunks, &l);
    g_autofree RhStageHeld *held = rh_stage_held_new(each, &l);
    for (int32_t stage = first; stage < rh_part_end(layout, first); stage++) {
        RhInFlight peak = rh_stage_peak(model_cost, each, profile, &gradients, stage);
        out[stage] = rh_train_memory_of_stage(model_cost, held, &peak, &l, stage);
    }
}

RhTrainMemory rh_train_memory(const RhProblem *c, const RhLayout *layout)
{
    g_autoptr(RhPipelineProfile) profile = rh_pipeline_profile_new(
        rh_pipeline_of(layout), layout->pp, layout->vpp, (int32_t)rh_train_microbatches(c, layout),
        c->stack->frees_gradients);
    g_autofree RhTrainMemory *all = g_new(RhTrainMemory, layout->pp);
    g_autofree double *host = g_new(double, layout->pp), *drives = g_new(double, layout->pp);
    RhTrainMemory worst = {0};
    double fullest = 0;
    for (int32_t stage = 0; stage < layout->pp; stage = rh_part_end(layout, stage))
        memory_of_part(c, layout, profile, stage, all);
    for (int32_t stage = 0; stage < layout->pp; stage++) {
        RhTrainMemory m = all[stage];
        host[stage] = m.tier_peak_bytes[RH_MEMORY_TIER_HOST];
        drives[stage] = m.tier_peak_bytes[RH_MEMORY_TIER_NVME];
        double full = m.peak_bytes / rh_train_stage_capacity(c, layout, stage);
        if (full > fullest)
            worst = m;
        fullest = fmax(fullest, full);
    }
    worst.host_bytes = rh_train_host_bytes(c, layout, host);
    worst.nvme_bytes = rh_train_host_bytes(c, layout, drives);
    return worst;
}

double rh_train_host_bytes(const RhProblem *c, const RhLayout *l, const double *stage_bytes)
{
    RhGrid grid = rh_grid(l);
    int32_t run = grid.stride[RH_DIM_PP];
    double most = 0, sum = 0;
    for (int32_t gpu = 0, node = 0; rh_train_copies(l) && gpu < c->job.gpus; gpu++) {
        if (rh_platform_node_of(c->platform, gpu) != node)
            sum = 0;
        node = rh_platform_node_of(c->platform, gpu);
        sum += stage_bytes[gpu / run % l->pp];
        most = fmax(most, sum);
    }
    return most;
}

bool rh_train_host_holds(const RhProblem *c, const RhTrainMemory *m)
{
    double host = c->platform->host_bytes.value, drives = c->platform->nvme_bytes.value;
    return (host <= 0 || m->host_bytes <= host) && (drives <= 0 || m->nvme_bytes <= drives);
}

double rh_train_memory_capacity(const RhProblem *c)
{
    return c->platform->device->hbm_bytes.value;
}

/* Does the stage have a rank among the GPUs [first, end)? Its ranks are runs of `run` GPUs from `begin`
 * on, every `period`. */
static bool stands_on(int32_t begin, int32_t run, int32_t period, int32_t first, int32_t end)
{
    int32_t laps = first > begin ? (first - begin) / period : 0;
    for (int32_t at = begin + laps * period; at < end; at += period)
        if (at + run > first)
            return true;
    return false;
}

double rh_train_stage_capacity(const RhProblem *c, const RhLayout *layout, int32_t stage)
{
    const RhPlatform *p = c->platform;
    int32_t devices = rh_platform_devices_count(p);
    if (devices == 1)
        return rh_train_memory_capacity(c);
    RhGrid grid = rh_part_grid(layout, stage);
    int32_t run = grid.stride[RH_DIM_PP], period = grid.lap > 0 ? grid.lap : run * layout->pp;
    double least = (double)INFINITY;
    for (int32_t i = 0, first = 0; i < devices; i++) {
        int32_t end = i + 1 < devices
                          ? g_array_index(p->others, RhOtherDevice, i).first_node * p->gpus_per_node
                          : c->job.gpus;
        if (stands_on(rh_grid_rank(&grid, stage, 0), run, period, first, MIN(end, c->job.gpus)))
            least = fmin(least, rh_platform_device(p, i)->hbm_bytes.value);
        first = end;
    }
    return least;
}
