/* Look-up of the tables behind the bounds, and the small ones among them. */
#include "sim/collective/step_pattern_time.h"
#include "strategies/layer_partition.h"
#include "strategies/search/bounds/stage_comm_groups.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "strategies/search/bounds/gradient_interference.h"

/* --- memos --- */

static guint key_hash(const void *data)
{
    return (guint)rh_hash_words(data, sizeof(RhBoundKey));
}

static gboolean key_equal(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(RhBoundKey)) == 0;
}

/* A table of what knobs that keep `common` leave as it is. */
static void memo_init(RhBoundMemo *memo, RhCommon common, GDestroyNotify value_free)
{
    memo->table = g_hash_table_new_full(key_hash, key_equal, g_free, value_free);
    for (int i = 0; i < RH_BOUND_KEY_GIVEN; i++)
        memo->mask.v[i] = rh_knobs[i].keeps & common ? 0 : ~0;
    memo->mask.v[RH_BOUND_KEY_GIVEN] = ~0;
}

/* Returns 0 if nothing is listed, else 1 + the list's place among those that were. */
static int32_t list_of(RhBoundCache *s, const int16_t *layers, int32_t listed)
{
    guint count = (guint)MAX(listed, 0);
    if (count == 0)
        return listed;
    for (guint i = 0; i < s->lists->len; i++) {
        const GArray *have = s->lists->pdata[i];
        if (have->len == count && memcmp(have->data, layers, count * sizeof *layers) == 0)
            return (int32_t)i + 1;
    }
    GArray *added = g_array_new(FALSE, FALSE, sizeof *layers);
    g_array_append_vals(added, layers, count);
    g_ptr_array_add(s->lists, added);
    return (int32_t)s->lists->len;
}

RhBoundKey rh_bound_key(RhBoundCache *s, const RhLayout *l)
{
    RhBoundKey key = {{
#define RH_KNOB(type, field, ...) (int32_t) l->field,
#include "strategies/knob_rows.h"
#undef RH_KNOB
        0}};
    key.v[RH_BOUND_KEY_stage_layers_count] = list_of(s, l->stage_layers, l->stage_layers_count);
    key.v[RH_BOUND_KEY_recomputed_layers_count] =
        list_of(s, l->recomputed_layers, l->recomputed_layers_count);
    return key;
}

/* Returns the key without what the table does not depend on. */
static RhBoundKey masked(const RhBoundMemo *memo, const RhBoundKey *key)
{
    RhBoundKey out;
    for (int i = 0; i < RH_BOUND_KEY_INTS; i++)
        out.v[i] = key->v[i] & memo->mask.v[i];
    return out;
}

RhBoundKey rh_bound_shard_key(RhBoundCache *s, const RhLayout *l)
{
    RhBoundKey key = rh_bound_key(s, l);
    return masked(&s->shards, &key);
}

static bool is_at(const RhBoundMemo *memo, int place, const RhBoundKey *wanted)
{
    int32_t differs = 0;
    for (int i = 0; i < RH_BOUND_KEY_INTS; i++)
        differs |= (wanted->v[i] & memo->mask.v[i]) ^ memo->last[place].key->v[i];
    return differs == 0;
}

static void *at_once(RhBoundMemo *memo, const RhBoundKey *key, void *value)
{
    memo->last[1] = memo->last[0];
    memo->last[0].key = key;
    return memo->last[0].value = value;
}

/* Returns the value, or NULL. Neighbours in the space share most of their tables or differ in a
 * knob of two values: the last two that were asked for are tried first. */
static void *memo_get(RhBoundMemo *memo, const RhBoundKey *wanted)
{
    void *key, *value;
    for (int place = 0; place < 2; place++)
        if (memo->last[place].key && is_at(memo, place, wanted))
            return place == 0 ? memo->last[0].value
                              : at_once(memo, memo->last[1].key, memo->last[1].value);
    RhBoundKey own = masked(memo, wanted);
    if (!g_hash_table_lookup_extended(memo->table, &own, &key, &value))
        return NULL;
    return at_once(memo, key, value);
}

static void *memo_add(RhBoundMemo *memo, const RhBoundKey *wanted, void *value)
{
    RhBoundKey own = masked(memo, wanted), *key = g_memdup2(&own, sizeof own);
    g_hash_table_insert(memo->table, key, value);
    return at_once(memo, key, value);
}

/* --- shards --- */

static void shard_free(void *data)
{
    RhShardCost *s = data;
    g_clear_pointer(&s->times, g_hash_table_destroy);
    g_clear_pointer(&s->chunk_times, g_hash_table_destroy);
    g_clear_pointer(&s->spans, g_hash_table_destroy);
    g_clear_pointer(&s->messages, g_hash_table_destroy);
    g_clear_pointer(&s->sent, g_hash_table_destroy);
    g_clear_pointer(&s->shares, g_hash_table_destroy);
    g_clear_pointer(&s->sums, g_hash_table_destroy);
    g_ptr_array_unref(s->chunk_memory);
    g_hash_table_destroy(s->rooms);
    rh_layer_ops_free(s->items_);
    rh_model_cost_free(s->model_cost);
    g_free(s);
}

static void times_free(void *data)
{
    RhLayerTimes *times = data;
    g_clear_pointer(&times->own, g_array_unref);
    g_clear_pointer(&times->task_s, g_hash_table_destroy);
    g_clear_pointer(&times->pair_s, g_hash_table_destroy);
    g_clear_pointer(&times->trails, g_ptr_array_unref);
    g_free(times);
}

guint rh_pair_hash(const void *data)
{
    return (guint)rh_hash_words(data, 2 * sizeof(int32_t));
}

gboolean rh_pair_equal(const void *a, const void *b)
{
    return memcmp(a, b, 2 * sizeof(int32_t)) == 0;
}

static void spans_free(void *data)
{
    RhChunkTimeTable *s = data;
    rh_profile_costs_free(s->prices);
    g_free(s->pair_s);
}

static RhShardCost *shard_new(const RhProblem *c, const RhLayout *layout, int32_t id)
{
    RhShardCost *s = g_new0(RhShardCost, 1);
    s->id = id;
    s->layout = *layout;
    s->model_cost = rh_model_cost_sized_new(c, layout);
    s->layer_states = rh_bound_layer_states(s->model_cost, layout);
    s->chunk_memory = g_ptr_array_new_with_free_func(g_free);
    s->rooms = g_hash_table_new(g_direct_hash, g_direct_equal);
    return s;
}

void rh_shard_add_tables(RhShardCost *s)
{
    s->chunk_times = g_hash_table_new(rh_pair_hash, rh_pair_equal);
    s->times = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, times_free);
    s->spans = g_hash_table_new_full(rh_pair_hash, rh_pair_equal, NULL, spans_free);
    s->messages = g_hash_table_new(g_direct_hash, g_direct_equal);
    s->sent = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    s->shares = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    s->sums =
        g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, rh_gradient_interference_free);
}

static RhShardCost *shard_of(RhBoundCache *s, const RhLayout *l, RhBoundKey *key)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    bool some = l->recomputed_layers_count != 0; /* which layers are recomputed, splits say */
    key->v[RH_BOUND_KEY_GIVEN] = 16 * some + 8 * schedule->crosses + 4 * schedule->pairs +
                                 2 * schedule->turns + schedule->splits_backward;
    void *found = memo_get(&s->shards, key);
    return found ? found : memo_add(&s->shards, key, shard_new(s->c, l, s->shards_made++));
}

RhShardCost *rh_bound_shard(RhBoundCache *s, const RhLayout *l)
{
    RhBoundKey key = rh_bound_key(s, l);
    return shard_of(s, l, &key);
}

const RhLayerOps *rh_bound_passes(RhShardCost *shard)
{
    if (!shard->items_) {
        rh_model_cost_add_kernels(shard->model_cost);
        shard->items_ = rh_layer_ops_of_passes(&shard->layout, shard->model_cost);
    }
    return shard->items_;
}

const RhLayerOps *rh_bound_layer_ops(RhShardCost *shard)
{
    rh_bound_passes(shard);
    rh_layer_ops_add_pairs(shard->items_, &shard->layout, shard->model_cost);
    return shard->items_;
}

/* --- splits and shapes --- */

/* Returns the id of a chunk's content; chunks of one content hold layers of the same kinds in the
 * same order. What a tied head owns depends on whether its stage has the embedding too: the content
 * or the shard says so. */
static int32_t content_of(RhBoundCache *s, const RhChunkLayers *items)
{
    const RhModel *model = s->c->model;
    g_autofree uint8_t *kinds = g_new(uint8_t, items->count + 2);
    kinds[0] = items->embedding;
    kinds[1] = items->head;
    for (int32_t i = 0; i < items->count; i++)
        kinds[2 + i] = (uint8_t)rh_chunk_layer(model, items, i);
    GBytes *key = g_bytes_new(kinds, (gsize)items->count + 2);
    int32_t found = GPOINTER_TO_INT(g_hash_table_lookup(s->content_of, key));
    if (found > 0) {
        g_bytes_unref(key);
        return found - 1;
    }
    g_hash_table_insert(s->content_of, key, GINT_TO_POINTER(s->contents->len + 1));
    g_array_append_vals(s->contents, items, 1);
    return (int32_t)s->contents->len - 1;
}

static RhSplit *split_new(RhBoundCache *cache, const RhLayout *l)
{
    const RhProblem *c = cache->c;
    RhSplit *s = g_new0(RhSplit, 1);
    s->id = (int32_t)g_hash_table_size(cache->splits.table);
    s->chunks = l->pp * l->vpp;
    s->layers = g_new0(int32_t, s->chunks);
    s->kinds = g_malloc0((size_t)s->chunks * sizeof(*s->kinds));
    s->content = g_new(int32_t, s->chunks);
    g_autofree RhChunkLayers *all = rh_chunk_layers_new(c, l);
    for (int32_t g = 0; g < s->chunks; g++) {
        s->layers[g] = all[g].count;
        s->content[g] = content_of(cache, &all[g]);
        for (int32_t i = 0; i < all[g].count; i++)
            s->kinds[g][rh_chunk_layer(c->model, &all[g], i)]++;
    }
    return s;
}

static void split_free(void *data)
{
    RhSplit *s = data;
    g_free(s->layers);
    g_free(s->kinds);
    g_free(s->content);
    g_free(s);
}

static const RhSplit *split_of(RhBoundCache *s, const RhLayout *l, RhBoundKey *key)
{
    key->v[RH_BOUND_KEY_GIVEN] = rh_pipeline_kind_copies(l->schedule);
    void *found = memo_get(&s->splits, key);
    return found ? found : memo_add(&s->splits, key, split_new(s, l));
}

const RhSplit *rh_bound_split(RhBoundCache *s, const RhLayout *l)
{
    RhBoundKey key = rh_bound_key(s, l);
    return split_of(s, l, &key);
}

static const RhPipelineProfile *shape_of(RhBoundCache *s, const RhLayout *l, RhBoundKey *key)
{
    int32_t m = key->v[RH_BOUND_KEY_GIVEN] = (int32_t)rh_train_microbatches(s->c, l);
    void *found = memo_get(&s->shapes, key);
    return found ? found
                 : memo_add(&s->shapes, key,
                            rh_pipeline_profile_new(rh_pipeline_of(l), l->pp, l->vpp, m,
                                                    s->c->stack->frees_gradients));
}

const RhPipelineProfile *rh_bound_pipeline_profile(RhBoundCache *s, const RhLayout *l)
{
    RhBoundKey key = rh_bound_key(s, l);
    return shape_of(s, l, &key);
}

/* --- nets and flows --- */

static const RhGroupNetwork *net_of(RhBoundCache *s, const RhLayout *l, RhBoundKey *key)
{
    key->v[RH_BOUND_KEY_GIVEN] = rh_pipeline_kind_copies(l->schedule);
    void *found = memo_get(&s->nets, key);
    return found ? found : memo_add(&s->nets, key, rh_group_network_new(s, l));
}

const RhGroupNetwork *rh_bound_network(RhBoundCache *s, const RhLayout *l)
{
    RhBoundKey key = rh_bound_key(s, l);
    return net_of(s, l, &key);
}

/* Most communication steps, of all stage programs, that are stored: a search rarely comes back to older ones. */
#define FLOWS_STEPS_MAX 1000000

static void forget_flows(RhBoundCache *s)
{
    GHashTableIter sets;
    void *set;
    g_hash_table_iter_init(&sets, s->flows.table);
    while (g_hash_table_iter_next(&sets, NULL, &set))
        rh_comm_steps_forget(set);
    s->flows_steps = 0;
}

static const RhCommStepSet *flows_of(RhBoundCache *s, const RhLayout *l, RhBoundKey *key)
{
    bool one = rh_train_microbatches(s->c, l) == 1;
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    /* activations that travel are as large as the shard says, else only parameters do */
    bool travel = rh_train_copies(l) || rh_train_scatters(s->c, l);
    int32_t activations = travel ? 1 + shard_of(s, l, key)->id : 0;
    key->v[RH_BOUND_KEY_GIVEN] = 16 * activations + 8 * schedule->crosses + 4 * schedule->turns +
                                 2 * schedule->splits_backward + one;
    RhCommStepSet *set = memo_get(&s->flows, key);
    if (!set)
        set = memo_add(&s->flows, key, g_new0(RhCommStepSet, 1));
    if (!set->of_stage) {
        if (s->flows_steps > FLOWS_STEPS_MAX)
            forget_flows(s);
        rh_comm_steps_fill(s, set, l);
        s->flows_steps += set->steps;
    }
    return set;
}

const RhCommStepSet *rh_bound_comm_step_set(RhBoundCache *s, const RhLayout *l)
{
    RhBoundKey key = rh_bound_key(s, l);
    return flows_of(s, l, &key);
}

RhCommSteps *const *rh_bound_comm_steps(RhBoundCache *s, const RhLayout *l)
{
    return rh_bound_comm_step_set(s, l)->of_stage;
}

const RhStageCommTime *rh_bound_layer_comm(RhBoundCache *s, const RhLayout *l)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    bool one = rh_train_microbatches(s->c, l) == 1;
    RhBoundKey key = rh_bound_key(s, l);
    key.v[RH_BOUND_KEY_GIVEN] = 16 * l->pp + 8 * schedule->crosses + 4 * schedule->turns +
                                2 * schedule->splits_backward + one;
    RhStageCommTime *found = memo_get(&s->layer_comm, &key);
    return found ? found : memo_add(&s->layer_comm, &key, rh_layer_comm_new(s, l));
}

/* --- what a bound reads --- */

RhTables rh_bound_tables(RhBoundCache *s, const RhLayout *l)
{
    RhBoundKey key = rh_bound_key(s, l);
    RhTables t = {
        .shard = shard_of(s, l, &key), .profile = shape_of(s, l, &key), .net = net_of(s, l, &key)};
    t.spans = rh_bound_chunk_times(s, t.shard, split_of(s, l, &key), t.net);
    t.prices = rh_bound_profile_costs(s, t.spans, t.profile);
    return t;
}

/* --- what is forgotten --- */

/* Most shards that are stored. Their layers take most of a bound cache; a search rarely comes back to older cuts. */
#define SHARDS_MAX 100

static void drop_shards(RhBoundCache *s)
{
    rh_bound_forget_fold(s); /* reads what follows */
    g_hash_table_remove_all(s->flows.table);
    s->flows_steps = 0;
    g_hash_table_remove_all(s->shards.table);
    RhBoundMemo *memos[] = {&s->flows, &s->shards};
    for (size_t i = 0; i < G_N_ELEMENTS(memos); i++)
        memset(memos[i]->last, 0, sizeof memos[i]->last);
    memset(&s->spans_last, 0, sizeof s->spans_last);
    rh_arena_clear(s->rooms);
    s->rooms_bytes = 0;
    rh_arena_clear(s->tables);
}

void rh_bound_forget_shards(RhBoundCache *s)
{
    if (g_hash_table_size(s->shards.table) > SHARDS_MAX)
        drop_shards(s);
}

RhCachedWork *rh_bound_known_work(RhBoundCache *s, const RhLayout *l, int32_t placement)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    RhBoundKey key = rh_bound_key(s, l);
    key.v[RH_BOUND_KEY_GIVEN] = 4 * placement + 2 * schedule->pairs + schedule->splits_backward;
    RhCachedWork *known = memo_get(&s->works, &key);
    return known ? known : memo_add(&s->works, &key, g_new0(RhCachedWork, 1));
}

double rh_bound_tasks(RhBoundCache *s, const RhLayout *l)
{
    if (rh_stages_unequal(l))
        return rh_train_tasks(s->c, l);
    RhShardCost *shard = rh_bound_shard(s, l);
    RhCommSteps *const *flows = rh_bound_comm_steps(s, l);
    double sum = 0;
    for (int32_t stage = 0; stage < l->pp; stage++)
        sum += rh_stage_program_tasks(flows[stage]->stage_program, rh_bound_layer_ops(shard),
                                      rh_train_microbatches(s->c, l));
    return sum;
}

/* --- the bound cache --- */

static guint collective_hash(const void *data)
{
    return (guint)rh_hash_words(data, sizeof(RhCollectiveKey));
}

static gboolean collective_equal(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(RhCollectiveKey)) == 0;
}

static void count_sms(RhBoundCache *s)
{
    s->sms_least = s->sms_most = s->c->platform->device->sms_count;
    for (int32_t i = 0; i < rh_platform_devices_count(s->c->platform); i++) {
        int32_t sms = rh_platform_device(s->c->platform, i)->sms_count;
        s->sms_least = MIN(s->sms_least, sms);
        s->sms_most = MAX(s->sms_most, sms);
    }
    s->held_frac = 1 - rh_bound_sms_left_frac(s, 1);
}

/* Returns the problem with all links at full rate. Blocks are taken to be alike where they lie
 * alike, which a link of another rate undoes: such links are taken to be as quick as all others,
 * which is still a bound. Where ranks talk in messages bounds are estimates, of all links. */
static const RhProblem *even_case(RhBoundCache *s)
{
    const RhPlatform *p = s->asked->platform, *evened = s->evened.platform;
    if (p->link_changes->len == 0 || p->messages.sender != RH_SHARING_NONE)
        return s->asked;
    s->evened = *s->asked;
    s->evened.platform = evened ? evened : rh_platform_evened(p);
    return &s->evened;
}

static void set_problem(RhBoundCache *s, const RhProblem *c)
{
    s->asked = c;
    s->made_for = *c;
    s->c = even_case(s);
    s->sites = rh_algorithm_sites_new(c);
}

RhBoundCache *rh_bound_new(const RhProblem *c)
{
    RhBoundCache *s = g_new0(RhBoundCache, 1);
    set_problem(s, c);
    s->tables = rh_arena_new();
    s->rooms = rh_arena_new();
    count_sms(s);
    memo_init(&s->shards, RH_COMMON_ITEMS, shard_free);
    memo_init(&s->works, RH_COMMON_ITEMS, rh_known_work_free);
    memo_init(&s->splits, RH_COMMON_SPLIT, split_free);
    memo_init(&s->shapes, RH_COMMON_SHAPE, (GDestroyNotify)rh_pipeline_profile_free);
    memo_init(&s->nets, RH_COMMON_NET, rh_group_network_free);
    memo_init(&s->flows, RH_COMMON_SCRIPTS, rh_comm_steps_free);
    memo_init(&s->layer_comm, RH_COMMON_SCRIPTS, g_free);
    for (int i = 0; i < RH_BOUND_KEY_GIVEN; i++)
        if (!(rh_knobs[i].keeps & RH_COMMON_SPLIT))
            s->layer_comm.mask.v[i] = 0;
    s->placements = g_ptr_array_new_with_free_func(rh_placement_free);
    s->placement_of = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    s->content_of =
        g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
    s->contents = g_array_new(FALSE, FALSE, sizeof(RhChunkLayers));
    s->lists = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    s->collectives = g_hash_table_new_full(collective_hash, collective_equal, g_free, g_free);
    s->tallies = g_hash_table_new_full(collective_hash, collective_equal, g_free,
                                       (GDestroyNotify)rh_step_pattern_tally_free);
    s->group_sets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, rh_stage_groups_free);
    s->algorithms = g_hash_table_new_full(collective_hash, collective_equal, g_free, NULL);
    s->loads = g_hash_table_new_full(collective_hash, collective_equal, g_free,
                                     (GDestroyNotify)g_array_unref);
    s->sent = g_hash_table_new_full(collective_hash, collective_equal, g_free, g_free);
    s->alone = rh_uncontended_times_new(s->c->platform);
    s->folded = rh_fold_cache_new();
    s->pair_orders =
        g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref,
                              (GDestroyNotify)rh_pair_orders_free);
    s->messages =
        g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, g_free);
    return s;
}

void rh_bound_end_batch(RhBoundCache *s)
{
    drop_shards(s);
    g_hash_table_remove_all(s->layer_comm.table);
    memset(&s->layer_comm.last, 0, sizeof s->layer_comm.last);
    g_hash_table_remove_all(s->messages);
    memset(&s->memory_last, 0, sizeof s->memory_last);
    g_clear_pointer(&s->sites, rh_algorithm_sites_free);
    s->deadline = (RhDeadline){0};
}

RhBoundCache *rh_bound_for_batch(RhBoundCache *kept, const RhProblem *c)
{
    RhProblem same = kept ? kept->made_for : *c;
    same.job.global_batch = c->job.global_batch;
    if (!kept || memcmp(&same, c, sizeof same) != 0) {
        rh_bound_free(kept);
        return rh_bound_new(c);
    }
    set_problem(kept, c);
    return kept;
}

void rh_bound_free(RhBoundCache *s)
{
    if (!s)
        return;
    rh_bound_forget_fold(s); /* before what it reads */
    RhBoundMemo *memos[] = {&s->flows, &s->nets,   &s->shapes,    &s->splits,
                            &s->works, &s->shards, &s->layer_comm};
    for (size_t i = 0; i < G_N_ELEMENTS(memos); i++)
        g_hash_table_destroy(memos[i]->table);
    g_ptr_array_unref(s->placements);
    g_ptr_array_unref(s->lists);
    g_hash_table_destroy(s->content_of);
    g_array_unref(s->contents);
    g_hash_table_destroy(s->placement_of);
    g_hash_table_destroy(s->collectives);
    g_hash_table_destroy(s->tallies);
    g_hash_table_destroy(s->group_sets);
    g_hash_table_destroy(s->algorithms);
    rh_algorithm_sites_free(s->sites);
    g_hash_table_destroy(s->loads);
    g_hash_table_destroy(s->sent);
    g_hash_table_destroy(s->messages);
    g_hash_table_destroy(s->pair_orders);
    g_free(s->ample);
    rh_arena_free(s->tables);
    rh_arena_free(s->rooms);
    rh_uncontended_times_free(s->alone);
    rh_fold_cache_free(s->folded);
    rh_platform_free((RhPlatform *)(uintptr_t)s->evened.platform);
    g_free(s);
}
