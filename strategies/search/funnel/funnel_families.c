/* Results beside the ranked rows: the best layout of every other way to cut the model, and the
 * number of variants of each row. */
#include <math.h>
#include <string.h>

#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/funnel/funnel.h"
#include "strategies/search/funnel/near_miss_layouts.h"
#include "strategies/search/rehearsals/run_metrics.h"

#define FAMILY_BATCH 2    /* candidates in a batch; one entry is searched */
#define FAR_FRAC     0.25 /* step times farther behind the best are not searched */

static bool has_entry(const GPtrArray *entries, const char *family)
{
    for (guint i = 0; i < entries->len; i++) {
        const RhRehearsal *r = entries->pdata[i];
        if (strcmp(rh_layout_family(&r->layout), family) == 0)
            return true;
    }
    return false;
}

/* Takes the family's best rehearsal that is no entry; NULL if there is none. */
static RhRehearsal *take_behind(RhFunnel *f, const char *family)
{
    for (guint i = 0; i < f->behind->len; i++) {
        const RhRehearsal *r = f->behind->pdata[i];
        if (strcmp(rh_layout_family(&r->layout), family) == 0)
            return g_ptr_array_steal_index_fast(f->behind, i);
    }
    return NULL;
}

/* Candidates of a family that has no entry, in a heap of their own. */
typedef struct {
    const char *family;
    GArray *heap;
} Others;

static void others_clear(void *data)
{
    g_array_unref(((Others *)data)->heap);
}

static GArray *heap_of(GArray *all, const char *family)
{
    for (guint i = 0; i < all->len; i++)
        if (strcmp(g_array_index(all, Others, i).family, family) == 0)
            return g_array_index(all, Others, i).heap;
    Others fresh = {family, g_array_new(FALSE, FALSE, sizeof(RhCandidate))};
    g_array_append_val(all, fresh);
    return fresh.heap;
}

static void add_other(RhFunnel *f, GArray *all, const char *family, RhCandidate c)
{
    if (!has_entry(f->main.entries, family))
        rh_candidate_heap_push(heap_of(all, family), c);
}

/* Returns the families without an entry (Others), with the candidates that the main race left. A
 * cut is listed in each family that it can belong to. */
static GArray *others_of(RhFunnel *f)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(Others));
    g_array_set_clear_func(all, others_clear);
    for (guint i = 0; i < f->main.heap->len; i++) {
        RhCandidate c = g_array_index(f->main.heap, RhCandidate, i);
        RhLayout l = rh_funnel_layout(f, c.layout);
        const char *families[2] = {rh_layout_family(&l), rh_layout_family(&l)};
        if (c.kind < RH_KEY_SHARES)
            rh_layout_open_families(&l, families);
        add_other(f, all, families[0], c);
        if (strcmp(families[0], families[1]) != 0)
            add_other(f, all, families[1], c);
    }
    for (guint i = 0; i < f->behind->len; i++) {
        const char *family = rh_layout_family(&((RhRehearsal *)f->behind->pdata[i])->layout);
        if (!has_entry(f->main.entries, family))
            heap_of(all, family);
    }
    return all;
}

/* Adds the best of a family to the plan, sorted by the objective. */
static void add_family(RhFunnel *f, RhRehearsal *r)
{
    GPtrArray *families = f->plan->families;
    guint at = families->len;
    while (at > 0 && rh_funnel_objective(f, r) < rh_funnel_objective(f, families->pdata[at - 1]))
        at--;
    g_ptr_array_insert(families, (gint)at, r);
}

/* Returns the better of two rehearsals, of which either may be NULL, and frees the other. */
static RhRehearsal *better_of(const RhFunnel *f, RhRehearsal *found, RhRehearsal *behind)
{
    bool keeps =
        !found || (behind && rh_funnel_objective(f, behind) <= rh_funnel_objective(f, found));
    rh_rehearsal_free(keeps ? found : behind);
    return keeps ? behind : found;
}

/* Adds a lower bound of the family's step: the least of its remaining candidates, of the layouts
 * left out, and of those that gave way to `best`, the quickest rehearsed one (NULL: none). */
static void add_bound(RhFunnel *f, const Others *others, const RhCandidateQueue *race,
                      const RhRehearsal *best)
{
    const RhPlan *plan = f->plan;
    double out = fmin(race->left_out_s, fmin(plan->too_large_bound_s, plan->lost_bound_s));
    double least = fmin(rh_candidate_heap_least(race->heap), out);
    if (best)
        least = fmin(least, rh_funnel_least_given_way(f, best));
    const RhRehearsal *first = f->main.entries->pdata[0];
    RhPlanFamilyBound bound = {others->family,
                               rh_funnel_step_of_bound(f, least) * rh_straggler_factor(f->c)};
    if (isfinite(bound.step_least_s) && bound.step_least_s > first->step_time_s)
        g_array_append_val(f->plan->family_bounds, bound);
}

/* Is the best of a family better than the last row? Then it becomes a row. */
static bool takes_row(const RhFunnel *f, const RhRehearsal *r)
{
    const GPtrArray *rows = f->main.entries;
    return rh_funnel_objective(f, r) < rh_funnel_objective(f, rows->pdata[rows->len - 1]);
}

/* Searches for the best of a family; layouts that are further behind than FAR_FRAC are not
 * rehearsed. */
static void search_family(RhFunnel *f, const Others *others)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func((GDestroyNotify)rh_rehearsal_free);
    RhRehearsal *behind = take_behind(f, others->family);
    const RhRehearsal *first = f->main.entries->pdata[0];
    double far_s = (1 + FAR_FRAC) * first->step_time_s / rh_straggler_factor(f->c);
    RhCandidateQueue race = {.heap = others->heap,
                             .entries = found,
                             .top = 1,
                             .family = others->family,
                             .batch = FAMILY_BATCH,
                             .gap_frac = RH_BESIDE_GAP_FRAC,
                             .worth = rh_funnel_worth_of_step(f, far_s),
                             .foreseen = (double)INFINITY,
                             .left_out_s = (double)INFINITY};
    f->race = &race;
    if (behind)
        race.worth = fmin(race.worth, rh_funnel_worth_of(f, behind));
    rh_funnel_run(f, &race);
    bool over = !rh_funnel_out_of_time(f);
    RhRehearsal *best = better_of(f, found->len ? g_ptr_array_steal_index(found, 0) : NULL, behind);
    if (best && takes_row(f, best)) {
        f->race = &f->main;
        rh_funnel_keep(f, best);
    } else if (best &&
               (!over || rh_candidate_heap_least(race.heap) >= rh_funnel_worth_of(f, best))) {
        add_family(f, best);
    } else {
        if (over)
            add_bound(f, others, &race, best);
        rh_rehearsal_free(best);
    }
    f->race = &f->main;
}

/* Searches every family without an entry that was not searched before; returns false if there is
 * none. */
static bool search_others(RhFunnel *f, GPtrArray *searched)
{
    g_autoptr(GArray) others = others_of(f);
    bool any = false;
    for (guint i = 0; i < others->len && !rh_funnel_out_of_time(f); i++) {
        const Others *o = &g_array_index(others, Others, i);
        if (g_ptr_array_find(searched, o->family, NULL) || has_entry(f->main.entries, o->family))
            continue;
        g_ptr_array_add(searched, (char *)o->family);
        search_family(f, o);
        any = true;
    }
    return any;
}

/* Counts the variants of each entry in one walk over the space, and compares them by closed forms:
 * segment bounds of layouts that are not printed may take as long as the whole search. */
static void count_variants(RhFunnel *f)
{
    const GPtrArray *entries = f->main.entries;
    GArray *variants = g_array_set_size(f->plan->variants, entries->len);
    memset(variants->data, 0, entries->len * sizeof(RhPlanVariants));
    g_autofree double *best_s = g_new(double, entries->len);
    for (guint i = 0; i < entries->len; i++)
        best_s[i] = rh_closed_form_s(f->cache, &((const RhRehearsal *)entries->pdata[i])->layout);
    for (int32_t i = 0; i < rh_layout_store_count(f->space); i++) {
        if (rh_layout_store_peak_bytes(f->space, i) > f->room.ranked_bytes)
            continue;
        RhLayout l = rh_funnel_layout(f, i);
        int32_t at = rh_funnel_entry_of_kind(f, &l);
        if (at < 0)
            continue;
        RhPlanVariants *v = &g_array_index(variants, RhPlanVariants, at);
        v->count++;
        v->more_frac = fmax(v->more_frac, rh_closed_form_s(f->cache, &l) / best_s[at] - 1);
    }
}

void rh_funnel_search_families(RhFunnel *f)
{
    const GPtrArray *entries = f->main.entries;
    bool timed = !rh_funnel_by_memory(f) && !rh_funnel_by_energy(f);
    if (entries->len == 0 || f->o->quick || f->o->best_alone || f->o->variants || !timed)
        return;
    g_autoptr(GPtrArray) searched = g_ptr_array_new();
    while (search_others(f, searched))
        ; /* a row that gave way may have been the last of its family */
    if (!rh_funnel_out_of_time(f))
        count_variants(f);
}
