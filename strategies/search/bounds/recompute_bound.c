/* How little time recomputation may cost, so that a layout keeps within its memory.
 *
 * At the fullest stage, some share of what micro-batches in flight keep must go. Each module that may be recomputed
 * frees a part of what a layer keeps and costs seconds of it, and so do whole layers, as many as one likes: a knapsack,
 * whose relaxation (parts of modules may be recomputed, those that free the most for a second first) is a lower bound
 * of every choice. AdaPipe (Sun et al., ASPLOS 2024) solves the knapsack itself for each stage. */
#include <math.h>
#include <stdlib.h>

#include "strategies/search/bounds/recompute_bound.h"
#include "strategies/train/layout_representatives.h"
#include "strategies/train/program/layer_ops.h"

/* Cost of recomputing a module of one layer: the part of what the layer keeps that is freed, and
 * the seconds that this takes, at the least. */
typedef struct {
    double freed_frac, seconds;
} Cost;

#define MODULES_MAX 32

struct RhRecomputeCosts {
    struct RhRecomputeCosts *next; /* of other modules */
    uint32_t modules;
    int32_t count;
    Cost of[MODULES_MAX]; /* the least seconds for what it frees first */
    Cost whole;           /* of the layer, which is among them */
};

static double kept_bytes(RhBoundCache *cache, const RhLayout *l, int kind)
{
    return rh_layer_bytes(rh_bound_shard(cache, l)->model_cost, kind).kept;
}

/* Returns a module's cost at its best: the part that it frees of the kind of layers where it frees
 * most, and the seconds of the kind where that takes least. */
static Cost cost_of(RhBoundCache *cache, const RhLayout *plain, uint32_t recompute)
{
    const RhGroupNetwork *net = rh_bound_network(cache, plain);
    Cost cost = {0, (double)INFINITY};
    RhLayout again = *plain;
    again.recompute = (RhRecompute)recompute;
    for (int kind = 0; kind < cache->c->model->kinds_count; kind++) {
        double all = kept_bytes(cache, plain, kind);
        double freed_frac = all > 0 ? 1 - kept_bytes(cache, &again, kind) / all : 0;
        if (freed_frac <= 0)
            continue;
        double more_s = rh_bound_layer_work(cache, &again, net, 0, kind).all_s -
                        rh_bound_layer_work(cache, plain, net, 0, kind).all_s;
        cost.freed_frac = fmax(cost.freed_frac, freed_frac);
        cost.seconds = fmin(cost.seconds, fmax(0, more_s));
    }
    return cost;
}

static int by_worth(const void *x, const void *y)
{
    const Cost *a = x, *b = y;
    double left = a->seconds * b->freed_frac, right = b->seconds * a->freed_frac;
    return (left > right) - (left < right);
}

/* Adjusts costs for modules that are recomputed together: they may free more, or take less, than
 * one by one, and each is taken to be as much better. */
static void allow_for_sums(RhBoundCache *cache, const RhLayout *plain, uint32_t modules,
                           struct RhRecomputeCosts *costs)
{
    Cost all = cost_of(cache, plain, modules);
    double freed_frac = 0, seconds = 0;
    for (int32_t i = 0; i < costs->count; i++) {
        freed_frac += costs->of[i].freed_frac;
        seconds += costs->of[i].seconds;
    }
    double more = freed_frac > 0 ? fmax(1, all.freed_frac / freed_frac) : 1;
    double less = seconds > 0 ? fmin(1, all.seconds / seconds) : 1;
    for (int32_t i = 0; i < costs->count; i++) {
        costs->of[i].freed_frac *= more;
        costs->of[i].seconds *= less;
    }
}

static struct RhRecomputeCosts *costs_new(RhBoundCache *cache, const RhLayout *plain,
                                          uint32_t modules)
{
    struct RhRecomputeCosts *costs = g_new0(struct RhRecomputeCosts, 1);
    uint32_t parts = modules & ~(uint32_t)RH_RECOMPUTE_FULL;
    costs->modules = modules;
    for (int bit = 0; rh_recompute_modules[bit] && bit < MODULES_MAX - 1; bit++) {
        Cost cost = parts >> bit & 1 ? cost_of(cache, plain, 1u << bit) : (Cost){0};
        if (cost.freed_frac > 0)
            costs->of[costs->count++] = cost;
    }
    if (parts)
        allow_for_sums(cache, plain, parts, costs);
    costs->whole = cost_of(cache, plain, RH_RECOMPUTE_FULL);
    if (modules & RH_RECOMPUTE_FULL)
        costs->of[costs->count++] = costs->whole;
    qsort(costs->of, (size_t)costs->count, sizeof *costs->of, by_worth);
    return costs;
}

void rh_known_work_free(void *data)
{
    RhCachedWork *known = data;
    while (known->costs) {
        struct RhRecomputeCosts *first = known->costs;
        known->costs = first->next;
        g_free(first);
    }
    g_clear_pointer(&known->open_pair_s, g_hash_table_destroy);
    g_free(known);
}

static const struct RhRecomputeCosts *known_costs(RhBoundCache *cache, const RhLayout *plain,
                                                  uint32_t modules)
{
    const RhGroupNetwork *net = rh_bound_network(cache, plain);
    RhCachedWork *known = rh_bound_known_work(cache, plain, net->placement[0]->id);
    struct RhRecomputeCosts *costs = known->costs;
    while (costs && costs->modules != modules)
        costs = costs->next;
    if (!costs) {
        costs = costs_new(cache, plain, modules);
        costs->next = known->costs;
        known->costs = costs;
    }
    return costs;
}

/* Seconds of a layer for so large a part of what it keeps; INFINITY: that cannot be freed. */
static double least_s(const Cost *costs, int32_t count, double wanted_frac)
{
    double seconds = 0;
    for (int32_t i = 0; i < count && wanted_frac > 0; i++) {
        const Cost *cost = &costs[i];
        if (cost->freed_frac <= 0)
            continue;
        double part = fmin(1, wanted_frac / cost->freed_frac);
        seconds += part * cost->seconds;
        wanted_frac -= part * cost->freed_frac;
    }
    return wanted_frac > 1e-9 ? (double)INFINITY : seconds;
}

/* Returns the excess of the layout's fullest stage, as a part of what it keeps. */
static RhMemoryExcess excess_of(RhBoundCache *cache, const RhLayout *l, double most_bytes)
{
    RhTrainMemory m = rh_bound_ends_memory(cache, l);
    double over = m.peak_bytes - most_bytes, kept = m.at_peak_bytes[RH_MEMORY_ACTIVATIONS];
    return (RhMemoryExcess){over <= 0 ? 0 : kept > 0 ? over / kept : (double)INFINITY, m.stage};
}

/* Returns the excess where the most that may be sharded leaves the least to be freed. */
static RhMemoryExcess least_excess(RhBoundCache *cache, const RhLayout *plain, double most_bytes)
{
    RhLayout shared[RH_TRAIN_DEGREES];
    int32_t count = rh_train_shared_most(cache->c, plain, shared);
    RhMemoryExcess least = {(double)INFINITY, 0};
    for (int32_t i = 0; i < count && least.frac > 0; i++) {
        RhMemoryExcess excess = excess_of(cache, &shared[i], most_bytes);
        if (excess.frac < least.frac)
            least = excess;
    }
    return least;
}

static RhLayout without_recomputation(const RhLayout *layout)
{
    RhLayout plain = *layout;
    plain.recompute = RH_RECOMPUTE_NONE;
    plain.recomputed_layers_count = 0;
    return plain;
}

RhMemoryExcess rh_bound_memory_excess(RhBoundCache *cache, const RhLayout *layout,
                                      const RhRecomputeQuestion *q)
{
    RhLayout plain = without_recomputation(layout);
    if (rh_platform_devices_count(cache->c->platform) > 1 || rh_stages_unequal(layout))
        return (RhMemoryExcess){0, 0};
    return (q->shares_open ? least_excess : excess_of)(cache, &plain, q->most_bytes);
}

/* Returns the seconds that a micro-batch takes longer on the stage. Layers of one kind cost the
 * same on all stages that are placed alike. */
static double more_s(RhBoundCache *cache, const RhLayout *plain, const RhRecomputeQuestion *q,
                     double wanted, int32_t stage)
{
    const RhSplit *split = rh_bound_split(cache, plain);
    const RhPipelineSchedule *schedule = rh_pipeline_of(plain);
    const struct RhRecomputeCosts *costs = known_costs(cache, plain, q->modules);
    int32_t layers = 0;
    for (int32_t chunk = 0; chunk < plain->vpp; chunk++)
        layers += split->layers[rh_pipeline_model_chunk(schedule, plain->pp, stage, chunk)];
    bool whole = q->modules == RH_RECOMPUTE_FULL;
    double seconds =
        layers * least_s(whole ? &costs->whole : costs->of, whole ? 1 : costs->count, wanted);
    return q->uneven ? seconds / plain->vpp : seconds; /* layers of one chunk may be in flight that
                                                          much oftener */
}

static bool stages_alike(RhBoundCache *cache, const RhLayout *l)
{
    const RhGroupNetwork *net = rh_bound_network(cache, l);
    bool alike = true;
    for (int32_t s = 1; s < l->pp; s++)
        alike = alike && net->placement[s] == net->placement[0];
    return alike;
}

double rh_bound_recomputed_s(RhBoundCache *cache, const RhLayout *layout,
                             const RhRecomputeQuestion *q, RhMemoryExcess excess)
{
    RhLayout plain = without_recomputation(layout);
    if (rh_stages_unequal(layout))
        return rh_unequal_closed_s(cache, &plain);
    double frac = stages_alike(cache, &plain) ? excess.frac : 0;
    double more = frac > 1                  ? (double)INFINITY
                  : frac > 0 && !q->instead ? more_s(cache, &plain, q, frac, excess.stage)
                                            : 0;
    RhRecomputeWork work = {q->modules, excess.stage, more};
    return isinf(more)      ? more
           : q->shares_open ? rh_bound_work_beside_s(cache, &plain, &work)
                            : rh_bound_open_sums_s(cache, &plain, &work);
}
