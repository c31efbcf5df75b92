/* Rows after the first. The proof covers only the first row: no layout left betters it by more than
 * the gap. The other rows are the best of their kinds among the next candidates by bound. */
#include "strategies/search/funnel/funnel.h"

/* Number of tasks rehearsed for further rows: about half a second of a processor. */
#define TASKS_MOST 5e5
/* Share of the first row's step beyond which a layout is not searched as a further row. */
#define FAR_FRAC 0.05

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
