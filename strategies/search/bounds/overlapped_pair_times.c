/* Pairs, task by task: when each starts and ends in a stage whose lanes and inputs are as they are. The
 * same walk as of a layer alone (layer_times.c), for two halves that wait for their own. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "strategies/search/bounds/bound_cache.h"

typedef struct {
    RhBoundCache *cache;
    const RhGroupNetwork *net;
    const RhPlacement *at;
    RhLayerTimes *times;
} Timer;

static void add_list(const Timer *t, GArray *tasks)
{
    if (!tasks)
        return;
    double *seconds = g_new(double, tasks->len + 1);
    for (guint i = 0; i < tasks->len; i++) {
        const RhLayerOp *task = &g_array_index(tasks, RhLayerOp, i);
        seconds[i] = task->lane == RH_LANE_COMPUTE
                         ? rh_task_kernels_s(task)
                         : rh_bound_block_s(t->cache, t->net, t->at, task);
    }
    g_hash_table_insert(t->times->task_s, tasks, seconds);
}

void rh_pair_times_add(RhBoundCache *cache, const RhGroupNetwork *net, const RhPlacement *at,
                       RhLayerTimes *times, const RhLayerOps *items)
{
    Timer t = {cache, net, at, times};
    if (!items->whole)
        return;
    times->task_s = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    times->pair_s = g_hash_table_new_full(rh_pair_hash, rh_pair_equal, g_free, g_free);
    for (int item = 0; item < RH_LAYER_OP_KINDS; item++) {
        add_list(&t, items->pass[item][RH_SLOT_FORWARD].tasks);
        add_list(&t, items->whole[item].tasks);
    }
    for (int f = 0; f < items->pairs_count; f++)
        for (int b = 0; b < items->pairs_count; b++)
            add_list(&t, items->pair[f][b].tasks);
}

/* A kernel's seconds from t on, where lanes hold SMs. */
static double kernel_s(const RhBoundCache *cache, const RhBatchOverlap *turns, double t,
                       double work_s)
{
    int most = 0;
    return turns->since_s
               ? rh_bound_beside_s(cache, turns->free_s, turns->since_s, t, work_s, &most)
               : work_s;
}

static double start_s(const RhBatchOverlap *turns, const RhLayerOp *task, int half,
                      const double *ends_s)
{
    double start = turns->free_s[task->lane];
    for (int32_t i = 0; i < task->after_count; i++) {
        if (task->after[i] != RH_LAYER_OP_ENTRY) {
            start = rh_max_d(start, ends_s[task->after[i]]);
            continue;
        }
        start = rh_max_d(start, turns->pending_s[half]);
        if (task->lane != RH_LANE_COMPUTE)
            start = rh_max_d(start, turns->last_s[half]);
    }
    return start;
}

static void run_list(const RhBoundCache *cache, const RhTimedLayerOps *ops, GArray *tasks,
                     int first, RhBatchOverlap *turns)
{
    const double *seconds = g_hash_table_lookup(ops->times->task_s, tasks);
    double *ends_s = ops->ends_s;
    double last_s[] = {turns->last_s[0], turns->last_s[1]};
    for (guint i = 0; i < tasks->len; i++) {
        const RhLayerOp *task = &g_array_index(tasks, RhLayerOp, i);
        int half = first + task->half;
        double start = start_s(turns, task, half, ends_s);
        double *free_s = &turns->free_s[task->lane];
        if (task->lane == RH_LANE_COMPUTE) {
            ends_s[i] = last_s[half] = start + kernel_s(cache, turns, start, seconds[i]);
        } else {
            if (turns->since_s)
                turns->since_s[task->lane] =
                    start > *free_s ? start : rh_min_d(turns->since_s[task->lane], start);
            ends_s[i] = start + seconds[i];
        }
        *free_s = ends_s[i];
    }
    turns->last_s[0] = last_s[0];
    turns->last_s[1] = last_s[1];
}

static void leave(RhBatchOverlap *turns, int half, const int32_t *left, int32_t left_count,
                  const double *ends_s)
{
    double pending = 0;
    for (int32_t i = 0; i < left_count; i++)
        pending = rh_max_d(pending,
                           left[i] == RH_LAYER_OP_ENTRY ? turns->pending_s[half] : ends_s[left[i]]);
    turns->pending_s[half] = pending;
}

void rh_batch_overlap_pair(const RhBoundCache *cache, const RhTimedLayerOps *ops,
                           const RhPairWalk *walk, int32_t forward, int32_t backward,
                           RhBatchOverlap *turns)
{
    const RhLayerOps *items = ops->items;
    if (forward >= 0 && backward >= 0) {
        const RhLayerPassPair *pair =
            &items->pair[walk->kinds[0][forward]][walk->kinds[1][backward]];
        run_list(cache, ops, pair->tasks, 0, turns);
        for (int half = 0; half < 2; half++)
            leave(turns, half, pair->half[half].left, pair->half[half].left_count, ops->ends_s);
        return;
    }
    int half = backward >= 0;
    const RhLayerPass *pass = half ? &items->whole[walk->kinds[1][backward]]
                                   : &items->pass[walk->kinds[0][forward]][RH_SLOT_FORWARD];
    run_list(cache, ops, pass->tasks, half, turns);
    leave(turns, half, pass->left, pass->left_count, ops->ends_s);
}

double *rh_batch_overlap_new(const RhLayerOps *items)
{
    guint most = 0;
    for (int f = 0; f < items->pairs_count; f++)
        for (int b = 0; b < items->pairs_count; b++)
            most = MAX(most, items->pair[f][b].tasks ? items->pair[f][b].tasks->len : 0);
    for (int item = 0; items->whole && item < RH_LAYER_OP_KINDS; item++)
        most = MAX(most, items->whole[item].tasks ? items->whole[item].tasks->len : 0);
    return g_new(double, most + 1);
}

/* --- the closed form's --- */

/* Layers of two chunks, one by one. */
typedef struct {
    RhPairWalk walk;
    int *kinds; /* owned */
} ChunkPairWalk;

static ChunkPairWalk walk_of(RhBoundCache *cache, const RhChunkPair *pair)
{
    const RhModelCost *model_cost = pair->shard->model_cost;
    const RhChunkLayers *forward = &g_array_index(cache->contents, RhChunkLayers, pair->forward);
    const RhChunkLayers *backward = &g_array_index(cache->contents, RhChunkLayers, pair->backward);
    ChunkPairWalk w = {.kinds = g_new(int, forward->count + backward->count + 4)};
    int *second = w.kinds + forward->count + 2;
    w.walk = (RhPairWalk){.kinds = {w.kinds, second},
                          .count = {rh_chunk_kinds(model_cost, forward, w.kinds),
                                    rh_chunk_kinds(model_cost, backward, second)}};
    return w;
}

/* State of a stage, without lanes that hold SMs. */
typedef struct {
    double free_s[RH_LANE_LAST], pending_s[2], last_s[2];
} PairState;

static PairState run_set(const RhBoundCache *cache, const RhTimedLayerOps *set,
                         const RhPairWalk *walk, int32_t f, int32_t b, PairState state)
{
    RhBatchOverlap turns = {.free_s = state.free_s};
    memcpy(turns.pending_s, state.pending_s, sizeof turns.pending_s);
    memcpy(turns.last_s, state.last_s, sizeof turns.last_s);
    rh_batch_overlap_pair(cache, set, walk, f, b, &turns);
    memcpy(state.pending_s, turns.pending_s, sizeof turns.pending_s);
    memcpy(state.last_s, turns.last_s, sizeof turns.last_s);
    return state;
}

static void take_least(PairState *least, const PairState *other)
{
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        least->free_s[lane] = rh_min_d(least->free_s[lane], other->free_s[lane]);
    for (int half = 0; half < 2; half++) {
        least->pending_s[half] = rh_min_d(least->pending_s[half], other->pending_s[half]);
        least->last_s[half] = rh_min_d(least->last_s[half], other->last_s[half]);
    }
}

/* Returns the earliest state that a pair's next layers may leave, by whichever of the sets. */
static PairState least_of_sets(const RhBoundCache *cache, const GArray *sets,
                               const RhPairWalk *walk, int32_t f, int32_t b, PairState state)
{
    PairState least = run_set(cache, &g_array_index(sets, RhTimedLayerOps, 0), walk, f, b, state);
    for (guint i = 1; i < sets->len; i++) {
        PairState other =
            run_set(cache, &g_array_index(sets, RhTimedLayerOps, i), walk, f, b, state);
        take_least(&least, &other);
    }
    return least;
}

/* --- walks that begin alike --- */

/* A step of a walk: the next layers of both halves, or of one. */
typedef struct {
    int32_t at[2], kind[2]; /* places in the chunks, and kinds of layers; -1: none */
    PairState state;        /* behind it */
} PairStep;

/* A walk over layers: chunks of one shard begin with the same layers, whose steps are taken once. */
typedef struct {
    uint32_t modules; /* that may be recomputed */
    GArray *steps;    /* PairStep */
} PairTrail;

/* Walks that are kept of a shard on a placement: chunks begin in a few ways. */
#define TRAILS_MAX 8

static void trail_free(void *data)
{
    PairTrail *trail = data;
    g_array_unref(trail->steps);
    g_free(trail);
}

static GArray *steps_new(RhPairWalk *walk)
{
    GArray *steps = g_array_new(FALSE, FALSE, sizeof(PairStep));
    PairStep step = {0};
    while (rh_pair_next(walk, &step.at[0], &step.at[1])) {
        for (int half = 0; half < 2; half++)
            step.kind[half] = step.at[half] >= 0 ? walk->kinds[half][step.at[half]] : -1;
        g_array_append_val(steps, step);
    }
    return steps;
}

/* Returns how many steps both begin with. */
static guint common_steps(const GArray *a, const GArray *b)
{
    guint i = 0;
    while (i < a->len && i < b->len &&
           memcmp(g_array_index(a, PairStep, i).kind, g_array_index(b, PairStep, i).kind,
                  sizeof(int32_t[2])) == 0)
        i++;
    return i;
}

/* Fills in the states that a kept walk knows of these steps; returns their number. */
static guint follow_trail(const GPtrArray *trails, uint32_t modules, GArray *steps)
{
    guint most = 0;
    for (guint i = 0; i < trails->len; i++) {
        const PairTrail *trail = trails->pdata[i];
        guint common = trail->modules == modules ? common_steps(trail->steps, steps) : 0;
        for (guint k = most; k < common; k++)
            g_array_index(steps, PairStep, k).state =
                g_array_index(trail->steps, PairStep, k).state;
        most = MAX(most, common);
    }
    return most;
}

static void keep_trail(GPtrArray *trails, uint32_t modules, GArray *steps)
{
    PairTrail *trail = g_new(PairTrail, 1);
    *trail = (PairTrail){modules, g_array_ref(steps)};
    if (trails->len == TRAILS_MAX)
        g_ptr_array_remove_index(trails, 0);
    g_ptr_array_add(trails, trail);
}

/* Returns a pair's seconds from the earliest state that the layers before may leave, whichever set
 * each of them recomputes: a later state never makes an earlier one. */
static double pair_of_sets_s(RhBoundCache *cache, const RhChunkPair *pair, uint32_t modules,
                             const GArray *sets)
{
    RhLayerTimes *times = rh_bound_pair_times(cache, pair->shard, pair->net, pair->stage);
    if (!times->trails)
        times->trails = g_ptr_array_new_with_free_func(trail_free);
    ChunkPairWalk w = walk_of(cache, pair);
    g_autoptr(GArray) steps = steps_new(&w.walk);
    guint known = follow_trail(times->trails, modules, steps);
    PairState state = {0};
    if (known > 0)
        state = g_array_index(steps, PairStep, known - 1).state;
    for (guint i = known; i < steps->len; i++) {
        PairStep *step = &g_array_index(steps, PairStep, i);
        step->state = state = least_of_sets(cache, sets, &w.walk, step->at[0], step->at[1], state);
    }
    g_free(w.kinds);
    if (known < steps->len)
        keep_trail(times->trails, modules, steps);
    return state.free_s[RH_LANE_COMPUTE];
}

static double pair_alone_s(RhBoundCache *cache, const RhLayerTimes *times, const RhChunkPair *pair)
{
    const RhLayerOps *items = rh_bound_layer_ops(pair->shard);
    g_autofree double *ends_s = rh_batch_overlap_new(items);
    RhTimedLayerOps set = {items, times, ends_s};
    g_autoptr(GArray) sets = g_array_new(FALSE, FALSE, sizeof set);
    g_array_append_val(sets, set);
    return pair_of_sets_s(cache, pair, 0, sets);
}

double rh_bound_pair_s(RhBoundCache *cache, const RhChunkPair *pair)
{
    int32_t key[] = {pair->forward, pair->backward};
    const RhLayerTimes *times = rh_bound_pair_times(cache, pair->shard, pair->net, pair->stage);
    double *found = g_hash_table_lookup(times->pair_s, key);
    if (!found) {
        found = g_new(double, 1);
        *found = pair_alone_s(cache, times, pair);
        g_hash_table_insert(times->pair_s, g_memdup2(key, sizeof key), found);
    }
    return *found;
}

/* --- where it is open what is recomputed --- */

static GArray *sets_new(RhBoundCache *cache, const RhChunkPair *pair, const GArray *orders)
{
    GArray *sets = g_array_new(FALSE, FALSE, sizeof(RhTimedLayerOps));
    for (guint i = 0; i < orders->len; i++) {
        RhLayout l = pair->shard->layout;
        l.recompute = g_array_index(orders, RhRecompute, i);
        RhShardCost *shard = i == 0 ? pair->shard : rh_bound_shard(cache, &l);
        RhTimedLayerOps set = {rh_bound_layer_ops(shard),
                               rh_bound_pair_times(cache, shard, pair->net, pair->stage), NULL};
        set.ends_s = rh_batch_overlap_new(set.items);
        g_array_append_val(sets, set);
    }
    return sets;
}

static void sets_free(GArray *sets)
{
    for (guint i = 0; i < sets->len; i++)
        g_free(g_array_index(sets, RhTimedLayerOps, i).ends_s);
    g_array_unref(sets);
}

static double open_alone_s(RhBoundCache *cache, const RhChunkPair *pair, uint32_t modules,
                           const GArray *orders)
{
    GArray *sets = sets_new(cache, pair, orders);
    double seconds = pair_of_sets_s(cache, pair, modules, sets);
    sets_free(sets);
    return seconds;
}

static double open_pair_s(RhBoundCache *cache, const RhChunkPair *pair, uint32_t modules)
{
    const GArray *orders = rh_bound_pair_orders(cache, pair->shard, modules);
    return orders->len == 0   ? 0
           : orders->len == 1 ? rh_bound_pair_s(cache, pair)
                              : open_alone_s(cache, pair, modules, orders);
}

/* Key of a pair: all that its seconds depend on besides what RhCachedWork stands for. */
typedef struct {
    int32_t forward, backward; /* contents */
    uint32_t modules;
    int32_t schedule; /* RhPipelineKind */
} OpenPairKey;

static guint open_pair_hash(const void *key)
{
    return (guint)rh_hash_words(key, sizeof(OpenPairKey));
}

static gboolean open_pair_equal(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(OpenPairKey)) == 0;
}

/* Kept when shards are dropped: a search asks again when it has chosen the shares. */
double rh_bound_open_pair_s(RhBoundCache *cache, const RhChunkPair *pair, uint32_t modules)
{
    const RhLayout *l = &pair->shard->layout;
    RhCachedWork *known = rh_bound_known_work(cache, l, pair->net->placement[pair->stage]->id);
    OpenPairKey key = {pair->forward, pair->backward, modules, (int32_t)l->schedule};
    if (!known->open_pair_s)
        known->open_pair_s = g_hash_table_new_full(open_pair_hash, open_pair_equal, g_free, g_free);
    double *found = g_hash_table_lookup(known->open_pair_s, &key);
    if (!found) {
        found = g_new(double, 1);
        *found = open_pair_s(cache, pair, modules);
        g_hash_table_insert(known->open_pair_s, g_memdup2(&key, sizeof key), found);
    }
    return *found;
}
