/* What stands beside the ranked rows: the best of every other way to cut the model, and how many layouts a row
 * stands for. */
#include <math.h>
#include <string.h>

#include "strategies/search/account.h"
#include "strategies/search/funnel.h"
#include "strategies/search/near.h"
#include "strategies/search/screen.h"

#define FAMILY_BATCH 2 /* one entry is looked for */

static bool has_entry(const GPtrArray *entries, const char *family)
{
    for (guint i = 0; i < entries->len; i++) {
        const RhRehearsal *r = entries->pdata[i];
        if (strcmp(rh_layout_family(&r->layout), family) == 0)
            return true;
    }
    return false;
}

/* The rehearsal of the family that missed the entries, which is no longer among these; NULL: none was. */
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

/* What the main race left, and what it rehearsed in vain. */
static GArray *others_of(RhFunnel *f)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(Others));
    g_array_set_clear_func(all, others_clear);
    for (guint i = 0; i < f->main.heap->len; i++) {
        RhCandidate c = g_array_index(f->main.heap, RhCandidate, i);
        RhLayout l = rh_funnel_layout(f, c.layout);
        const char *family = rh_layout_family(&l);
        if (!has_entry(f->main.entries, family))
            rh_heap_push(heap_of(all, family), c);
    }
    for (guint i = 0; i < f->behind->len; i++) {
        const char *family = rh_layout_family(&((RhRehearsal *)f->behind->pdata[i])->layout);
        if (!has_entry(f->main.entries, family))
            heap_of(all, family);
    }
    return all;
}

/* Adds the best of the family, its place by the objective. */
static void add_family(RhFunnel *f, RhRehearsal *r)
{
    GPtrArray *families = f->plan->families;
    guint at = families->len;
    while (at > 0 && rh_funnel_objective(f, r) < rh_funnel_objective(f, families->pdata[at - 1]))
        at--;
    g_ptr_array_insert(families, (gint)at, r);
}

static void search_family(RhFunnel *f, const Others *others)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func((GDestroyNotify)rh_rehearsal_free);
    RhRehearsal *behind = take_behind(f, others->family);
    RhRace race = {others->heap, found, 1, FAMILY_BATCH, (double)INFINITY, (double)INFINITY};
    if (behind)
        race.worth = rh_funnel_worth_of(f, behind);
    rh_funnel_run(f, &race);
    f->race = &f->main;
    RhRehearsal *best = found->len ? g_ptr_array_steal_index(found, 0) : NULL;
    if (best && behind && rh_funnel_objective(f, behind) <= rh_funnel_objective(f, best)) {
        rh_rehearsal_free(best);
        best = NULL;
    }
    if (best)
        rh_rehearsal_free(behind);
    if (best || behind)
        add_family(f, best ? best : behind);
}

/* Of each entry, in one walk over the space: reading a layout of it is what takes the time. */
static void count_variants(RhFunnel *f)
{
    const GPtrArray *entries = f->main.entries;
    GArray *variants = g_array_set_size(f->plan->variants, entries->len);
    memset(variants->data, 0, entries->len * sizeof(RhPlanVariants));
    g_autofree double *best_s = g_new(double, entries->len);
    for (guint i = 0; i < entries->len; i++)
        best_s[i] =
            rh_screen_segment_s(f->screen, &((const RhRehearsal *)entries->pdata[i])->layout);
    for (int32_t i = 0; i < rh_kept_count(f->space); i++) {
        if (rh_kept_peak_bytes(f->space, i) > f->room.ranked_bytes)
            continue;
        RhLayout l = rh_funnel_layout(f, i);
        int32_t at = rh_funnel_entry_of_kind(f, &l);
        if (at < 0)
            continue;
        RhPlanVariants *v = &g_array_index(variants, RhPlanVariants, at);
        v->count++;
        v->more_frac = fmax(v->more_frac, rh_screen_segment_s(f->screen, &l) / best_s[at] - 1);
    }
}

void rh_funnel_search_families(RhFunnel *f)
{
    const GPtrArray *entries = f->main.entries;
    bool timed = !rh_funnel_by_memory(f) && !rh_funnel_by_energy(f);
    if (entries->len == 0 || f->o->quick || f->o->best_alone || f->o->variants || !timed)
        return;
    g_autoptr(GArray) others = others_of(f);
    for (guint i = 0; i < others->len && !rh_funnel_out_of_time(f); i++)
        search_family(f, &g_array_index(others, Others, i));
    f->race = &f->main;
    if (!rh_funnel_out_of_time(f))
        count_variants(f);
}
