/* Which sets of recomputed modules change the order in which the two halves of a pair run.
 *
 * A half of a pair goes on while the other waits (train/overlap_interleaving.c), so a kernel that is run again may let the
 * other half go first, and all behind it run in another order: then a pair with more kernels may take less time. In
 * one order more tasks never do. A set *keeps* the order of a smaller one where each task of the smaller set's list
 * has an image in the larger set's: tasks of the same calls of the builder, at least as long, which follow one another
 * on their lanes as they did, wait for the images of all that they waited for, directly or through others, and are
 * waited for by what comes behind. By induction over the list no image ends before its task, whatever the state of the
 * stage is. So the least over a few sets, such that the layers of every set keep the order of one of them, is a bound
 * of all. */
#include <string.h>

#include "strategies/search/bounds/bound_cache.h"

/* Most tasks of a pair, and sets with orders of their own, that are looked at: else nothing is claimed. */
#define TASKS_MAX 256
#define WORDS     (TASKS_MAX / 64)
#define SETS_MAX  8

/* The tasks that have surely ended before a task starts: those of its list, and the inputs of either
 * half. */
typedef struct {
    uint64_t tasks[WORDS];
    bool entry[2];
} Ended;

typedef struct {
    const RhLayerPassPair *pair;
    Ended before[TASKS_MAX];
} Order;

/* First and last task that the calls of a task add to in another list; -1: none. */
typedef struct {
    int32_t first, last;
} Image;

static const RhLayerOp *task_of(const RhLayerPassPair *pair, int32_t i)
{
    return &g_array_index(pair->tasks, RhLayerOp, i);
}

static int32_t tasks_count(const RhLayerPassPair *pair)
{
    return (int32_t)pair->tasks->len;
}

static bool has(const Ended *ended, int32_t task)
{
    return ended->tasks[task / 64] >> (task % 64) & 1;
}

/* Adds a task and all that has ended before it. */
static void add(Ended *ended, const Order *order, int32_t task)
{
    for (int w = 0; w < WORDS; w++)
        ended->tasks[w] |= order->before[task].tasks[w];
    for (int half = 0; half < 2; half++)
        ended->entry[half] |= order->before[task].entry[half];
    ended->tasks[task / 64] |= UINT64_C(1) << (task % 64);
}

static void fill(Order *order, const RhLayerPassPair *pair)
{
    int32_t last[RH_LANE_LAST];
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        last[lane] = -1;
    order->pair = pair;
    for (int32_t i = 0; i < tasks_count(pair); i++) {
        const RhLayerOp *task = task_of(pair, i);
        Ended *before = &order->before[i];
        memset(before, 0, sizeof *before);
        if (last[task->lane] >= 0)
            add(before, order, last[task->lane]);
        for (int32_t k = 0; k < task->after_count; k++)
            if (task->after[k] == RH_LAYER_OP_ENTRY)
                before->entry[task->half] = true;
            else
                add(before, order, task->after[k]);
        last[task->lane] = i;
    }
}

/* --- images --- */

static int32_t with_call(const RhLayerPassPair *pair, int32_t half, int32_t call)
{
    for (int32_t i = 0; i < tasks_count(pair); i++) {
        const RhLayerOp *task = task_of(pair, i);
        if (task->half == half && task->first_call <= call && call <= task->last_call)
            return i;
    }
    return -1;
}

static bool is_as_long(const RhLayerOp *task, const RhLayerOp *image)
{
    return task->lane == image->lane && task->op == image->op && task->group == image->group &&
           task->bytes <= image->bytes && strcmp(task->label, image->label) == 0 &&
           memcmp(&task->routing, &image->routing, sizeof task->routing) == 0;
}

/* Kernels of the image's half from its first task to its last. */
static double kernels_s(const RhLayerPassPair *pair, int32_t half, Image image)
{
    double sum = 0;
    for (int32_t i = image.first; i <= image.last; i++)
        if (task_of(pair, i)->half == half && task_of(pair, i)->lane == RH_LANE_COMPUTE)
            sum += rh_task_kernels_s(task_of(pair, i));
    return sum;
}

static bool find_image(const RhLayerPassPair *pair, const RhLayerOp *task, Image *out)
{
    *out = (Image){with_call(pair, task->half, task->first_call),
                   with_call(pair, task->half, task->last_call)};
    if (out->first < 0 || out->last < out->first)
        return false;
    if (!is_as_long(task, task_of(pair, out->first)) || !is_as_long(task, task_of(pair, out->last)))
        return false;
    return task->lane != RH_LANE_COMPUTE ||
           rh_task_kernels_s(task) <= kernels_s(pair, task->half, *out) * (1 + 1e-12);
}

/* Do the images follow one another as the tasks do? */
static bool waits_as_well(const Order *small, const Order *large, const Image *images, int32_t i,
                          int32_t before_on_lane)
{
    const RhLayerOp *task = task_of(small->pair, i);
    const Ended *before = &large->before[images[i].first];
    if (before_on_lane >= 0 && images[before_on_lane].last >= images[i].first)
        return false;
    for (int32_t k = 0; k < task->after_count; k++)
        if (task->after[k] == RH_LAYER_OP_ENTRY ? !before->entry[task->half]
                                                : !has(before, images[task->after[k]].last))
            return false;
    return true;
}

/* Does what comes behind the half wait for the images of all that it waited for? */
static bool leaves_as_well(const Order *small, const Order *large, const Image *images, int half)
{
    Ended left = {{0}, {false, false}};
    for (int32_t k = 0; k < large->pair->half[half].left_count; k++)
        if (large->pair->half[half].left[k] == RH_LAYER_OP_ENTRY)
            left.entry[half] = true;
        else
            add(&left, large, large->pair->half[half].left[k]);
    for (int32_t k = 0; k < small->pair->half[half].left_count; k++) {
        int32_t task = small->pair->half[half].left[k];
        if (task == RH_LAYER_OP_ENTRY ? !left.entry[half] : !has(&left, images[task].last))
            return false;
    }
    return true;
}

static bool keeps(const Order *small, const Order *large)
{
    Image images[TASKS_MAX];
    int32_t last[RH_LANE_LAST];
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        last[lane] = -1;
    for (int half = 0; half < 2; half++)
        if (small->pair->half[half].calls != large->pair->half[half].calls)
            return false;
    for (int32_t i = 0; i < tasks_count(small->pair); i++) {
        const RhLayerOp *task = task_of(small->pair, i);
        if (!find_image(large->pair, task, &images[i]) ||
            !waits_as_well(small, large, images, i, last[task->lane]))
            return false;
        last[task->lane] = i;
    }
    return leaves_as_well(small, large, images, 0) && leaves_as_well(small, large, images, 1);
}

bool rh_pair_keeps_order(const RhLayerPassPair *small, const RhLayerPassPair *large)
{
    if (tasks_count(small) > TASKS_MAX || tasks_count(large) > TASKS_MAX)
        return false;
    Order *orders = g_new(Order, 2);
    fill(&orders[0], small);
    fill(&orders[1], large);
    bool kept = keeps(&orders[0], &orders[1]);
    g_free(orders);
    return kept;
}

/* --- sets of modules --- */

/* A set, and the tasks of its layers. */
typedef struct {
    RhRecompute recompute;
    RhModelCost *model_cost;
    RhLayerOps *items;
} Set;

static void set_clear(void *data)
{
    Set *set = data;
    rh_layer_ops_free(set->items);
    rh_model_cost_free(set->model_cost);
}

static Set set_of(RhBoundCache *cache, const RhLayout *plain, uint32_t modules)
{
    RhLayout l = *plain;
    Set set = {.recompute = l.recompute = (RhRecompute)modules};
    set.model_cost = rh_model_cost_new(cache->c, &l);
    set.items = rh_layer_ops_new(&l, set.model_cost);
    return set;
}

/* Do layers of these kinds keep the order of one of the sets that are a part of this one? */
static bool keeps_one(const GArray *sets, const Set *large, int forward, int backward)
{
    const RhLayerPassPair *pair = &large->items->pair[forward][backward];
    bool kept = !pair->tasks;
    for (guint i = 0; i < sets->len && !kept; i++) {
        const Set *small = &g_array_index(sets, Set, i);
        kept = ((uint32_t)small->recompute & ~(uint32_t)large->recompute) == 0 &&
               rh_pair_keeps_order(&small->items->pair[forward][backward], pair);
    }
    return kept;
}

static bool keeps_orders(const GArray *sets, const Set *large)
{
    int32_t kinds = large->items->pairs_count;
    for (int i = 0; i < kinds * kinds; i++)
        if (!keeps_one(sets, large, i / kinds, i % kinds))
            return false;
    return true;
}

/* Is the set one that a layout may have, and no other's twin? */
static bool is_choice(const RhBoundCache *cache, const RhLayout *plain, uint32_t modules)
{
    RhLayout l = *plain;
    l.recompute = (RhRecompute)modules;
    bool whole = modules & (uint32_t)RH_RECOMPUTE_FULL;
    return (!whole || modules == RH_RECOMPUTE_FULL) &&
           (!rh_train_legal(cache->c, plain, NULL) || rh_train_legal(cache->c, &l, NULL)) &&
           rh_train_is_canonical(cache->c, &l, UINT64_C(1) << (rh_knob_recompute() - rh_knobs));
}

/* Parts of a set come before it: they are smaller numbers. */
static GArray *sets_new(RhBoundCache *cache, const RhLayout *plain, uint32_t modules)
{
    g_autoptr(GArray) sets = g_array_new(FALSE, FALSE, sizeof(Set));
    g_array_set_clear_func(sets, set_clear);
    GArray *found = g_array_new(FALSE, FALSE, sizeof(RhRecompute));
    for (uint32_t some = 0; some <= modules && sets->len <= SETS_MAX; some++) {
        if ((some & ~modules) != 0 || (some != 0 && !is_choice(cache, plain, some)))
            continue;
        Set set = set_of(cache, plain, some);
        if (keeps_orders(sets, &set)) {
            set_clear(&set);
            continue;
        }
        g_array_append_val(sets, set);
        g_array_append_val(found, set.recompute);
    }
    if (found->len > SETS_MAX)
        g_array_set_size(found, 0);
    return found;
}

/* --- layers with the same tasks --- */

static void add_words(GByteArray *key, const int32_t *words, size_t count)
{
    g_byte_array_append(key, (const guint8 *)words, (guint)(count * sizeof *words));
}

static void add_list(GByteArray *key, const RhLayerPassPair *pair)
{
    for (guint i = 0; pair->tasks && i < pair->tasks->len; i++) {
        const RhLayerOp *task = task_of(pair, (int32_t)i);
        const int32_t words[] = {(int32_t)task->lane,  (int32_t)task->op, (int32_t)task->group,
                                 task->half,           task->first_call,  task->last_call,
                                 (int32_t)task->phase, task->after_count};
        add_words(key, words, G_N_ELEMENTS(words));
        add_words(key, task->after, (size_t)task->after_count);
    }
    for (int half = 0; half < 2; half++) {
        add_words(key, &pair->half[half].calls, 1);
        add_words(key, pair->half[half].left, (size_t)pair->half[half].left_count);
    }
}

/* The tasks of the pairs, without how long they take: of how many ranks there are, and how many tokens, no more shows
 * in the tasks of other sets than in these. */
static GBytes *key_new(const RhLayout *plain, const RhLayerOps *items, uint32_t modules)
{
    GByteArray *key = g_byte_array_new();
    const int32_t words[] = {(int32_t)modules, (int32_t)plain->overlap, items->pairs_count};
    add_words(key, words, G_N_ELEMENTS(words));
    for (int i = 0; i < items->pairs_count * items->pairs_count; i++)
        add_list(key, &items->pair[i / items->pairs_count][i % items->pairs_count]);
    return g_byte_array_free_to_bytes(key);
}

/* --- found once for each list of tasks --- */

struct RhPairOrders {
    uint32_t modules;
    GArray *sets;     /* RhRecompute, of these modules */
    GHashTable *kept; /* two sets, the smaller in the high half -> whether its order is kept */
};

void rh_pair_orders_free(RhPairOrders *orders)
{
    g_array_unref(orders->sets);
    g_hash_table_destroy(orders->kept);
    g_free(orders);
}

static RhPairOrders *orders_of(RhBoundCache *cache, RhShardCost *plain, uint32_t modules)
{
    if (plain->pair_orders && plain->pair_orders->modules == modules)
        return plain->pair_orders;
    GBytes *key = key_new(&plain->layout, rh_bound_layer_ops(plain), modules);
    RhPairOrders *found = g_hash_table_lookup(cache->pair_orders, key);
    if (found) {
        g_bytes_unref(key);
    } else {
        found = g_new(RhPairOrders, 1);
        *found = (RhPairOrders){modules, sets_new(cache, &plain->layout, modules),
                                g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL)};
        g_hash_table_insert(cache->pair_orders, key, found);
    }
    return plain->pair_orders = found;
}

const GArray *rh_bound_pair_orders(RhBoundCache *cache, RhShardCost *plain, uint32_t modules)
{
    return orders_of(cache, plain, modules)->sets;
}

static bool keeps_order_of(RhBoundCache *cache, const RhLayout *plain, RhRecompute small,
                           RhRecompute large)
{
    g_autoptr(GArray) one = g_array_new(FALSE, FALSE, sizeof(Set));
    g_array_set_clear_func(one, set_clear);
    Set set = set_of(cache, plain, (uint32_t)small), more = set_of(cache, plain, (uint32_t)large);
    g_array_append_val(one, set);
    bool kept = keeps_orders(one, &more);
    set_clear(&more);
    return kept;
}

bool rh_bound_pair_keeps_order(RhBoundCache *cache, RhShardCost *plain, uint32_t modules,
                               RhRecompute small, RhRecompute large)
{
    RhPairOrders *orders = orders_of(cache, plain, modules);
    int64_t key = (int64_t)small << 32 | (int64_t)(uint32_t)large;
    void *kept;
    if (!g_hash_table_lookup_extended(orders->kept, &key, NULL, &kept)) {
        kept = GINT_TO_POINTER(keeps_order_of(cache, &plain->layout, small, large));
        g_hash_table_insert(orders->kept, g_memdup2(&key, sizeof key), kept);
    }
    return GPOINTER_TO_INT(kept) != 0;
}
