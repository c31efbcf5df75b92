#include "strategies/search/funnel.h"

#include <math.h>

#include "strategies/search/account.h"
#include "strategies/search/near.h"

RhLayout rh_funnel_layout(const RhFunnel *f, int32_t i)
{
    return rh_kept_layout(f->space, i);
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
    return rh_funnel_by_memory(f)   ? r->memory.peak_bytes
           : rh_funnel_by_energy(f) ? r->energy.total_j
                                    : r->step_time_s;
}

int32_t rh_funnel_entry_of_kind(const RhFunnel *f, const RhLayout *l)
{
    const GPtrArray *entries = f->race->entries;
    for (guint i = 0; !f->o->variants && i < entries->len; i++)
        if (rh_layout_same_kind(&((const RhRehearsal *)entries->pdata[i])->layout, l))
            return (int32_t)i;
    return -1;
}

void rh_funnel_keep(RhFunnel *f, RhRehearsal *r)
{
    GPtrArray *best = f->race->entries;
    int32_t same = rh_funnel_entry_of_kind(f, &r->layout);
    if (same >= 0 && rh_funnel_objective(f, best->pdata[same]) <= rh_funnel_objective(f, r)) {
        rh_rehearsal_free(r);
        return;
    }
    if (same >= 0)
        g_ptr_array_remove_index(best, (guint)same);
    guint i = best->len;
    while (i > 0 && rh_funnel_objective(f, r) < rh_funnel_objective(f, best->pdata[i - 1]))
        i--;
    g_ptr_array_insert(best, (gint)i, r);
    if ((int32_t)best->len > f->race->top)
        g_ptr_array_set_size(best, f->race->top);
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

/* The bounds take the members of a collective in lockstep. Where they go at their own pace, a
 * rehearsal may lie below: by 12 % at most in the lab's suites. */
#define ESTIMATE_ALLOWANCE_FRAC 0.15

bool rh_funnel_by_estimate(const RhFunnel *f)
{
    return f->c->platform->messages.sender != RH_SHARING_NONE;
}

double rh_funnel_worth_of_step(const RhFunnel *f, double step_s)
{
    double allowance = rh_funnel_by_estimate(f) ? 1 / (1 - ESTIMATE_ALLOWANCE_FRAC) : 1;
    return step_s * (1 - f->o->gap_frac) * allowance;
}

double rh_funnel_worth_of(const RhFunnel *f, const RhRehearsal *r)
{
    return rh_funnel_by_memory(f)
               ? r->memory.peak_bytes
               : rh_funnel_worth_of_step(f, r->step_time_s / rh_straggler_factor(f->c));
}

/* Bounds are of time: by energy the slowest of the entries counts. */
double rh_funnel_cut_off(const RhFunnel *f)
{
    const GPtrArray *best = f->race->entries;
    if (f->o->exhaustive)
        return (double)INFINITY;
    if ((int32_t)best->len < f->race->top)
        return f->race->worth;
    double worth = rh_funnel_worth_of(f, best->pdata[best->len - 1]);
    for (guint i = 0; rh_funnel_by_energy(f) && i < best->len; i++)
        worth = fmax(worth, rh_funnel_worth_of(f, best->pdata[i]));
    return fmin(f->race->worth, worth);
}
