/* How long the chunks of a stage take in each slot: of layers, whose times a shard knows, and of a split. */
#include <math.h>
#include <string.h>

#include "strategies/search/bounds/bound_cache.h"

/* Returns the place of layer i of a chunk in the order of the pass: backward runs from the head to
 * the embedding. */
static int item_at(const RhChunkLayers *items, const RhModel *model, int pass, int32_t i)
{
    int32_t last = items->embedding + items->count + items->head - 1;
    int32_t at = (pass == RH_SLOT_FORWARD ? i : last - i) - items->embedding;
    return at < 0               ? RH_LAYER_EMBEDDING
           : at == items->count ? RH_LAYER_HEAD
                                : rh_chunk_layer(model, items, at);
}

/* Adds up a chunk's layers in their order: lanes that are still busy when the chunk begins delay its first layers. */
static RhLayerTime chunk_time(const RhLayerTimes *times, const RhChunkLayers *items,
                              const RhModel *model, int pass)
{
    RhLayerTime sum = RH_LAYER_TIME_NONE;
    int32_t count = items->embedding + items->count + items->head;
    for (int32_t i = 0, same; i < count; i += same) {
        int item = item_at(items, model, pass, i);
        for (same = 1; i + same < count && item_at(items, model, pass, i + same) == item; same++)
            ;
        sum = rh_layer_time_add(sum, *times->of[item][pass], same);
    }
    return sum;
}

static double chunk_kernels_s(RhShardCost *shard, const RhSplit *split, int32_t g, int pass)
{
    const RhLayerOps *items = rh_bound_layer_ops(shard);
    double sum = 0;
    for (int k = 0; k < RH_LAYER_OP_LAYERS; k++)
        if (split->kinds[g][k] > 0)
            sum += split->kinds[g][k] * rh_layer_kernels_s(&items->pass[k][pass]);
    const RhPipelineSchedule *schedule = rh_pipeline_of(&shard->layout);
    int32_t pp = shard->layout.pp;
    if (rh_pipeline_begins(schedule, pp, g))
        sum += rh_layer_kernels_s(&items->pass[RH_LAYER_EMBEDDING][pass]);
    if (rh_pipeline_ends(schedule, pp, split->chunks / pp, g))
        sum += rh_layer_kernels_s(&items->pass[RH_LAYER_HEAD][pass]);
    return sum;
}

static void note_least(RhChunkTimes *times, RhShardCost *shard, const RhSplit *split, int32_t g,
                       int pass)
{
    const RhLayerTime *time = &times->of[pass];
    double all_s = 0;
    bool pairs = rh_pipeline_of(&shard->layout)->pairs;
    if (pairs)
        all_s = chunk_kernels_s(shard, split, g, pass);
    times->least[pass].busy_s = pairs ? all_s : time->busy_s;
    times->least[pass].out_s = pairs ? all_s : time->out_s;
    times->least[pass].kernels_s = pairs ? all_s : time->kernels_s;
}

static const RhChunkTimes *chunk_times(RhBoundCache *cache, RhShardCost *shard,
                                       const RhSplit *split, const RhGroupNetwork *net,
                                       int32_t stage, int32_t g)
{
    int32_t key[] = {split->content[g], net->placement[stage]->id};
    RhChunkTimes *found = g_hash_table_lookup(shard->chunk_times, key);
    if (!found) {
        const RhLayerTimes *times = rh_bound_layer_times(cache, shard, net, stage);
        const RhChunkLayers *items =
            &g_array_index(cache->contents, RhChunkLayers, split->content[g]);
        found = rh_arena_take(cache->tables, sizeof *found);
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++) {
            found->of[pass] = chunk_time(times, items, cache->c->model, pass);
            note_least(found, shard, split, g, pass);
        }
        g_hash_table_insert(shard->chunk_times, rh_arena_copy(cache->tables, key, sizeof key),
                            found);
    }
    return found;
}

/* Returns the seconds of the pass that hands gradients on: one of the two never runs. */
static double back_s(const RhChunkTimes *chunk)
{
    return chunk->least[RH_SLOT_BACKWARD].out_s + chunk->least[RH_SLOT_BACKWARD_DATA].out_s;
}

/* Times every forward's chunk beside every backward's, per stage; most have the same layers as the one before.
 * `modules`: where these may be recomputed, or not; NULL: as the shard has it. */
static double *pairs_new(RhBoundCache *cache, RhShardCost *shard, const RhSplit *split,
                         const RhGroupNetwork *net, const uint32_t *modules)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(&shard->layout);
    int32_t p = (int32_t)net->skeleton->roles->len, v = split->chunks / p;
    double *pair_s = g_new(double, (gsize)p *(gsize)v *(gsize)v), seconds = 0;
    const RhPlacement *last = NULL;
    int32_t known[2] = {-1, -1};
    for (int32_t i = 0; i < p * v; i++) {
        int32_t stage = i / v;
        int32_t forward = split->content[rh_pipeline_model_chunk(schedule, p, stage, i % v)];
        for (int32_t c = 0; c < v; c++) {
            int32_t backward = split->content[rh_pipeline_model_chunk(schedule, p, stage, c)];
            RhChunkPair pair = {shard, net, stage, forward, backward};
            if (net->placement[stage] != last || forward != known[0] || backward != known[1])
                seconds = modules ? rh_bound_open_pair_s(cache, &pair, *modules)
                                  : rh_bound_pair_s(cache, &pair);
            pair_s[i * v + c] = seconds;
            last = net->placement[stage];
            known[0] = forward;
            known[1] = backward;
        }
    }
    return pair_s;
}

/* Returns a lower bound of a pair's seconds. It runs the kernels of both, and each as it would
 * alone, whatever the order and whatever is recomputed. */
static double either_s(const RhChunkTimes *forward, const RhChunkTimes *backward)
{
    double kernels = forward->least[RH_SLOT_FORWARD].kernels_s, alone = 0;
    for (int pass = 0; pass < RH_SLOT_PASSES; pass++) {
        kernels += pass == RH_SLOT_FORWARD ? 0 : backward->least[pass].kernels_s;
        alone = rh_max_d(alone, (pass == RH_SLOT_FORWARD ? forward : backward)->of[pass].busy_s);
    }
    return rh_max_d(kernels, alone);
}

const double *rh_bound_pairs(RhBoundCache *cache, const RhLayout *l, const RhTables *tables)
{
    RhChunkTimeTable *spans = tables->spans;
    if (spans->pairs && !spans->pair_s)
        spans->pair_s =
            pairs_new(cache, tables->shard, rh_bound_split(cache, l), tables->net, NULL);
    return spans->pair_s;
}

double *rh_bound_open_pairs_new(RhBoundCache *cache, const RhLayout *plain, const RhTables *tables,
                                const uint32_t *modules)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(plain);
    int32_t p = plain->pp, v = plain->vpp;
    double *pair_s = modules ? pairs_new(cache, tables->shard, rh_bound_split(cache, plain),
                                         tables->net, modules)
                             : g_new0(double, (gsize)p *(gsize)v *(gsize)v);
    const RhChunkTimes *known[2] = {NULL, NULL};
    double seconds = 0;
    for (int32_t i = 0; i < p * v; i++) {
        const RhChunkTimes *const *chunk = tables->spans->chunk;
        const RhChunkTimes *forward = chunk[rh_pipeline_model_chunk(schedule, p, i / v, i % v)];
        for (int32_t c = 0; c < v; c++) {
            const RhChunkTimes *backward = chunk[rh_pipeline_model_chunk(schedule, p, i / v, c)];
            if (forward != known[0] || backward != known[1])
                seconds = either_s(forward, backward);
            pair_s[i * v + c] = rh_max_d(pair_s[i * v + c], seconds);
            known[0] = forward;
            known[1] = backward;
        }
    }
    return pair_s;
}

/* Creates a table without seconds, as large as chunks and stages ask for. */
static RhChunkTimeTable *spans_blank(RhArena *arena, size_t chunks, size_t stages)
{
    size_t count = 2 * (chunks + 1) + 2 * stages;
    RhChunkTimeTable *s = rh_arena_take(arena, sizeof *s + count * sizeof *s->numbers +
                                                   chunks * sizeof(const RhChunkTimes *));
    s->fill_s = s->numbers;
    s->drain_s = s->fill_s + chunks + 1;
    s->work_s = s->drain_s + chunks + 1;
    s->kernels_s = s->work_s + stages;
    s->chunk = (const RhChunkTimes **)(void *)(s->kernels_s + stages);
    return s;
}

/* Returns the number of lanes of collectives that any pass of any layer has. */
static int lanes_count(RhShardCost *shard)
{
    const RhLayerOps *items = rh_bound_passes(shard);
    int count = 0;
    uint32_t seen = 0;
    if (shard->lanes_known)
        return shard->lanes;
    for (int kind = 0; kind < RH_LAYER_OP_KINDS; kind++)
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++) {
            const GArray *tasks = items->pass[kind][pass].tasks;
            for (guint i = 0; tasks && i < tasks->len; i++) {
                int lane = (int)g_array_index(tasks, RhLayerOp, i).lane - RH_LANE_TP;
                bool counts = lane >= 0 && lane < RH_LAYER_LANES;
                count += counts && !(seen >> lane & 1);
                seen |= counts ? 1u << lane : 0;
            }
        }
    shard->lanes_known = true;
    return shard->lanes = count;
}

static RhChunkTimeTable *spans_new(RhBoundCache *cache, RhShardCost *shard, const RhSplit *split,
                                   const RhGroupNetwork *net)
{
    int32_t pp = (int32_t)net->skeleton->roles->len;
    RhChunkTimeTable *s = spans_blank(cache->tables, (size_t)split->chunks, (size_t)pp);
    const RhPlacement *last = NULL;
    for (int32_t g = 0; g < split->chunks; g++) {
        int32_t stage = rh_pipeline_stage(rh_pipeline_of(&shard->layout), pp, g);
        bool as_before =
            net->placement[stage] == last && split->content[g] == split->content[g - 1];
        s->chunk[g] = as_before ? s->chunk[g - 1] : chunk_times(cache, shard, split, net, stage, g);
        last = net->placement[stage];
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++) {
            s->work_s[stage] += s->chunk[g]->least[pass].busy_s;
            s->kernels_s[stage] += s->chunk[g]->least[pass].kernels_s;
            s->beside = MAX(s->beside, s->chunk[g]->of[pass].beside);
        }
        if (rh_pipeline_begins(rh_pipeline_of(&shard->layout), pp, g))
            s->drain_s[g] = 0; /* gradients of a copy end here */
        s->fill_s[g + 1] = s->fill_s[g] + s->chunk[g]->least[RH_SLOT_FORWARD].out_s;
        s->drain_s[g + 1] = s->drain_s[g] + back_s(s->chunk[g]);
    }
    s->forward_all_s = s->fill_s[split->chunks];
    s->pairs = rh_pipeline_of(&shard->layout)->pairs;
    s->lanes = MAX(s->beside, lanes_count(shard));
    return s;
}

RhChunkTimeTable *rh_bound_chunk_times(RhBoundCache *cache, RhShardCost *shard,
                                       const RhSplit *split, const RhGroupNetwork *net)
{
    int32_t key[] = {split->id, net->placement_key};
    if (shard == cache->spans_last.shard && rh_pair_equal(key, cache->spans_last.key))
        return cache->spans_last.value;
    if (!shard->spans)
        rh_shard_add_tables(shard);
    RhChunkTimeTable *found = g_hash_table_lookup(shard->spans, key);
    if (!found)
        g_hash_table_insert(shard->spans, rh_arena_copy(cache->tables, key, sizeof key),
                            found = spans_new(cache, shard, split, net));
    cache->spans_last.shard = shard;
    memcpy(cache->spans_last.key, key, sizeof key);
    return cache->spans_last.value = found;
}
