/* Memory of layouts from tables: of chunks by what they are made of, of stages by shard and split. */
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/train/layout_representatives.h"

#include <string.h>

static const RhChunkMemory *chunk_memory(const RhBoundCache *s, RhShardCost *shard, int32_t content,
                                         const RhLayout *l)
{
    if (content >= (int32_t)shard->chunk_memory->len)
        g_ptr_array_set_size(shard->chunk_memory, (gint)s->contents->len);
    if (!shard->chunk_memory->pdata[content]) {
        RhChunkMemory m = rh_chunk_memory(shard->model_cost, l,
                                          &g_array_index(s->contents, RhChunkLayers, content));
        shard->chunk_memory->pdata[content] = g_memdup2(&m, sizeof m);
    }
    return shard->chunk_memory->pdata[content];
}

/* Layouts come in the order of the space: what is asked for no more is a long stretch behind. */
#define ROOMS_BYTES_MAX 4e7 /* of what all rooms together hold by stage and by chunk */

static void forget_rooms(RhBoundCache *s)
{
    GHashTableIter shards;
    void *shard;
    g_hash_table_iter_init(&shards, s->shards.table);
    while (g_hash_table_iter_next(&shards, NULL, &shard))
        g_hash_table_remove_all(((RhShardCost *)shard)->rooms);
    rh_arena_clear(s->rooms);
    s->rooms_bytes = 0;
}

static RhMemoryTables *rooms_new(RhBoundCache *s, RhShardCost *shard, const RhSplit *split,
                                 const RhLayout *l)
{
    if (s->rooms_bytes > ROOMS_BYTES_MAX)
        forget_rooms(s);
    RhMemoryTables *rooms = rh_arena_take(s->rooms, sizeof *rooms);
    s->rooms_bytes += (double)l->pp * (sizeof *rooms->held + sizeof *rooms->fixed_bytes);
    s->rooms_bytes += (double)split->chunks * sizeof *rooms->chunks;
    rooms->chunks = rh_arena_take(s->rooms, (gsize)split->chunks * sizeof *rooms->chunks);
    for (int32_t g = 0; g < split->chunks; g++)
        rooms->chunks[g] = chunk_memory(s, shard, split->content[g], l);
    rooms->held = rh_arena_take(s->rooms, (gsize)l->pp * sizeof *rooms->held);
    rh_stage_held(rooms->chunks, l, rooms->held);
    rooms->as_before = rh_arena_take(s->rooms, (gsize)l->pp * sizeof *rooms->as_before);
    for (int32_t stage = 1; stage < l->pp; stage++)
        rooms->as_before[stage] =
            memcmp(&rooms->held[stage], &rooms->held[stage - 1], sizeof *rooms->held) == 0;
    rooms->fixed_bytes = rh_arena_take(s->rooms, (gsize)l->pp * sizeof *rooms->fixed_bytes);
    g_hash_table_insert(shard->rooms, (void *)(uintptr_t)split, rooms);
    return rooms;
}

/* Per stage, of which some may be known. */
static RhStagePeaks *peaks_of(RhBoundCache *s, RhMemoryTables *rooms,
                              const RhPipelineProfile *profile, const RhGradientBytes *gradients)
{
    RhStagePeaks *peaks = rooms->peaks;
    while (peaks && (peaks->profile != profile ||
                     memcmp(&peaks->gradients, gradients, sizeof *gradients) != 0))
        peaks = peaks->next;
    if (!peaks) {
        peaks =
            rh_arena_take(s->rooms, sizeof *peaks + (gsize)profile->p * sizeof *peaks->of_stage);
        peaks->profile = profile;
        peaks->gradients = *gradients;
        peaks->next = rooms->peaks;
        rooms->peaks = peaks;
    }
    return peaks;
}

/* Returns the memory of a stage's device relative to the first one's. */
static double room_of(const RhProblem *c, const RhLayout *l, int32_t stage)
{
    if (rh_platform_devices_count(c->platform) == 1)
        return 1;
    return rh_train_stage_capacity(c, l, stage) / rh_train_memory_capacity(c);
}

RhStates rh_bound_layer_states(const RhModelCost *model_cost, const RhLayout *l)
{
    const RhModel *model = model_cost->c->model;
    RhStates sum = {0};
    for (int32_t i = 0; i < model->layers_count; i++) {
        int kind = rh_op_kind_of_layer(model, i, true); /* run again or not, it has the same */
        RhStates states = rh_layer_states(model_cost, l, kind);
        rh_states_add(&sum, &states);
    }
    return sum;
}

/* Some stage holds its share of the layers' states, or more. Is that too much, whatever rounding does? Asked before
 * anything is made for how layers are split, it ends most questions of models that hardly fit. */
static bool states_exceed(const RhShardCost *shard, const RhLayout *l, double most_bytes)
{
    const RhModelCost *model_cost = shard->model_cost;
    if (rh_platform_devices_count(model_cost->c->platform) > 1 || isinf(most_bytes))
        return false;
    RhStageHeld layers = {.states = shard->layer_states};
    RhStageMemory m = rh_stage_memory_of(model_cost, &layers, l);
    double bytes = m.fixed_bytes[RH_MEMORY_WEIGHTS] + m.fixed_bytes[RH_MEMORY_GRADIENTS] +
                   m.fixed_bytes[RH_MEMORY_OPTIMIZER];
    return bytes / l->pp * (1 - 1e-9) > most_bytes;
}

bool rh_bound_states_fit(RhBoundCache *s, const RhLayout *cut, double most_bytes)
{
    RhLayout shared[RH_TRAIN_DEGREES];
    int32_t count = rh_train_shared_most(s->c, cut, shared);
    bool fit = rh_stages_unequal(cut);
    for (int32_t i = 0; !fit && i < count; i++)
        fit = !states_exceed(rh_bound_shard(s, &shared[i]), &shared[i], most_bytes);
    return fit;
}

/* Does no stage need more from step to step alone? */
static bool holds_within(const RhModelCost *model_cost, const RhMemoryTables *rooms,
                         const RhLayout *l, double most_bytes)
{
    static const RhInFlight none;
    double needed_bytes = 0;
    for (int32_t stage = 0; stage < l->pp; stage++) {
        if (!rooms->as_before[stage])
            needed_bytes =
                rh_train_memory_of_stage(model_cost, rooms->held, &none, l, stage).peak_bytes;
        if (needed_bytes > most_bytes * room_of(model_cost->c, l, stage))
            return false;
        rooms->fixed_bytes[stage] = needed_bytes;
    }
    return true;
}

/* Is it sure, whatever rounding does, that the stage needs less than so much? Most stages do, and then
 * nobody asks what it is made of. */
static bool needs_less(const RhMemoryTables *rooms, int32_t stage, const RhInFlight *f,
                       double bytes)
{
    double about =
        rooms->fixed_bytes[stage] + f->activations + f->logits + f->working + f->gradients;
    return about < bytes * (1 - 1e-9);
}

/* Tells the memory of all stages, or of the first two and the last. */
static bool memory_within(RhBoundCache *s, const RhLayout *l, double most_bytes, bool all,
                          RhTrainMemory *out)
{
    RhShardCost *shard = rh_bound_shard(s, l);
    if (states_exceed(shard, l, most_bytes))
        return false;
    const RhSplit *split = rh_bound_split(s, l);
    const RhModelCost *model_cost = shard->model_cost;
    RhTrainMemory worst = {0};
    double fullest = 0; /* as the first device's bytes */
    RhMemoryTables *rooms = g_hash_table_lookup(shard->rooms, split);
    if (!rooms)
        rooms = rooms_new(s, shard, split, l);
    if (!holds_within(model_cost, rooms, l, most_bytes))
        return false;
    const RhPipelineProfile *profile = rh_bound_pipeline_profile(s, l);
    RhGradientBytes gradients = rh_gradients_each(model_cost->c, l);
    RhStagePeaks *under = peaks_of(s, rooms, profile, &gradients);
    RhStagePeak *peaks = under->of_stage;
    g_autofree double *host = rh_train_copies(l) ? g_new0(double, 2 * l->pp) : NULL;
    double *drives = host ? host + l->pp : NULL;
    RhStageMemory fixed = {0};
    for (int32_t stage = 0, like = 0, known = -1; stage < l->pp;
         stage = all || stage == 0 ? stage + 1 : MAX(stage + 1, l->pp - 1)) {
        if (!peaks[stage].known)
            peaks[stage] = (RhStagePeak){
                rh_stage_peak(model_cost, rooms->chunks, profile, &under->gradients, stage), true};
        const RhInFlight *in_flight = &peaks[stage].in_flight;
        double room = room_of(model_cost->c, l, stage);
        for (like = stage; rooms->as_before[like];)
            like--;
        bool less = needs_less(rooms, stage, in_flight, fullest * room);
        if (less && !host)
            continue;
        if (known != like)
            fixed = rh_stage_memory_of(model_cost, &rooms->held[like], l);
        known = like;
        if (host)
            host[stage] = fixed.tier_bytes[RH_MEMORY_TIER_HOST] + in_flight->host;
        if (drives)
            drives[stage] = fixed.tier_bytes[RH_MEMORY_TIER_NVME];
        if (less)
            continue;
        RhTrainMemory m = rh_stage_memory_with(&fixed, in_flight, stage);
        if (m.peak_bytes > most_bytes * room)
            return false;
        if (m.peak_bytes / room > fullest)
            worst = m;
        fullest = rh_max_d(fullest, m.peak_bytes / room);
    }
    worst.host_bytes = host ? rh_train_host_bytes(model_cost->c, l, host) : 0;
    worst.nvme_bytes = drives ? rh_train_host_bytes(model_cost->c, l, drives) : 0;
    if (isfinite(most_bytes) && !rh_train_host_holds(model_cost->c, &worst))
        return false;
    *out = worst;
    return true;
}

/* Answers rh_bound_memory_within for stages of unequal widths; the tables are of stages that are alike. */
static bool unequal_within(RhBoundCache *s, const RhLayout *l, double most_bytes,
                           RhTrainMemory *out)
{
    RhTrainMemory m = rh_train_memory(s->c, l);
    if (m.peak_bytes > most_bytes * room_of(s->c, l, m.stage))
        return false;
    *out = m;
    return true;
}

/* Computes the memory, or takes that of the layout before, if only the order of ranks differs: it
 * is the innermost knob of the space, and changes no memory where GPUs are alike and nothing is
 * copied to hosts. */
bool rh_bound_memory_within(RhBoundCache *s, const RhLayout *l, double most_bytes,
                            RhTrainMemory *out)
{
    if (rh_stages_unequal(l))
        return unequal_within(s, l, most_bytes, out);
    if (rh_platform_devices_count(s->c->platform) > 1 || rh_train_copies(l))
        return memory_within(s, l, most_bytes, true, out);
    RhBoundKey key = rh_bound_key(s, l);
    key.v[RH_BOUND_KEY_order] = 0;
    if (most_bytes != s->memory_last.most_bytes ||
        memcmp(&key, &s->memory_last.key, sizeof key) != 0) {
        s->memory_last.key = key;
        s->memory_last.most_bytes = most_bytes;
        s->memory_last.within = memory_within(s, l, most_bytes, true, &s->memory_last.memory);
    }
    if (s->memory_last.within)
        *out = s->memory_last.memory;
    return s->memory_last.within;
}

RhTrainMemory rh_bound_memory(RhBoundCache *s, const RhLayout *l)
{
    RhTrainMemory m = {0};
    rh_bound_memory_within(s, l, (double)INFINITY, &m);
    return m;
}

RhTrainMemory rh_bound_ends_memory(RhBoundCache *s, const RhLayout *l)
{
    RhTrainMemory m = {0};
    if (rh_stages_unequal(l))
        return rh_train_memory(s->c, l);
    memory_within(s, l, (double)INFINITY, false, &m);
    return m;
}
