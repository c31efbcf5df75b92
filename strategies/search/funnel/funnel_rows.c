/* Rows behind the first. What is proved is that nothing left betters the first row by more than the gap; what stands
 * behind it are the best of their kinds among the next candidates by bound. */
#include <math.h>

#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/funnel/funnel.h"
#include "strategies/search/rehearsals/run_metrics.h"

/* Tasks that are rehearsed for them: about half a second of a processor. */
#define TASKS_MOST 5e5
/* Kinds that are farther behind, by their bounds, are no rows that anybody would choose. */
#define FAR_FRAC 0.05

bool rh_funnel_fills_no_row(RhFunnel *f, const RhCandidate *c)
{
    if (!f->race->filling || c->kind < RH_KEY_WORK)
        return false;
    RhLayout l = rh_funnel_layout(f, c->layout);
    int32_t at = rh_funnel_entry_of_kind(f, &l);
    return at > 0 && c->key >= rh_funnel_worth_of(f, f->main.entries->pdata[at]);
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

void rh_funnel_charge_row(RhFunnel *f, const RhBatchItem *item)
{
    RhLayout l = rh_funnel_layout(f, item->layout);
    double tasks = rh_bound_tasks(f->cache, &l);
    if (item->parts.second > 0)
        tasks *= (double)(item->parts.first + item->parts.second) / (double)item->parts.whole;
    f->race->tasks_left -= f->race->filling ? tasks : 0;
}

void rh_funnel_fill_rows(RhFunnel *f)
{
    const GPtrArray *entries = f->main.entries;
    if (f->o->listed || f->o->every_row || f->o->variants || f->o->best_alone || f->o->quick ||
        f->o->exhaustive || rh_funnel_by_memory(f) || rh_funnel_by_energy(f) || entries->len == 0 ||
        f->main.top == 1)
        return;
    double worth = f->main.worth;
    const RhRehearsal *first = entries->pdata[0];
    f->main.filling = true;
    f->main.tasks_left = TASKS_MOST;
    f->main.worth = (1 + FAR_FRAC) * rh_funnel_worth_of(f, first);
    rh_funnel_run(f, &f->main);
    f->main.worth = worth;
    f->main.filling = false;
}
