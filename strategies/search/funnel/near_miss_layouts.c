#include "strategies/search/funnel/near_miss_layouts.h"

#include <string.h>

#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/infeasible_suggestions.h"
#include "strategies/search/rehearsals/run_metrics.h"

#define MISSES_MAX 3

/* Are the grids of ranks equal, so that the layouts differ in switches alone? */
static bool same_grid(const RhLayout *a, const RhLayout *b)
{
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if (knob->degree && !knob->variant && rh_knob_value(knob, a) != rh_knob_value(knob, b))
            return false;
    return true;
}

/* Compares all knobs but variants; schedules with the same title are equal. */
bool rh_layout_same_kind(const RhLayout *a, const RhLayout *b)
{
    if (!same_grid(a, b)) /* most are not */
        return false;
    RhLayout x = *a;
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if (knob->variant)
            rh_knob_store(knob, &x, rh_knob_value(knob, b));
    if (rh_pipeline_kind_title(x.schedule) == rh_pipeline_kind_title(b->schedule))
        x.schedule = b->schedule;
    return rh_layout_equal(&x, b);
}

bool rh_layout_same_but_recomputed(const RhLayout *a, const RhLayout *b)
{
    if (!same_grid(a, b))
        return false;
    RhLayout x = *a;
    x.recompute = b->recompute;
    x.recomputed_layers_count = b->recomputed_layers_count;
    memcpy(x.recomputed_layers, b->recomputed_layers, sizeof x.recomputed_layers);
    return rh_layout_same_kind(&x, b);
}

static void insert(GPtrArray *misses, const RhLayout *layout, const RhTrainMemory *memory,
                   double bound_s)
{
    guint place = misses->len;
    while (place > 0 && ((RhNearMiss *)misses->pdata[place - 1])->bound_s > bound_s)
        place--;
    if (place >= MISSES_MAX)
        return;
    RhNearMiss *miss = g_new0(RhNearMiss, 1);
    *miss = (RhNearMiss){*layout, bound_s, *memory, NULL};
    g_ptr_array_insert(misses, (gint)place, miss);
    if (misses->len > MISSES_MAX)
        g_ptr_array_set_size(misses, MISSES_MAX);
}

static void add(GPtrArray *misses, const RhLayout *layout, const RhTrainMemory *memory,
                double bound_s)
{
    for (guint k = 0; k < misses->len; k++) {
        const RhNearMiss *have = misses->pdata[k];
        if (!same_grid(&have->layout, layout))
            continue;
        if (have->bound_s <= bound_s)
            return;
        g_ptr_array_remove_index(misses, k);
        break;
    }
    insert(misses, layout, memory, bound_s);
}

/* Returns the step time that a near miss must be below: the first row's, or the last near miss's if
 * the list is full. */
static double worth_s(const RhPlan *plan)
{
    const GPtrArray *misses = plan->near_misses;
    return misses->len == MISSES_MAX ? ((const RhNearMiss *)misses->pdata[MISSES_MAX - 1])->bound_s
                                     : ((const RhRehearsal *)plan->entries->pdata[0])->step_time_s;
}

void rh_near_misses(const RhProblem *c, RhBoundCache *cache, const RhLayoutStore *space,
                    double most_bytes, RhPlan *plan)
{
    for (int32_t i = 0; i < rh_layout_store_count(space); i++) {
        double peak_bytes = rh_layout_store_peak_bytes(space, i);
        if (peak_bytes <= most_bytes || peak_bytes > (1 + RH_NEAR_FRAC) * most_bytes)
            continue;
        RhLayout layout = rh_layout_store_layout(space, i);
        if (rh_bound_work_s(cache, &layout) * rh_straggler_factor(c) >= worth_s(plan))
            continue;
        double bound_s = rh_closed_form_s(cache, &layout) * rh_straggler_factor(c);
        if (bound_s < worth_s(plan)) {
            RhTrainMemory memory = rh_bound_memory(cache, &layout);
            add(plan->near_misses, &layout, &memory, bound_s);
        }
    }
    for (guint k = 0; k < plan->near_misses->len; k++) {
        RhNearMiss *miss = plan->near_misses->pdata[k];
        miss->reason = rh_suggest_memory_reason(&miss->memory, most_bytes);
    }
}

void rh_near_miss_free(void *data)
{
    RhNearMiss *miss = data;
    g_free(miss->reason);
    g_free(miss);
}
