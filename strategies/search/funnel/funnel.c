#include "strategies/search/funnel/funnel.h"

#include <math.h>
#include <string.h>

#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/funnel/near_miss_layouts.h"
#include "strategies/search/rehearsals/run_metrics.h"

RhLayout rh_funnel_layout(const RhFunnel *f, int32_t i)
{
    return rh_layout_store_layout(f->space, i);
}

bool rh_funnel_by_memory(const RhFunnel *f)
{
    return f->o->objective == RH_OBJECTIVE_MEMORY;
}

bool rh_funnel_by_energy(const RhFunnel *f)
{
    return f->o->objective == RH_OBJECTIVE_ENERGY;
}

bool rh_funnel_out_of_time(RhFunnel *f)
{
    f->plan->timed_out |= rh_deadline_passed(f->deadline);
    return f->plan->timed_out || f->failed;
}

void rh_funnel_report(const RhFunnel *f, const char *stage, int64_t done, int64_t total)
{
    double best =
        f->plan->entries->len ? ((const RhRehearsal *)f->plan->entries->pdata[0])->step_time_s : 0;
    if (f->o->progress)
        f->o->progress(stage, done, total, best, f->o->user);
}

/* --- the best so far --- */

double rh_funnel_objective(const RhFunnel *f, const RhRehearsal *r)
{
    return rh_objective_value(f->o->objective, r);
}

int32_t rh_funnel_entry_of_kind(const RhFunnel *f, const RhLayout *l)
{
    const GPtrArray *entries = f->race->entries;
    for (guint i = 0; !f->o->variants && i < entries->len; i++)
        if (rh_layout_same_kind(&((const RhRehearsal *)entries->pdata[i])->layout, l))
            return (int32_t)i;
    return -1;
}

/* Gain by which a layout with unequal chunks must beat those with equal chunks. */
#define UNEVEN_GAIN_FRAC 0.01

double rh_funnel_handicap(const RhFunnel *f, const RhLayout *l)
{
    bool uneven = l->vpp > 1 && (l->partition != RH_PARTITION_EVEN ||
                                 f->c->model->layers_count % (l->pp * l->vpp) != 0);
    return uneven && !rh_funnel_by_memory(f) ? 1 / (1 - UNEVEN_GAIN_FRAC) : 1;
}

static double score(const RhFunnel *f, const RhRehearsal *r)
{
    return rh_funnel_objective(f, r) * rh_funnel_handicap(f, &r->layout);
}

/* Least share of the memory that recomputation must save for a layout to be a row of its own. */
#define SAVED_LEAST_FRAC 0.01

/* Does entry `a` make layout `b` redundant, which differs in recomputation alone? It does if `b`,
 * with the recomputation of `a`, has no higher bound and needs hardly more memory. */
static bool folds(const RhFunnel *f, const RhLayout *a, const RhLayout *b, double peak_bytes)
{
    RhLayout twin = *b;
    RhTrainMemory m;
    if (a->recomputed_layers_count > 1 || !rh_layout_same_but_recomputed(a, b) ||
        rh_layout_same_kind(a, b))
        return false;
    twin.recompute = a->recompute;
    twin.recomputed_layers_count = a->recomputed_layers_count;
    twin.recomputed_layers[0] = a->recomputed_layers[0];
    return rh_bound_memory_within(f->cache, &twin, f->room.ranked_bytes, &m) &&
           peak_bytes >= (1 - SAVED_LEAST_FRAC) * m.peak_bytes &&
           rh_segment_graph_s(f->cache, &twin) <= rh_segment_graph_s(f->cache, b);
}

bool rh_funnel_beaten(const RhFunnel *f, const RhCandidate *c)
{
    const GPtrArray *entries = f->race->entries;
    if (f->o->exhaustive || f->o->variants || entries->len == 0)
        return false;
    RhLayout asked = rh_funnel_layout(f, c->layout);
    const RhLayout *l = &asked;
    double peak = rh_layout_store_peak_bytes(f->space, c->layout);
    for (guint i = 0; i < entries->len; i++) {
        const RhRehearsal *r = entries->pdata[i];
        double worth = rh_funnel_worth_of(f, r) * rh_funnel_handicap(f, &r->layout);
        if (c->key * rh_funnel_handicap(f, l) >= worth && rh_layout_same_kind(&r->layout, l))
            return true;
        if (c->kind >= RH_KEY_SEGMENT && c->key >= worth && folds(f, &r->layout, l, peak))
            return true;
    }
    return false;
}

bool rh_funnel_cannot_enter(const RhFunnel *f, const RhCandidate *c)
{
    const GPtrArray *entries = f->race->entries;
    if (f->o->exhaustive || f->o->variants || rh_funnel_by_energy(f) ||
        (int32_t)entries->len < f->race->top)
        return false;
    RhLayout l = rh_funnel_layout(f, c->layout);
    const RhRehearsal *last = entries->pdata[entries->len - 1];
    double worth = rh_funnel_worth_of(f, last);
    if (c->key < worth ||
        c->key * rh_funnel_handicap(f, &l) < worth * rh_funnel_handicap(f, &last->layout))
        return false;
    for (guint i = 0; i < entries->len; i++) {
        const RhRehearsal *r = entries->pdata[i];
        if (rh_layout_same_but_recomputed(&r->layout, &l) &&
            (c->kind < RH_KEY_SEGMENT || rh_layout_same_kind(&r->layout, &l) ||
             folds(f, &l, &r->layout, r->memory.peak_bytes)))
            return false;
    }
    return true;
}

/* Removes a rehearsal from the entries; it is kept if it is the best of its family. */
static void leave(RhFunnel *f, RhRehearsal *r)
{
    const char *family = rh_layout_family(&r->layout);
    GPtrArray *behind = f->race == &f->main ? f->behind : NULL;
    for (guint i = 0; behind && i < behind->len; i++) {
        RhRehearsal *there = behind->pdata[i];
        if (strcmp(rh_layout_family(&there->layout), family) != 0)
            continue;
        bool better = rh_funnel_objective(f, r) < rh_funnel_objective(f, there);
        behind->pdata[i] = better ? r : there;
        rh_rehearsal_free(better ? there : r);
        return;
    }
    if (behind)
        g_ptr_array_add(behind, r);
    else
        rh_rehearsal_free(r);
}

/* Does an entry make `r` redundant? */
static bool is_folded(const RhFunnel *f, const RhRehearsal *r)
{
    const GPtrArray *entries = f->race->entries;
    int32_t same = rh_funnel_entry_of_kind(f, &r->layout);
    if (same >= 0 && score(f, entries->pdata[same]) <= score(f, r))
        return true;
    for (guint i = 0; !f->o->variants && i < entries->len; i++)
        if (folds(f, &((const RhRehearsal *)entries->pdata[i])->layout, &r->layout,
                  r->memory.peak_bytes))
            return true;
    return false;
}

void rh_funnel_keep(RhFunnel *f, RhRehearsal *r)
{
    GPtrArray *best = f->race->entries;
    if (is_folded(f, r)) {
        leave(f, r);
        return;
    }
    int32_t same = rh_funnel_entry_of_kind(f, &r->layout);
    if (same >= 0)
        leave(f, g_ptr_array_steal_index(best, (guint)same));
    for (guint i = 0; !f->o->variants && i < best->len;) {
        const RhRehearsal *there = best->pdata[i];
        if (folds(f, &r->layout, &there->layout, there->memory.peak_bytes))
            leave(f, g_ptr_array_steal_index(best, i));
        else
            i++;
    }
    guint i = best->len;
    while (i > 0 && rh_funnel_objective(f, r) < rh_funnel_objective(f, best->pdata[i - 1]))
        i--;
    g_ptr_array_insert(best, (gint)i, r);
    if ((int32_t)best->len > f->race->top)
        leave(f, g_ptr_array_steal_index(best, best->len - 1));
}

/* Returns the least rehearsed step time of the layout's family; INFINITY if none was rehearsed. */
static double least_of_family(const RhFunnel *f, const RhLayout *l)
{
    const GPtrArray *known[] = {f->main.entries, f->behind};
    const char *family = rh_layout_family(l);
    double least_s = (double)INFINITY;
    for (size_t k = 0; k < G_N_ELEMENTS(known); k++)
        for (guint i = 0; i < known[k]->len; i++) {
            const RhRehearsal *r = known[k]->pdata[i];
            if (r->step_time_s < least_s && strcmp(rh_layout_family(&r->layout), family) == 0)
                least_s = r->step_time_s;
        }
    return least_s;
}

double rh_funnel_in_vain_from_s(const RhFunnel *f, const RhLayout *l)
{
    const GPtrArray *best = f->race->entries;
    if (f->o->exhaustive || f->o->seen || f->o->variants || rh_funnel_by_memory(f) ||
        rh_funnel_by_energy(f) || rh_funnel_by_estimate(f) || (int32_t)best->len < f->race->top)
        return (double)INFINITY;
    double from_s = f->race == &f->main ? least_of_family(f, l) : 0;
    int32_t same = rh_funnel_entry_of_kind(f, l);
    if (same >= 0)
        return fmax(from_s, score(f, best->pdata[same]) / rh_funnel_handicap(f, l));
    for (guint i = 0; i < best->len; i++) {
        const RhRehearsal *there = best->pdata[i];
        if (folds(f, l, &there->layout, there->memory.peak_bytes))
            return (double)INFINITY;
    }
    return fmax(from_s, ((const RhRehearsal *)best->pdata[best->len - 1])->step_time_s);
}

void rh_funnel_sort(const RhFunnel *f)
{
    void **entries = f->race->entries->pdata;
    for (guint i = 1; i < f->race->entries->len; i++)
        for (guint k = i;
             k > 0 && rh_funnel_objective(f, entries[k]) < rh_funnel_objective(f, entries[k - 1]);
             k--) {
            void *later = entries[k];
            entries[k] = entries[k - 1];
            entries[k - 1] = later;
        }
}

/* --- what could better them --- */

/* Share by which a rehearsal may lie below its bound where members of a collective go at their own
 * pace: bounds take them in lockstep. In the suites of the lab it is at most 12 %. */
#define ESTIMATE_ALLOWANCE_FRAC 0.15

bool rh_funnel_by_estimate(const RhFunnel *f)
{
    return f->c->platform->messages.sender != RH_SHARING_NONE;
}

double rh_funnel_worth_of_step(const RhFunnel *f, double step_s)
{
    double allowance = rh_funnel_by_estimate(f) ? 1 / (1 - ESTIMATE_ALLOWANCE_FRAC) : 1;
    return step_s * (1 - fmax(f->o->gap_frac, f->race->gap_frac)) * allowance;
}

double rh_funnel_worth_of(const RhFunnel *f, const RhRehearsal *r)
{
    return rh_funnel_by_memory(f)
               ? r->memory.peak_bytes
               : rh_funnel_worth_of_step(f, r->step_time_s / rh_straggler_factor(f->c));
}

double rh_funnel_step_of_bound(const RhFunnel *f, double bound_s)
{
    return rh_funnel_by_estimate(f) ? bound_s * (1 - ESTIMATE_ALLOWANCE_FRAC) : bound_s;
}

double rh_funnel_least_given_way(const RhFunnel *f, const RhRehearsal *r)
{
    return rh_funnel_worth_of(f, r) * (1 - UNEVEN_GAIN_FRAC);
}

/* Returns the limit from the last entry; by energy, from the slowest entry, since bounds are of
 * time. */
double rh_funnel_cut_off(const RhFunnel *f)
{
    const GPtrArray *best = f->race->entries;
    if (f->o->exhaustive)
        return (double)INFINITY;
    if ((int32_t)best->len < f->race->top)
        return f->race->worth;
    const RhRehearsal *last = best->pdata[best->len - 1];
    double worth = rh_funnel_worth_of(f, last) * rh_funnel_handicap(f, &last->layout);
    if (f->race->filling)
        worth = fmin(worth, rh_funnel_row_worth(f));
    else if (!f->o->listed && !rh_funnel_by_memory(f) && !f->o->variants && !f->o->every_row)
        worth = fmin(worth, rh_funnel_worth_of(f, best->pdata[0]));
    for (guint i = 0; rh_funnel_by_energy(f) && i < best->len; i++)
        worth = fmax(worth, rh_funnel_worth_of(f, best->pdata[i]));
    return fmin(f->race->worth, worth);
}

double rh_funnel_row_worth(const RhFunnel *f)
{
    const GPtrArray *rows = f->main.entries;
    const RhRehearsal *last = rows->pdata[rows->len - 1];
    double above = (double)INFINITY;
    for (guint i = 0; i < rows->len; i++) {
        const RhRehearsal *r = rows->pdata[i];
        above = fmin(above, r->step_time_s / r->bound_segment_s);
    }
    return last->step_time_s / rh_straggler_factor(f->c) / fmax(1, above);
}
